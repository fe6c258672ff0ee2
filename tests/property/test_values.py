"""However many rows a user has, adding or removing that user moves one cell by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headcount.contributions.values import CELL, PER_USER, placed
from headcount.privacy.cells import Edges, Grid, read_grid, read_ranges
from headcount.tables import UserTable, open_table
from headcount.tables.files import ROWS

SCHEMA = pa.schema({"user": pa.string(), "x": pa.float64()})
KEY = bytes(range(32))
numbers = st.one_of(
    st.none(),
    st.sampled_from(
        [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e308, -1e308, 10.0, 9.999999, 5e-324]
    ),
    st.floats(-20, 30),
    st.integers(-3, 13).map(float),
)
rows = st.lists(st.tuples(st.sampled_from([None, "u", "v", "w"]), numbers), max_size=12)
Row = tuple[str | None, float | None]


@pytest.fixture(scope="module")
def table() -> Any:
    """One connection for all examples; each puts its own rows under the same name."""
    return open_table(SCHEMA.empty_table(), user="user")


class Compiled:
    """Users by cell, as a query that runs on whatever rows are registered."""

    def __init__(
        self, table: UserTable, of: str | None, per_user: str, cells: Grid | Edges
    ) -> None:
        users = placed(table, of, per_user, cells, KEY)
        self.connection = table.engine.connection
        # Held, because the public tables that it names go with it.
        self.expr = users.group_by(CELL).agg(n=users.count())
        self.query = table.engine.compiled(self.expr)  # type: ignore[attr-defined]
        self.cells, self.of, self.per_user = cells, of, per_user

    def counts(self, given_rows: list[Row]) -> np.ndarray:
        own = pa.Table.from_pylist([{"user": u, "x": x} for u, x in given_rows], SCHEMA)
        self.connection.con.register(ROWS, own)
        counts = np.zeros(self.cells.n_cells, np.int64)
        for cell, n in self.connection.con.execute(self.query).fetchall():
            counts[cell] = n
        return counts


def reference(query: Compiled, given_rows: list[Row]) -> np.ndarray:
    """The same in plain Python, for what is not chosen by a hash."""
    counts = np.zeros(query.cells.n_cells, np.int64)
    for user in {u for u, _ in given_rows if u is not None}:
        own = [x for u, x in given_rows if u == user]
        values = sorted(x for x in own if x is not None and abs(x) <= 1e300)
        if query.of is None:
            values = [float(len(own))]
        if not values:
            continue
        chosen = {"min": values[0], "max": values[-1], "median": values[(len(values) - 1) // 2]}
        x = chosen[query.per_user]
        if isinstance(query.cells, Grid):
            place = math.floor((x - float(query.cells.low)) / float(query.cells.step))
            counts[min(max(place, 0), query.cells.n_cells - 1)] += 1
        elif query.cells.points[0] <= x < query.cells.points[-1]:
            counts[np.searchsorted(query.cells.points, x, "right") - 1] += 1
    return counts


def test_one_user_moves_one_cell_by_one(table: UserTable) -> None:
    grid = read_grid((0, 10), "0.5", whole=False)
    edges, _ = read_ranges([(-1, 4), (2, 9), (9, None)])
    compiled = [
        Compiled(table, of, per_user, cells)
        for cells in (grid, edges)
        for of, per_user in [("x", name) for name in PER_USER] + [(None, "median")]
    ]

    @settings(
        max_examples=250,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(data=rows, query=st.sampled_from(compiled))
    def check(data: list[Row], query: Compiled) -> None:
        true_with = query.counts(data)
        true_without = query.counts([row for row in data if row[0] != "u"])
        moved = true_with - true_without
        assert moved.min(initial=0) >= 0
        assert moved.sum() <= 1
        assert true_with.sum() <= len({user for user, _ in data if user is not None})
        if query.of is None or query.per_user in ("min", "max", "median"):
            assert true_with.tolist() == reference(query, data).tolist()

    check()
