"""How many groups users are in: one cell per power of two, one user in one cell."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from headcount.contributions import read
from headcount.contributions.groups import group_rows
from headcount.contributions.keep import N_GROUPS, groups_per_user
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables import GroupBy, UserTable
from headcount.tables.engine import cast_always

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headcount.tables.engine import Engine

CELLS = tuple(1 << power for power in range(21))
"""Cell i holds users in more than CELLS[i-1] and at most CELLS[i] groups; the last has no end."""


def users_per_cell(
    table: UserTable,
    by: GroupBy | Sequence[GroupBy],
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Query[NDArray[np.int64]]:
    """How many users are in each cell, before noise. A user adds one, to one cell.

    Users in no group, and rows without a user, are in no cell.
    """
    per_user = groups_per_user(group_rows(table, by).pairs())
    return counted_cells(table.engine, per_user, neighbours)


def counted_cells(
    engine: Engine, per_user: Any, neighbours: Neighbours = Neighbours.ADD_REMOVE
) -> Query[NDArray[np.int64]]:
    """The cells of a table with one row and one number of groups for each user."""
    return Query(Sensitivity.of_cell(neighbours), partial(_counted, engine, per_user))


def _counted(engine: Engine, per_user: Any) -> NDArray[np.int64]:
    import ibis

    n_groups = per_user[N_GROUPS]
    cell = ibis.cases(
        *((n_groups <= most, ibis.literal(i, "int64")) for i, most in enumerate(CELLS[:-1])),
        else_=ibis.literal(len(CELLS) - 1, "int64"),
    )
    placed = per_user.select(hc_cell=cell)
    counted = placed.group_by("hc_cell").agg(hc_users=cast_always(placed.count(), "int64"))
    return read.by_place(engine, counted, len(CELLS))
