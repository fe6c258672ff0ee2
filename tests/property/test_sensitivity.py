"""Adding or removing one user moves a tally by at most its declared sensitivity.

Random small tables on one DuckDB connection; 300 examples in all, or ``HEADCOUNT_EXAMPLES``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
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
    clip_l2,
    clip_rows,
)
from headcount.contributions.kept_rows import sample_rows
from headcount.privacy.bounds import Bounds
from headcount.privacy.neighbours import Neighbours
from headcount.tables import UserTable, open_table
from headcount.tables.files import ROWS

KEY = b"a key of sixteen bytes or more"
GROUPS = ["a", "b", "\u00e9", "e\u0301", "", "null", None, *(f"g{index}" for index in range(20))]
LISTED = ["a", "\u00e9", None, "g1", "g2", "g3", "absent"]

users = st.sampled_from([None, *"uv"])
rows = st.lists(st.tuples(users, st.sampled_from(GROUPS)), max_size=60)
# The victim is in many groups, often: that is where bounds bind.
heavy = st.builds(
    lambda first, n, times: [("u", group) for group in (GROUPS * 2)[first : first + n]] * times,
    st.integers(0, len(GROUPS)),
    st.integers(0, len(GROUPS)),
    st.integers(1, 8),
)
tables = st.builds(lambda few, many: few + many, rows, heavy)

Make = Callable[[UserTable], BoundedContributions]
LIMITS = [Limits(1, 25), Limits(6, 2, 8), Limits(3, 5, 4), Limits(2, 1, 1)]
BOUNDS = [Bounds(3, 3), Bounds(25, 1, 12), Bounds(5, 2, 4), Bounds(1, 1), Bounds(7, 3, 0)]


def makers(kind: str) -> list[Make]:
    """The ways to bound of one kind: few enough that each is compiled once."""
    made: list[Make] = []
    for groups in (None, LISTED):
        if kind == "users":
            made += [partial(bound, by="group", bounds=b, key=KEY, groups=groups) for b in BOUNDS]
            continue
        if kind == "sampled":
            if groups is None:
                made += [partial(sample_rows, by="group", max_rows=n, key=KEY) for n in (1, 4, 30)]
            continue
        for limits, most in zip(LIMITS, (1, 7, 3, 40), strict=True):
            same: dict[str, Any] = {"by": "group", "limits": limits, "key": KEY}
            if kind == "rows":
                made.append(partial(clip_rows, groups=groups, **same))
            else:
                made.append(partial(clip_l2, groups=groups, max_l2_squared=most, **same))
    return made


SCHEMA = pa.schema({"user": pa.string(), "group": pa.string()})
KINDS = ["users", "rows", "l2", "sampled"]
EXAMPLES = max(1, int(os.environ.get("HEADCOUNT_EXAMPLES", "300")) // len(KINDS))


@pytest.fixture(scope="module")
def table() -> Any:
    """One connection for all examples; each puts its own rows under the same name."""
    return open_table(SCHEMA.empty_table(), user="user")


class Compiled:
    """One bounded tally as a query that runs on whatever rows are registered."""

    def __init__(self, table: UserTable, make: Make) -> None:
        self.tally = Tally(make(table))
        self.connection = table.engine.connection
        # Held, because the public tables that it names go with it.
        self.expr = self.tally.query()
        self.query = table.engine.compiled(self.expr)  # type: ignore[attr-defined]

    def totals(self, given_rows: list[tuple[Any, Any]]) -> dict[Any, int]:
        own = pa.Table.from_arrays(
            [pa.array([row[index] for row in given_rows], pa.string()) for index in (0, 1)],
            schema=SCHEMA,
        )
        self.connection.con.register(ROWS, own)
        return dict(self.connection.con.execute(self.query).fetchall())


@pytest.mark.parametrize("kind", KINDS)
def test_one_user_moves_the_tally_by_at_most_the_sensitivity(kind: str, table: UserTable) -> None:
    compiled = [Compiled(table, make) for make in makers(kind)]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(data=tables, query=st.sampled_from(compiled), victim=st.sampled_from("uuv"))
    def check(data: list[tuple[Any, Any]], query: Compiled, victim: str) -> None:
        true_with = query.totals(data)
        true_without, true_other = (
            query.totals([row for row in data if row[0] != gone])
            for gone in (victim, "v" if victim == "u" else "u")
        )
        limit = query.tally.sensitivity
        exchanged = replace(query.tally, neighbours=Neighbours.REPLACE).sensitivity
        # Without one of two users, and without the other: the one is exchanged for the other.
        for true_left, true_right, most in (
            (true_with, true_without, limit),
            (true_other, true_without, exchanged),
        ):
            moves = [
                abs(true_left.get(group, 0) - true_right.get(group, 0))
                for group in true_left.keys() | true_right.keys()
            ]
            assert sum(move > 0 for move in moves) <= most.l0
            assert sum(moves) <= most.l1
            assert sum(move * move for move in moves) <= most.l2_squared
            assert max(moves, default=0) <= most.linf

    check()
