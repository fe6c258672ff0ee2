"""Groups that are found first, as for counts of users, and then users' shares of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from headcount.contributions.distribution.rows import found_counts, own_counts
from headcount.contributions.distribution.shares import UserShares
from headcount.contributions.groups import group_rows
from headcount.contributions.pairs import Draw, Pairs

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from headcount.contributions.store import Store
    from headcount.privacy.bounds import Bounds
    from headcount.tables import GroupBy, UserTable


class FoundShares:
    """One table whose groups are not public: discover them, then ask about shares."""

    def __init__(
        self, table: UserTable, by: GroupBy | Sequence[GroupBy], store: Store, *, key: bytes
    ) -> None:
        self._grouped = group_rows(table, by)
        self._store = store
        self._counted = store.keep(own_counts(self._grouped))
        pairs = replace(self._grouped, rows=self._counted)
        self._pairs = Pairs.kept(pairs, store, key=key)

    @property
    def groups(self) -> pa.Table:
        """The groups that were discovered, in the order of their names."""
        return self._pairs.groups

    def discover(self, bounds: Bounds, draw: Draw) -> NDArray[np.int64]:
        """Pass total weights through ``draw``; the groups that leave are public from here on."""
        return self._pairs.discover(bounds, draw)

    def shares(self) -> UserShares:
        """Users' shares of the groups that were discovered and, last, of all others together."""
        counted = found_counts(self._grouped, self._counted, self.groups, self._store)
        return UserShares(counted, self.groups.num_rows + 1, self._store)
