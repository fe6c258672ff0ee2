"""``count_users`` with ``method="sample"``, as people call it; and what does not leave."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.releases.dataset import Dataset


def opened(source: object, folder: Path, account: str = "web", **options: Any) -> Dataset:
    budget = hc.Budget(epsilon=1, delta=1e-6)
    ledger = folder / "ledger.db"
    return hc.open(source, user="user_id", budget=budget, ledger=ledger, account=account, **options)


@pytest.fixture
def events() -> pa.Table:
    """Two large groups, and a small one that must stay hidden."""
    pages = ["/home"] * 1500 + ["/news"] * 900 + ["/secret"] * 8
    return pa.table({"user_id": list(range(len(pages))), "page": pages})


def test_shown_groups_and_their_intervals(events: pa.Table, tmp_path: Path) -> None:
    data = opened(events, tmp_path)
    plan = data.count_users(by="page", method="sample", bound=1, spend="1")
    text = plan.explain()
    for words in ("is missed half the time", "one time in 1,000", "at most 1 group,"):
        assert words in text
    release = plan.release()
    rows = {row["page"]: row for row in release.to_arrow().to_pylist()}
    assert list(rows) == ["/home", "/news"]
    for page, size in (("/home", 1500), ("/news", 900)):
        assert abs(rows[page]["count"] - size) < 6 * rows[page]["sd"]
    assert data.account.spent == plan.spend
    assert plan.spend <= data.account.limit


def test_the_size_of_the_sample_is_nowhere(events: pa.Table, tmp_path: Path) -> None:
    """Users of a hidden group may be sampled or not: nothing beside the rows can tell."""
    facts = []
    for name, table in (("with", events), ("without", events.slice(0, 2400))):
        data = opened(table, tmp_path, account=name)
        release = data.count_users(by="page", method="sample", bound=1, spend="1").release()
        record = json.loads(release.to_arrow().schema.metadata[b"headcount"])
        del record["account"], record["entry"]
        facts.append((record, repr(release).split(", entry")[0]))
        assert release.to_arrow().column_names == ["page", "count", "low", "high", "sd"]
        assert pq.read_metadata(release.write_parquet(tmp_path / "rows.parquet")).num_rows == 2
    assert facts[0] == facts[1]


def test_a_new_release_tosses_new_coins(events: pa.Table, tmp_path: Path) -> None:
    data = opened(events, tmp_path)
    counts = set()
    for _ in range(4):
        plan = data.count_users(by="page", method="sample", bound=1, spend=hc.Budget(epsilon="0.2"))
        counts.add(tuple(plan.release(fresh=True).to_arrow().column("count").to_pylist()))
    assert len(counts) > 1


def test_an_account_that_replaces(events: pa.Table, tmp_path: Path) -> None:
    data = opened(events, tmp_path, neighbours="replace")
    release = data.count_users(by="page", method="sample", bound=1, spend="1").release()
    assert "replacing one user" in release.guarantee


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"bound": 0}, "bound must be"),
        ({"bound": 5000}, "bound must be"),
        ({"within": 0.1}, "within"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: dict[str, Any], message: str, events: pa.Table, tmp_path: Path
) -> None:
    said = {"spend": "1", **arguments}
    with pytest.raises(hc.UsageError, match=message):
        opened(events, tmp_path).count_users(by="page", method="sample", **said)


def test_on_the_command_line(events: pa.Table, tmp_path: Path, headcount_command: str) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(events, path)
    done = subprocess.run(
        [headcount_command, "count-users", str(path), "--user", "user_id", "--by", "page",
         "--method", "sample", "--bound", "1", "--ledger", str(tmp_path / "ledger.db"),
         "--epsilon", "1", "--budget", "1", "--explain"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "secret random sample" in done.stdout
    assert "/home" in done.stdout
    assert "/secret" not in done.stdout
