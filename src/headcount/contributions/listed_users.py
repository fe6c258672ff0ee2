"""How many users there are in each listed group, asked so that nobody needs a bound.

A user of any listed group moves ``2 * users of the group - users of any`` by one in every group: up
where they are, down where they are not. However many groups that is, the vector they move has one
length [T2].
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.contributions import read
from headcount.contributions.group_totals import GroupTotals
from headcount.contributions.groups import USER, group_rows
from headcount.contributions.largest import each_pair
from headcount.contributions.tally import Tally
from headcount.privacy.query import Query, together
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables.engine import cast_always

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from headcount.contributions.store import Store
    from headcount.tables import GroupBy, UserTable


class ListedUsers:
    """Two questions about listed groups, answered together; and the groups' names.

    Who is in which group is read once: a user whose rows are deleted between two readings would be
    in the groups and not among the users, and move a difference by two.
    """

    def __init__(
        self,
        table: UserTable,
        by: GroupBy | Sequence[GroupBy],
        groups: Iterable[Any],
        store: Store,
    ) -> None:
        self._grouped, self._store = group_rows(table, by, groups), store
        each_entry = Sensitivity.of_entries(self._grouped.n_listed)
        self.differences: Query[NDArray[np.int64]]
        """By listed group, in order: twice its users, less all users of any."""
        self.users: Query[NDArray[np.int64]]
        """How many users are in any listed group."""
        self.differences, self.users = together([each_entry, Sensitivity.of_sum()], self._asked)

    def _asked(self) -> list[NDArray[np.int64]]:
        true_counts = self._totals.query.ask()
        users = cast_always(self._pairs[USER].nunique(), "int64")
        true_users = read.one_row(self._grouped.table.engine, self._pairs.agg(hc_users=users))
        return [2 * true_counts - true_users[0], true_users]

    @cached_property
    def _pairs(self) -> Any:
        return self._store.keep(self._grouped.pairs())

    @cached_property
    def _totals(self) -> GroupTotals:
        true_tally = Tally(each_pair(self._grouped, self._pairs))
        engine, query = self._grouped.table.engine, true_tally.query(ordered=True)
        return GroupTotals(
            true_tally.sensitivity, partial(read.table, engine, query, true_tally.schema)
        )

    def every_name(self) -> pa.Table:
        """All groups, in the order of the list; they are public."""
        return self._totals.every_name()
