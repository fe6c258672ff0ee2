"""Adding or removing one user moves a tally by at most its declared sensitivity.

Random small tables on one DuckDB connection; 300 examples in all, or ``HEADCOUNT_EXAMPLES``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount.contributions import (
    BoundedContributions,
    Limits,
    Tally,
    bound,
    clip_l1,
    clip_l2,
    clip_rows,
    clip_weighted_l2,
)
from headcount.privacy.bounds import Bounds
from headcount.tables import UserTable, open_table

KEY = b"a key of sixteen bytes or more"
GROUPS = ["a", "b", "\u00e9", "e\u0301", "", "null", None, *(f"g{index}" for index in range(20))]
LISTED = ["a", "\u00e9", None, "g1", "g2", "g3", "absent"]

users = st.sampled_from([None, *"uvwx"])
rows = st.lists(st.tuples(users, st.sampled_from(GROUPS)), max_size=60)
heavy = st.builds(
    lambda user, n, times: [(user, group) for group in GROUPS[-n:]] * times,
    st.sampled_from("uv"),
    st.integers(1, 20),
    st.integers(1, 4),
)
tables = st.builds(lambda few, many: few + many, rows, heavy)
bounds = st.builds(Bounds, st.integers(1, 25), st.integers(1, 25), st.integers(0, 12))
limits = st.builds(Limits, st.integers(1, 6), st.integers(1, 25), st.integers(0, 8))
listed = st.sampled_from([None, LISTED])

Make = Callable[[UserTable], BoundedContributions]


@st.composite
def any_bound(draw: st.DrawFn, kind: str) -> Make:
    """One of the ways to bound, with its parameters."""
    groups, at, most = draw(listed), draw(limits), draw(st.integers(1, 40))
    if kind == "users":
        by = draw(bounds)
        return lambda t: bound(t, "group", by, key=KEY, groups=groups)
    if kind == "rows":
        return lambda t: clip_rows(t, "group", at, key=KEY, groups=groups)
    if kind == "l1":
        return lambda t: clip_l1(t, "group", at, max_l1=most, key=KEY, groups=groups)
    if kind == "l2":
        return lambda t: clip_l2(t, "group", at, max_l2_squared=most, key=KEY, groups=groups)
    weights = dict(
        zip(LISTED, draw(st.lists(st.integers(1, 9), min_size=7, max_size=7)), strict=True)
    )
    return lambda t: clip_weighted_l2(t, "group", at, weights=weights, max_l2_squared=most, key=KEY)


SCHEMA = pa.schema({"user": pa.string(), "group": pa.string()})
KINDS = ["users", "rows", "l1", "l2", "weighted l2"]
EXAMPLES = max(1, int(os.environ.get("HEADCOUNT_EXAMPLES", "300")) // len(KINDS))


@pytest.fixture(scope="module")
def table() -> Any:
    """One connection for all examples; each puts its own rows under the same name."""
    return open_table(SCHEMA.empty_table(), user="user")


def tally(
    table: UserTable, make: Make, given_rows: list[tuple[Any, Any]]
) -> tuple[Tally, dict[Any, int]]:
    own = [{"user": user, "group": group} for user, group in given_rows]
    table.engine.connection.con.register(  # type: ignore[attr-defined]
        "headcount_frame", pa.Table.from_pylist(own, schema=SCHEMA)
    )
    result = Tally(make(table))
    totals: dict[Any, int] = {}
    for batch in result.batches():
        totals.update(zip(*(column.to_pylist() for column in batch.columns), strict=True))
    return result, totals


@pytest.mark.parametrize("kind", KINDS)
def test_one_user_moves_the_tally_by_at_most_the_sensitivity(kind: str, table: UserTable) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(data=tables, make=any_bound(kind), victim=st.sampled_from("uvwx"))
    def check(data: list[tuple[Any, Any]], make: Make, victim: str) -> None:
        result, true_with = tally(table, make, data)
        _, true_without = tally(table, make, [row for row in data if row[0] != victim])
        moves = [
            abs(true_with.get(group, 0) - true_without.get(group, 0))
            for group in true_with.keys() | true_without.keys()
        ]
        limit = result.sensitivity
        assert sum(move > 0 for move in moves) <= limit.l0
        assert sum(moves) <= limit.l1
        assert sum(move * move for move in moves) <= limit.l2_squared
        assert max(moves, default=0) <= limit.linf

    check()
