"""Pairs of user and group, and what is asked of them before groups are known: cells, weights.

Every query starts from one table of distinct (user, group) pairs. What one user adds to an answer
depends on that user's pairs and on numbers that are public by then, and on nothing else [K1].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount.contributions.arithmetic import exact_weight
from headcount.contributions.bounded import SEAL, VALUE, BoundedContributions
from headcount.contributions.clip import N_ROWS
from headcount.contributions.equal_error.known import KnownPairs
from headcount.contributions.groups import (
    INDEX,
    TOTAL,
    USER,
    Grouped,
    group_rows,
    matches,
    only_listed,
)
from headcount.contributions.keep import N_GROUPS, groups_per_user, kept_of_heavy
from headcount.contributions.kept_rows import rows_of_pairs
from headcount.contributions.largest import each_pair, largest_of, largest_of_others
from headcount.contributions.listed import GroupList
from headcount.contributions.profile import counted_cells
from headcount.contributions.store import Store
from headcount.contributions.tally import Tally
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables.engine import cast_always

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.contributions.group_totals import GroupTotals
    from headcount.privacy.bounds import Bounds
    from headcount.tables import GroupBy, UserTable

Draw = Callable[["Query[NDArray[np.int64]]"], tuple["NDArray[np.intp]", "NDArray[np.int64]"]]


class Pairs:
    """The distinct (user, group) pairs of one table, kept in the engine while a release runs.

    With a ``max_value`` above one each pair has a value: its number of rows, at most that.
    """

    _others: GroupTotals
    """The largest groups that were not found."""

    def __init__(
        self,
        table: UserTable,
        by: GroupBy | Sequence[GroupBy],
        store: Store,
        *,
        key: bytes,
        groups: Iterable[Any] | None = None,
        max_value: int = 1,
    ) -> None:
        grouped = group_rows(table, by, groups)
        grouped = grouped.named() if max_value == 1 else _with_rows(grouped, max_value)
        self._begin(replace(grouped, rows=store.keep(grouped.rows)), store, key, max_value)

    @classmethod
    def kept(cls, grouped: Grouped, store: Store, *, key: bytes) -> Pairs:
        """Of pairs that stand in the engine already, one row each."""
        pairs = cls.__new__(cls)
        pairs._begin(grouped, store, key, 1)
        return pairs

    def _begin(self, grouped: Grouped, store: Store, key: bytes, max_value: int) -> None:
        self._store = store
        self._max_value = max_value
        self._key = key
        self._pairs = grouped.rows
        self._grouped = grouped
        self._per_user = store.keep(groups_per_user(self._pairs))
        each = each_pair(self._grouped, self._pairs)
        self._each = each
        self.groups = Tally(each).schema.remove(len(grouped.names)).empty_table()
        """The groups that positions in the last answer refer to."""

    @property
    def engine(self) -> Any:
        """The engine that holds the pairs."""
        return self._grouped.table.engine

    def users_per_cell(self) -> Query[NDArray[np.int64]]:
        """How many users are in each cell of groups per user; a user adds one, to one cell."""
        return counted_cells(self.engine, self._per_user)

    def users_per_rows_cell(self) -> Query[NDArray[np.int64]]:
        """How many users are in each cell of rows per user; a user adds one, to one cell."""
        rows = self._pairs[N_ROWS].sum()
        per_user = self._pairs.group_by(USER).agg(**{N_GROUPS: cast_always(rows, "int64")})
        return counted_cells(self.engine, per_user)

    def largest(self, n: int) -> Query[NDArray[np.int64]]:
        """The ``n`` largest counts of users, largest first; no bound on users."""
        largest = largest_of(self._each, n)

        def ask() -> NDArray[np.int64]:
            true_counts = largest.query.ask()
            self.groups = largest.every_name()
            return true_counts

        return Query(largest.query.sensitivity, ask)

    def discover(self, bounds: Bounds, draw: Draw) -> NDArray[np.int64]:
        """Pass total weights through ``draw``; keep the groups that leave, in the order of names.

        A user in ``m`` groups adds ``bounds.weight(m)`` to each [B1], [B2]. The order of arrival
        says something about the table, so it does not survive.
        """
        true_tally = Tally(self._weighted(bounds))
        kept_groups: list[pa.Table] = []
        kept_totals: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
        for part in true_tally.parts():
            kept, noisy_totals = draw(part.query)
            kept_groups.append(part.names(kept))
            kept_totals.append(noisy_totals)
        schema = true_tally.schema.remove(true_tally.schema.get_field_index(TOTAL))
        found = pa.concat_tables([schema.empty_table(), *kept_groups])
        by_name = pc.sort_indices(found, [(name, "ascending", "at_end") for name in schema.names])
        self.groups = found.take(by_name).combine_chunks()
        return np.concatenate(kept_totals)[np.asarray(by_name)]

    def _weighted(self, bounds: Bounds) -> BoundedContributions:
        import ibis

        columns = self._grouped.columns
        per_user = self._per_user.filter(self._per_user[N_GROUPS] <= bounds.max_groups)
        weights = per_user.select(USER, **{VALUE: exact_weight(per_user[N_GROUPS], bounds)})
        joined = self._pairs.inner_join(weights, USER)
        light = joined.select(*(joined[column] for column in columns), joined[VALUE])
        heavy_users = self._per_user.filter(self._per_user[N_GROUPS] > bounds.max_groups)
        heavy = kept_of_heavy(self._grouped, self._pairs, heavy_users, bounds.max_groups, self._key)
        least = ibis.literal(bounds.weight(bounds.max_groups), "int64")
        expr = light.union(heavy.select(*columns, **{VALUE: least}))
        return BoundedContributions(
            self._grouped, expr, bounds.sensitivity(), bounds.lattice_bits, bounds, None, SEAL
        )

    def largest_others(self, n: int) -> Query[NDArray[np.int64]]:
        """The ``n`` largest counts of users of groups not found so far, 0 where there are fewer.

        A user moves each by one at most: they are sorted counts of all groups but public ones [B3].
        """
        self._others = largest_of_others(self._each, n, self._left)
        return Query(self._others.query.sensitivity, partial(self._padded, n))

    def _padded(self, n: int) -> NDArray[np.int64]:
        true_counts = self._others.query.ask()
        return np.pad(true_counts, (0, n - len(true_counts)))

    def count_of_other(self, number: int) -> Query[NDArray[np.int64]]:
        """The users of one of these groups, which is public by now; a user adds one at most."""
        return Query(Sensitivity.of_sum(), partial(self._count_of_other, number))

    def _count_of_other(self, number: int) -> NDArray[np.int64]:
        return self._others.query.ask()[[number]]

    def take_in_largest(self, numbers: Sequence[int]) -> None:
        """Positions of these, which are public, come after those of before."""
        names = self._others.names(np.array(numbers, np.intp))
        self.groups = pa.concat_tables([self.groups, names]).combine_chunks()

    def _left(self, rows: Any) -> Any:
        """Rows of all groups but those found so far."""
        relation, listed = self._relation(self.groups)
        return rows.anti_join(relation, matches(rows, relation, self._grouped.columns, listed))

    def others(self) -> Pairs:
        """Pairs of all groups but those found so far, which are public: a user has fewer [B3]."""
        rest = self._left(self._pairs)
        others = Pairs.__new__(Pairs)
        kept = replace(self._grouped, rows=self._store.keep(rest))
        others._begin(kept, self._store, self._key, self._max_value)
        return others

    def take_in(self, others: Pairs) -> None:
        """Positions of others come after those of before."""
        self.groups = pa.concat_tables([self.groups, others.groups]).combine_chunks()

    def _relation(self, names: pa.Table) -> tuple[Any, GroupList]:
        """Public groups in the engine, each with its number."""
        own = self._grouped.columns
        missing = tuple(names.column(i).null_count > 0 for i in range(len(own)))
        table = names.rename_columns(list(own)).append_column(
            INDEX, pa.array(np.arange(names.num_rows), pa.int64())
        )
        return self.engine.relation(table), GroupList((), self._grouped.kinds, missing)

    def known(self, order: NDArray[np.intp]) -> KnownPairs:
        """The pairs of the groups at these positions, each group by its place in ``order``."""
        relation, listed = self._relation(self.groups.take(pa.array(order)))
        own = self._grouped.columns
        also = () if self._max_value == 1 else (N_ROWS,)
        pairs = self._store.keep(only_listed(self._pairs, relation, own, listed, also))
        return KnownPairs(pairs, len(order), self._store, self._max_value)


def _with_rows(grouped: Grouped, max_value: int) -> Grouped:
    """Pairs with the number of their rows, at most so many."""
    import ibis

    counted = rows_of_pairs(grouped)
    value = ibis.least(counted[N_ROWS], ibis.literal(max_value, "int64"))
    return grouped.named(counted.mutate(**{N_ROWS: value}), (N_ROWS,))
