"""How many rows a bound leaves out of a count, and how many it keeps: what its bias is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from headcount.contributions import read
from headcount.contributions.bound_losses import rows_and_squares
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables.engine import cast_always, double

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headcount.contributions.store import Store

UNIT_BITS = 20


def lost_and_kept(
    store: Store,
    values: Any,
    n_rows: str,
    bound: int,
    *,
    by_norm: bool,
    cap: int,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Query[NDArray[np.int64]]:
    """Rows that all users lose to a bound, and rows they keep; ``cap`` rows are one unit.

    values:  one row per user and group, with the number of rows in ``n_rows``

    What a user adds to either is cut to between 0 and one unit of ``2**UNIT_BITS`` [V2], so that
    replacing a user moves them no further than adding one.
    """
    import ibis

    users = rows_and_squares(values, n_rows, squares=by_norm)
    rows = users["hc_rows"].cast("float64")
    norm = users["hc_squares"].cast("float64").sqrt() if by_norm else rows
    kept = rows * ibis.least(double(1), double(bound) / norm)
    unit = double(1 << UNIT_BITS)
    parts = {}
    for name, part in (("hc_lost", rows - kept), ("hc_kept", kept)):
        cut = ibis.greatest(ibis.least(part / double(cap) * unit, unit), double(0))
        parts[name] = cut.floor().cast("int64")
    each = users.select(**parts)
    query = each.agg(**{name: cast_always(each[name].sum(), "int64") for name in parts})
    one_each = Sensitivity.of_entries(2, 1 << UNIT_BITS, neighbours)
    return Query(one_each, partial(read.one_row, store.engine, query))
