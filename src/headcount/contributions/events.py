"""What counts of events ask of the engine: rows per pair, norms, their curve, and clipped totals.

Rows are counted once per user and group and kept in the engine; every answer is then a sum over
users of something that depends on one user and on public numbers alone [K1].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headcount.contributions import read
from headcount.contributions.arithmetic import floor_ratio, one_if
from headcount.contributions.bounded import SEAL, VALUE, BoundedContributions
from headcount.contributions.clip import MARGIN, N_ROWS, NORM
from headcount.contributions.far import far_beyond
from headcount.contributions.groups import INDEX, USER, group_rows
from headcount.contributions.store import Store
from headcount.privacy.bounds import Bounds
from headcount.privacy.length import Length, Norm
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables.engine import cast_always, double

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.tables import GroupBy, UserTable

SUM, SQUARES = "hc_sum", "hc_squares"
NEAR, CELL = "hc_near", "hc_cell"
MAX_SQUARES = 1 << 62
MAX_ROWS = 1 << 31


def most_rows(n_groups: int) -> int:
    """How many rows of one user in one group are looked at, so that no norm overflows [L1]."""
    return min(MAX_ROWS, math.isqrt(MAX_SQUARES // n_groups)) - 1


class Events:
    """The rows of each user in each public group, kept in the engine while a release runs."""

    def __init__(
        self,
        table: UserTable,
        by: GroupBy | Sequence[GroupBy],
        groups: Iterable[Any],
        store: Store,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        import ibis

        self._neighbours = neighbours

        self._grouped = group_rows(table, by, groups)
        self._store = store
        self.n_groups = self._grouped.n_listed
        rows = self._grouped.rows
        most = ibis.literal(most_rows(self.n_groups), "int64")
        self._values = store.keep(
            rows.group_by([USER, INDEX]).agg(**{N_ROWS: ibis.least(rows.count(), most)})
        )
        value = self._values[N_ROWS]
        self._norms = store.keep(
            self._values.group_by(USER).agg(
                **{
                    SUM: cast_always(value.sum(), "int64"),
                    SQUARES: cast_always((value * value).sum(), "int64"),
                }
            )
        )

    def weight_curve(
        self, candidates: Sequence[Length], cap: int, bits: int
    ) -> Query[NDArray[np.int64]]:
        """First of all users, then of those above each candidate, the sum of their ratios [L3].

        A user's ratio is that of their l1 norm to the norm of the candidates, in units of
        ``2**-bits``, rounded down, at most ``cap``. One row per cell of the grid leaves the engine.
        """
        sensitivity = Sensitivity.of_entries(len(candidates) + 1, cap, self._neighbours)
        return Query(sensitivity, partial(self._weight_curve, candidates, cap, bits))

    def _weight_curve(self, candidates: Sequence[Length], cap: int, bits: int) -> NDArray[np.int64]:
        import ibis

        norm = candidates[0].norm
        placed = self._placed(candidates)
        if norm is Norm.L1:
            ratio = ibis.literal(min(cap, 1 << bits), "int64")
        else:
            root = placed[SQUARES].cast("float64").sqrt()
            near = placed[SUM].cast("float64") / root * double(1 << bits)
            ratio = ibis.least(near.floor().cast("int64"), ibis.literal(cap, "int64"))
        weighed = placed.select(**{CELL: placed[CELL], VALUE: ratio})
        summed = weighed.group_by(CELL).agg(hc_weight=cast_always(weighed[VALUE].sum(), "int64"))
        true_cells = read.by_place(self._store.engine, summed, len(candidates) + 1)
        return np.cumsum(true_cells[::-1])[::-1].copy()

    def _placed(self, candidates: Sequence[Length]) -> Any:
        """Users with the number of candidates that they are above, exactly [L2]."""
        import ibis

        norm = candidates[0].norm
        step = math.log(candidates[1].value) * (1 if norm is Norm.L1 else 2)
        last = len(candidates) - 1
        mosts = [-1, *(length.most for length in candidates), (1 << 63) - 1]
        edges = self._store.engine.relation(
            pa.table(
                {
                    NEAR: pa.array(range(last + 1), pa.int64()),
                    "hc_before": pa.array(mosts[:-2], pa.int64()),
                    "hc_here": pa.array(mosts[1:-1], pa.int64()),
                    "hc_after": pa.array(mosts[2:], pa.int64()),
                }
            )
        )
        measure = self._norms[_column(norm)]
        near = (measure.cast("float64").ln() / double(step)).floor().cast("int64")
        near = ibis.greatest(ibis.least(near, ibis.literal(last, "int64")), 0)
        joined = self._norms.mutate(**{NEAR: cast_always(near, "int64")}).inner_join(edges, NEAR)
        measure = joined[_column(norm)]
        cell = (
            joined[NEAR]
            + one_if(measure > joined["hc_here"])
            + one_if(measure > joined["hc_after"])
            - one_if(measure <= joined["hc_before"])
        )
        return joined.select(SUM, SQUARES, **{CELL: cast_always(cell, "int64")})

    def clipped(self, length: Length) -> BoundedContributions:
        """Each user's rows, scaled down to the length where they are above it [L4]."""
        import ibis

        heavy = self._norms.filter(self._norms[_column(length.norm)] > length.most)
        heavy = heavy.select(USER, **{NORM: heavy[_column(length.norm)]})
        joined = self._values.left_join(heavy, USER)
        n_rows = joined[N_ROWS]
        whole = (n_rows.cast("float64") * _power(length.bits)).floor()
        if length.norm is Norm.L1:
            shrunk = floor_ratio(n_rows * length.top, joined[NORM])
        else:
            margin = double(MARGIN - 1) / double(MARGIN)
            share = n_rows.cast("float64") / joined[NORM].cast("float64").sqrt()
            shrunk = (share * double(length.top) * margin).floor().cast("int64")
        value = ibis.cases((joined[NORM].isnull(), whole.cast("int64")), else_=shrunk)
        expr = joined.select(INDEX, **{VALUE: value})
        sensitivity = length.sensitivity(self.n_groups)
        return BoundedContributions(self._grouped, expr, sensitivity, length.bits, seal=SEAL)

    def clipped_off(self, length: Length, cap: float, unit: int) -> Query[NDArray[np.int64]]:
        """What the bound takes from all users, in events: ``cap`` of them are ``unit`` [L5].

        One number, to which one user adds 0 to ``unit``: replacing one moves it no further.
        """
        sensitivity = Sensitivity.of_sum(unit, self._neighbours)
        return Query(sensitivity, partial(self._clipped_off, length, cap, unit))

    def _clipped_off(self, length: Length, cap: float, unit: int) -> NDArray[np.int64]:
        import ibis

        heavy = self._norms.filter(self._norms[_column(length.norm)] > length.most)
        norm = heavy[_column(length.norm)].cast("float64")
        kept = double(float(length.value)) / (norm if length.norm is Norm.L1 else norm.sqrt())
        lost = heavy[SUM].cast("float64") * (double(1) - kept) / double(cap) * double(unit)
        bounded = ibis.greatest(ibis.least(lost, double(unit)), double(0)).floor()
        placed = heavy.select(hc_lost=bounded.cast("int64"))
        query = placed.agg(hc_total=cast_always(placed["hc_lost"].sum(), "int64"))
        return read.one_row(self._store.engine, query)

    def far_beyond(self, edges: Sequence[int], bounds: Bounds) -> Query[NDArray[np.int64]]:
        """Users with so many rows in a group, by group, between edges of cells [L6]."""
        engine, relation = self._store.engine, self._neighbours
        return far_beyond(self._values, self.n_groups, edges, bounds, engine, relation)


def users_of(
    table: UserTable, neighbours: Neighbours = Neighbours.ADD_REMOVE
) -> Query[NDArray[np.int64]]:
    """How many users have a row at all; adding or removing one moves it by one."""
    return Query(Sensitivity.of_sum(1, neighbours), partial(_users_of, table))


def _users_of(table: UserTable) -> NDArray[np.int64]:
    rows = table.expr.select(**{USER: table.expr[table.user]})
    users = rows.group_by(USER).agg()
    query = users.agg(hc_users=cast_always(users.count(), "int64"))
    return read.one_row(table.engine, query)


def _column(norm: Norm) -> str:
    return SUM if norm is Norm.L1 else SQUARES


def _power(bits: int) -> Any:
    return double(1 << bits) if bits >= 0 else double(1) / double(1 << -bits)
