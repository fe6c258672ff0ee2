"""What was stored before and is planned by: anything may stand there, and nothing raises."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import headcount as hc
from headcount.releases.dataset import Dataset
from headcount.results.release import METADATA_KEY, Release

SHIPPED = Release.to_bytes
Forgery = Callable[[pa.Table], pa.Table]


def with_column(name: str, cells: Callable[[pa.Table], Any]) -> Forgery:
    def forged(table: pa.Table) -> pa.Table:
        return table.set_column(table.column_names.index(name), name, cells(table))

    return forged


def with_facts(**facts: Any) -> Forgery:
    def forged(table: pa.Table) -> pa.Table:
        record = {**json.loads(table.schema.metadata[METADATA_KEY]), **facts}
        return table.replace_schema_metadata({METADATA_KEY: json.dumps(record)})

    return forged


def deep(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata({METADATA_KEY: "[" * 200_000})


FORGERIES: dict[str, Forgery] = {
    "no rows": lambda table: table.slice(0, 0),
    "fewer rows": lambda table: table.slice(0, 3),
    "no count": lambda table: table.drop_columns(["count"]),
    "texts": with_column("count", lambda table: pa.array(["x"] * table.num_rows)),
    "missing": with_column("count", lambda table: pa.nulls(table.num_rows, pa.int64())),
    "no number": with_column("count", lambda table: pa.array([float("nan")] * table.num_rows)),
    "without end": with_column("count", lambda table: pa.array([float("inf")] * table.num_rows)),
    "huge": with_column("count", lambda table: pa.array([1e300] * table.num_rows)),
    "negative noise": with_column("sd", lambda table: pc.negate(table["sd"])),
    "noise of texts": with_column("sd", lambda table: pa.array(["x"] * table.num_rows)),
    "another verb": with_facts(verb="quantiles"),
    "notes of numbers": with_facts(notes=[5]),
    "facts too many": with_facts(more=1),
    "deep facts": deep,
}


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    users = [i % 500 for i in range(3_000)]
    table = pa.table({"user": users, "page": [f"p{i % 7}" for i in range(3_000)]})
    return hc.open(
        table, user="user", account="people", budget=hc.Budget(epsilon=30), ledger=tmp_path / "l"
    )


def store(data: Dataset, verb: str, forgery: Forgery) -> None:
    def to_bytes(release: Release) -> bytes:
        forged = release.__class__.__new__(release.__class__)
        forged.__dict__ |= release.__dict__
        forged._table = forgery(release._table)
        return SHIPPED(forged)

    # It is read back before it is shown, and it is stored by then.
    with mock.patch.object(Release, "to_bytes", to_bytes), suppress(hc.HeadcountError):
        getattr(data, verb)("page", spend="1/10").release()


@pytest.mark.parametrize("forgery", FORGERIES)
@pytest.mark.parametrize("verb", ["profile", "frequencies", "count_users"])
def test_what_cannot_be_planned_by_is_left_aside(data: Dataset, verb: str, forgery: str) -> None:
    before = str(data.count_users("page", spend="1/5").expected())
    store(data, verb, FORGERIES[forgery])
    plan = data.count_users("page", spend="1/5")
    expected = str(plan.expected())
    # Of a profile nothing is believed; sizes of groups may be others than they are.
    assert verb != "profile" or expected == before
    assert len(plan.release()) > 0


@pytest.mark.parametrize("forgery", ["notes of numbers", "facts too many", "deep facts"])
def test_a_forged_result_is_refused_where_it_would_be_shown(data: Dataset, forgery: str) -> None:
    store(data, "profile", FORGERIES[forgery])
    with pytest.raises(hc.LedgerError, match="no release that headcount wrote"):
        data.profile("page", spend="1/10").release()
