"""The same tally, byte for byte, from every engine, on real data and at full size."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from headcount.contributions import Limits, Tally, bound, clip_l2
from headcount.errors import EngineError, UsageError
from headcount.privacy.bounds import Bounds
from headcount.tables import bins, truncate
from headcount.tables.engine import cast_always


def dataset(name: str) -> pa.Table:
    folder = os.environ.get("HEADCOUNT_DATA")
    if not folder:
        pytest.skip("HEADCOUNT_DATA does not point to the datasets")
    table = pq.read_table(Path(folder) / f"{name}.parquet", columns=["user", "item"])
    return table.cast(pa.schema({"user": pa.int64(), "item": pa.string()}))


def most_frequent(table: pa.Table, n: int) -> list[str]:
    counts = table.group_by("item").aggregate([("user", "count")])
    order = [("user_count", "descending"), ("item", "ascending")]
    return list(counts.sort_by(order).slice(0, n)["item"].to_pylist())


def same_as_duckdb(
    make: Any,
    table: Any,
    title: Any,
    loader: Any,
    duckdb_loader: Any,
    tally_of: Any,
    digest_of: Any,
) -> None:
    got, want = (
        tally_of(make(where.open(table, title, user="user"))) for where in (loader, duckdb_loader)
    )
    assert got.num_rows > 0
    assert digest_of(got) == digest_of(want)


DATA_CASES: dict[str, Any] = {
    "unknown groups": lambda t, known, key: bound(t, "item", Bounds(10_000, 20, 10), key=key),
    "few groups a user": lambda t, known, key: bound(t, "item", Bounds(7, 7), key=key),
    "known groups": lambda t, known, key: bound(
        t, "item", Bounds(1000, 5, 12), key=key, groups=known
    ),
    "l2": lambda t, known, key: clip_l2(t, "item", Limits(4, 50, 10), max_l2_squared=9, key=key),
}


@pytest.mark.data
@pytest.mark.parametrize("case", DATA_CASES)
def test_msweb(
    case: Any, loader: Any, duckdb_loader: Any, key: Any, tally_of: Any, digest_of: Any
) -> None:
    table = dataset("msweb_vroots")
    known = [*most_frequent(table, 40), "not there"]
    same_as_duckdb(
        lambda t: DATA_CASES[case](t, known, key),
        table, "msweb", loader, duckdb_loader, tally_of, digest_of,
    )  # fmt: skip


@pytest.mark.data
@pytest.mark.parametrize("case", ["unknown groups", "known groups"])
def test_ubuntu_words(
    case: Any, loader: Any, duckdb_loader: Any, key: Any, tally_of: Any, digest_of: Any
) -> None:
    table = dataset("ubuntu_irc_words")
    known = most_frequent(table, 1000)
    same_as_duckdb(
        lambda t: DATA_CASES[case](t, known, key),
        table, "ubuntu", loader, duckdb_loader, tally_of, digest_of,
    )  # fmt: skip


def large_table() -> pa.Table:
    """One user in 100,000 groups, texts of a megabyte, times around midnight."""
    n = 100_000
    start = datetime(2024, 3, 9, 22, 0, tzinfo=UTC)
    own: dict[str, list[Any]] = {
        "user": ["heavy"] * n,
        "word": [f"w{index}" for index in range(n)],
        "time": [start + timedelta(seconds=index) for index in range(n)],
        "price": [index / 7 for index in range(n)],
    }
    long = ["x" * 1_000_000, "é" * 500_000, "e\u0301" * 300_000]
    for user in ("one", "two", "heavy"):
        for text in long:
            own["user"].append(user)
            own["word"].append(text)
            own["time"].append(start)
            own["price"].append(-0.0)
    types = {"user": pa.string(), "word": pa.string(), "time": pa.timestamp("us", "UTC"),
             "price": pa.float64()}  # fmt: skip
    return pa.table(own, schema=pa.schema(types))


LARGE_CASES: dict[str, Any] = {
    "hash of many": lambda t, key: bound(t, "word", Bounds(1000, 30, 10), key=key),
    "long list": lambda t, key: bound(
        t, "word", Bounds(50_000, 50_000), key=key, groups=[f"w{i}" for i in range(100_000)]
    ),
    "several columns": lambda t, key: bound(
        t, [truncate("time", "hour"), bins("price", 100)], Bounds(20, 4, 6), key=key
    ),
}


@pytest.mark.parametrize("case", LARGE_CASES)
def test_large(
    case: Any, loader: Any, duckdb_loader: Any, key: Any, tally_of: Any, digest_of: Any
) -> None:
    same_as_duckdb(
        lambda t: LARGE_CASES[case](t, key),
        large_table(), "large", loader, duckdb_loader, tally_of, digest_of,
    )  # fmt: skip


def test_a_long_list_has_a_row_for_every_group(duckdb_loader: Any, key: Any, tally_of: Any) -> None:
    table = duckdb_loader.open(large_table(), "large", user="user")
    tally = tally_of(LARGE_CASES["long list"](table, key))
    assert tally.num_rows == 100_000
    assert pc.sum(tally["true_total"]).as_py() == 50_000


@pytest.fixture
def gap(request: pytest.FixtureRequest, loader: Any) -> Any:
    def declare(what: str) -> None:
        if what in loader.gaps:
            request.applymarker(
                pytest.mark.xfail(reason=loader.gaps[what], strict=True, raises=Exception)
            )

    return declare


def test_nul_in_text(
    gap: Any, loader: Any, duckdb_loader: Any, key: Any, tally_of: Any, digest_of: Any
) -> None:
    gap("nul in text")
    table = pa.table({"user": ["a", "a\0", "b"], "item": ["x\0y", "x", "x\0y"]})
    same_as_duckdb(
        lambda t: bound(t, "item", Bounds(5, 5), key=key),
        table, "nul", loader, duckdb_loader, tally_of, digest_of,
    )  # fmt: skip


def test_nul_in_list(gap: Any, loader: Any, key: Any, tally_of: Any) -> None:
    gap("nul in list")
    table = loader.open(pa.table({"user": ["a"], "item": ["x"]}), "plain", user="user")
    tally = tally_of(bound(table, "item", Bounds(5, 5), key=key, groups=["x", "x\0y"]))
    assert tally["true_total"].to_pylist() == [1, 0]


def test_a_failing_engine_says_one_fixed_sentence(loader: Any, key: Any) -> None:
    """The engine is made to fail on a cell, which every one of them quotes in its error."""
    table = loader.open(pa.table({"user": ["a"], "item": ["secret"]}), "failing", user="user")
    tally = Tally(bound(table, "item", Bounds(5, 5), key=key))
    query = tally.query()
    failing = query.mutate(true_total=cast_always(query["item"], "int64"))
    with pytest.raises(EngineError) as raised:
        list(table.engine.stream(failing, tally.schema))
    assert str(raised.value) == EngineError.TEXT
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__


def test_a_missing_column_is_refused_by_name(loader: Any) -> None:
    with pytest.raises(UsageError, match=r"'nobody'.*user, item"):
        loader.open(pa.table({"user": ["a"], "item": ["x"]}), "plain2", user="nobody")
