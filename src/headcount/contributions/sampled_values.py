"""A fresh sample of users by blocks of cells, of which the engine hands out large blocks only.

The coin of a user is the hash of a secret key, the number of the sample, the blocks it is seen in,
the user and the user's block [Q4]. So no sample can be seen in two ways: other blocks are other
coins. The sample exists inside one query; its size is not asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from headcount.contributions import read
from headcount.contributions.bound import check_key
from headcount.contributions.encoding import encoded_column
from headcount.contributions.groups import USER
from headcount.contributions.sample import COIN, Coins
from headcount.contributions.secret import beside_key
from headcount.contributions.values import CELL, COUNT, placed, users_per_cell
from headcount.privacy.cells import Blocks, Edges, Grid
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables import UserTable
from headcount.tables.engine import cast_always
from headcount.tables.kinds import Kind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK = "hc_block"


@dataclass(frozen=True, repr=False, eq=False)
class Values:
    """One value for each user of a table, in public cells, to be counted in one way or another."""

    table: UserTable
    of: str | None
    per_user: str
    cells: Grid | Edges
    key: bytes

    def users_per_cell(
        self, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> Query[NDArray[np.int64]]:
        """How many users are in each cell, before noise."""
        return users_per_cell(self.table, self.of, self.per_user, self.cells, self.key, neighbours)

    def sampled(self, number: int, blocks: Blocks, coins: Coins) -> Query[NDArray[np.int64]]:
        """Sampled users of each block, 0 where they do not reach the threshold.

        With one user more a block may be there, with all of the threshold.
        """
        whole = Sensitivity.of_cell().times(coins.threshold)
        return Query(whole, partial(self._sampled, number, blocks, coins))

    def _sampled(self, number: int, blocks: Blocks, coins: Coins) -> NDArray[np.int64]:
        totals = self._query(number, blocks, coins)
        return read.by_place(self.table.engine, totals.select(BLOCK, COUNT), blocks.n_blocks)

    def _query(self, number: int, blocks: Blocks, coins: Coins) -> Any:
        import ibis

        check_key(self.key)
        engine = self.table.engine
        users = placed(self.table, self.of, self.per_user, self.cells, self.key)
        seen = users.select(USER, **{BLOCK: _block(users[CELL], blocks)})
        seen, secret = beside_key(engine, seen, self.key)
        message = secret.concat(
            ibis.literal(f"|{COIN}{number} {blocks}|"),
            encoded_column(seen[USER], self.table.columns[self.table.user]),
            encoded_column(seen[BLOCK], Kind.INTEGER),
        )
        tossed = seen.mutate(hc_coin=engine.hash_order(message))
        kept = tossed.filter(tossed["hc_coin"] < engine.hash_limit(coins.limit))
        totals = kept.group_by(BLOCK).agg(**{COUNT: cast_always(kept.count(), "int64")})
        return totals.filter(totals[COUNT] >= coins.threshold)


def _block(cell: Any, blocks: Blocks) -> Any:
    import ibis

    if blocks.split is not None:
        return ibis.cases(
            (cell < blocks.split, ibis.literal(0, "int64")), else_=ibis.literal(1, "int64")
        )
    # Cells are below 2**16, so the double is exact enough to be floored.
    return (cell.cast("float64") / blocks.size).floor().cast("int64")
