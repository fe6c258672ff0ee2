"""Users with very many rows in a public group, counted by group."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from headcount.contributions import read
from headcount.contributions.arithmetic import exact_weight, one_if
from headcount.contributions.bounded import VALUE
from headcount.contributions.clip import N_ROWS
from headcount.contributions.groups import INDEX, USER
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query
from headcount.tables.engine import cast_always

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headcount.privacy.bounds import Bounds
    from headcount.tables.engine import Engine

CELL, N_FAR = "hc_cell", "hc_n_far"


def far_beyond(
    values: Any,
    n_groups: int,
    edges: Sequence[int],
    bounds: Bounds,
    engine: Engine,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Query[NDArray[np.int64]]:
    """By group, users with so many rows there, between edges: cells of a group in a row [L6].

    Who is in a cell of ``m`` groups weighs ``bounds.weight(m)`` in each; the last has no end.

    values:  the rows of each user in each group, one row of a user and the number of a group
    """
    if n_groups > bounds.max_groups:
        raise ValueError("a user may be in more groups than the bounds keep")
    sensitivity = bounds.sensitivity(neighbours, len(edges) * n_groups)
    return Query(sensitivity, partial(_far_beyond, values, n_groups, edges, bounds, engine))


def _far_beyond(
    values: Any, n_groups: int, edges: Sequence[int], bounds: Bounds, engine: Engine
) -> NDArray[np.int64]:
    far = values.filter(values[N_ROWS] >= edges[0])
    groups = far.group_by(USER).agg(**{N_FAR: cast_always(far.count(), "int64")})
    weights = groups.select(USER, **{VALUE: exact_weight(groups[N_FAR], bounds)})
    joined = far.inner_join(weights, USER)
    cell = joined[INDEX] * len(edges)
    for edge in edges[1:]:
        cell = cell + one_if(joined[N_ROWS] >= edge)
    placed = joined.select(**{CELL: cast_always(cell, "int64"), VALUE: joined[VALUE]})
    summed = placed.group_by(CELL).agg(hc_weight=cast_always(placed[VALUE].sum(), "int64"))
    return read.by_place(engine, summed, len(edges) * n_groups)
