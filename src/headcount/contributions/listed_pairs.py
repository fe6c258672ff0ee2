"""What is asked about listed groups before their sizes are guessed: cells, weights, differences.

The groups are public from the beginning, so there is nothing to find. Who is in which of them is
read once and kept while a release runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from headcount.contributions import read
from headcount.contributions.arithmetic import exact_weight
from headcount.contributions.equal_error.known import KnownPairs
from headcount.contributions.groups import INDEX, USER
from headcount.contributions.keep import N_GROUPS, groups_per_user
from headcount.contributions.listed_users import ListedUsers
from headcount.contributions.profile import counted_cells
from headcount.privacy.query import Query
from headcount.tables.engine import cast_always

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headcount.contributions.store import Store
    from headcount.privacy.bounds import Bounds
    from headcount.tables import GroupBy, UserTable


class ListedPairs(ListedUsers):
    """The distinct pairs of a user and a listed group, and what is asked of them."""

    def __init__(
        self,
        table: UserTable,
        by: GroupBy | Sequence[GroupBy],
        groups: Iterable[Any],
        store: Store,
    ) -> None:
        super().__init__(table, by, groups, store)
        self.n_groups = self._grouped.n_listed

    @property
    def engine(self) -> Any:
        """The engine that holds the pairs."""
        return self._grouped.table.engine

    @cached_property
    def _per_user(self) -> Any:
        return self._store.keep(groups_per_user(self._pairs))

    def users_per_cell(self) -> Query[NDArray[np.int64]]:
        """How many users are in each cell of listed groups per user; a user adds one, to one."""
        return counted_cells(self.engine, self._per_user)

    def weighed(self, bounds: Bounds) -> Query[NDArray[np.int64]]:
        """By listed group, its users; who is in ``m`` of them weighs ``bounds.weight(m)`` [B2].

        A group that nobody is in weighs 0. The list is no longer than the most groups of a user.
        """
        if self.n_groups > bounds.max_groups:
            raise ValueError("a user may be in more groups than the bounds keep")
        return Query(bounds.sensitivity(), partial(self._weighed, bounds))

    def _weighed(self, bounds: Bounds) -> NDArray[np.int64]:
        weight = exact_weight(self._per_user[N_GROUPS], bounds)
        weights = self._per_user.select(USER, hc_weight=weight)
        joined = self._pairs.inner_join(weights, USER)
        total = cast_always(joined["hc_weight"].sum(), "int64")
        return read.by_place(self.engine, joined.group_by(INDEX).agg(hc_total=total), self.n_groups)

    def known(self) -> KnownPairs:
        """Queries about all groups of the list, by their number in it."""
        return KnownPairs(self._pairs, self.n_groups, self._store)
