"""One value for each user, placed in one public cell, by the engine.

However many rows a user has, that user is in at most one cell [Q1], so adding or removing a user
moves one count by one. Which cell depends on that user's rows, on public cells and on a secret key.
"""

from __future__ import annotations

import math
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from headcount.contributions import read
from headcount.contributions.arithmetic import floor_ratio
from headcount.contributions.encoding import encoded_column
from headcount.contributions.groups import USER
from headcount.contributions.secret import beside_key
from headcount.errors import SchemaError, UsageError
from headcount.privacy.cells import Edges, Grid
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables import UserTable
from headcount.tables.engine import cast_always, double
from headcount.tables.kinds import Kind
from headcount.tables.rules import NUMBER_KINDS, as_number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NOTHING = "Nothing was read and nothing was charged."
PER_USER = {
    "median": "the median of the user's values (the lower one of two)",
    "mean": "the mean of the user's values",
    "sum": "the sum of the user's values",
    "min": "the smallest of the user's values",
    "max": "the largest of the user's values",
    "sampled": "one of the user's different values, chosen by a keyed hash",
}
CELL = "hc_cell"
VALUE = "hc_value"
COUNT = "hc_count"
LARGEST = 1e300
UNIT_BITS = 30


def check_values(table: UserTable, of: str | None, per_user: str) -> bool:
    """Refuse what is not a column of numbers; whether each user's value is an integer."""
    if per_user not in PER_USER:
        raise UsageError(f"per_user must be one of {', '.join(PER_USER)}, not {per_user!r}.")
    if of is None:
        return True
    kind = table.kind(of)
    if of == table.user:
        raise UsageError(f"The column {of!r} names the users and is not a value. {NOTHING}")
    if kind not in NUMBER_KINDS:
        raise SchemaError(
            f"The column {of!r} holds {kind}; values must be numbers. Where it is text in a CSV "
            f"file or a folder's name, say what it is: types={{{of!r}: 'number'}}, "
            f"or 'integer' if all are whole. {NOTHING}"
        )
    return kind is Kind.INTEGER and per_user != "mean"


def described(of: str | None, per_user: str) -> str:
    """The one value that a user has, in words."""
    return "how many rows the user has" if of is None else f"{PER_USER[per_user]} in {of}"


def value_rules(
    table: UserTable, of: str | None, per_user: str, cells: Grid | Edges
) -> tuple[str, ...]:
    """The sentences that hold for the values."""
    if of is None:
        return table.rules
    rules = (
        *table.rules,
        f"Rows whose {of} is missing, not finite or beyond 1e300 are dropped; a user without "
        "others is not counted.",
    )
    if per_user in ("sum", "mean"):
        rules += (f"For the {per_user}, each {of} is first cut to ±{_largest(cells):g}.",)
    return rules


def users_per_cell(
    table: UserTable,
    of: str | None,
    per_user: str,
    cells: Grid | Edges,
    key: bytes,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
) -> Query[NDArray[np.int64]]:
    """How many users are in each cell, before noise; one row per non-empty cell is read, once."""
    users = placed(table, of, per_user, cells, key)
    return Query(Sensitivity.of_cell(neighbours), cache(partial(_counted, table, users, cells)))


def _counted(table: UserTable, users: Any, cells: Grid | Edges) -> NDArray[np.int64]:
    """Count a table of users by their cells."""
    totals = users.group_by(CELL).agg(**{COUNT: cast_always(users.count(), "int64")})
    return read.by_place(table.engine, totals.select(CELL, COUNT), cells.n_cells)


def placed(table: UserTable, of: str | None, per_user: str, cells: Grid | Edges, key: bytes) -> Any:
    """One row per user: the user, and the number of the cell that user is in [Q1]."""
    rows = table.expr
    if of is None:
        sizes = rows.group_by(**{USER: rows[table.user]}).agg(**{VALUE: rows.count()})
        users = sizes.select(USER, **{CELL: _cell(sizes[VALUE].cast("float64"), cells)})
    else:
        number = as_number(table.engine, rows[of], table.columns[of])
        values = rows.select(**{USER: rows[table.user], VALUE: _finite(number)})
        values = values.filter(values[VALUE].notnull())
        if per_user in ("sum", "mean"):
            users = _added(values, cells, mean=per_user == "mean")
        else:
            located = values.select(USER, **{CELL: _cell(values[VALUE], cells)})
            users = _chosen(table, located, per_user, key)
    return users.filter((users[CELL] >= 0) & (users[CELL] < cells.n_cells))


def _finite(x: Any) -> Any:
    """The value, or missing; NaN compares above every number, or not at all."""
    import ibis

    return ibis.cases(((x >= double(-LARGEST)) & (x <= double(LARGEST)), x))


def _cell(x: Any, cells: Grid | Edges) -> Any:
    """The cell of a finite value, in the order of values [Q2]; -1 and ``n_cells`` are outside."""
    import ibis

    if isinstance(cells, Edges):
        finite = [(i, point) for i, point in enumerate(cells.points) if math.isfinite(point)]
        last = cells.n_cells if math.isfinite(cells.points[-1]) else cells.n_cells - 1
        if not finite:
            return ibis.literal(last, "int64")
        return ibis.cases(
            *((x < double(point), ibis.literal(i - 1, "int64")) for i, point in finite),
            else_=ibis.literal(last, "int64"),
        )
    low, step = double(float(cells.low)), double(float(cells.step))
    last = ibis.literal(cells.n_cells - 1, "int64")
    # Both ends are compared before the division: some engines refuse one that over- or underflows.
    inside = ((x - low) / step).floor().cast("int64")
    return ibis.cases(
        (x - low < step, ibis.literal(0, "int64")),
        (x >= double(float(cells.high)), last),
        else_=ibis.least(inside, last),
    )


def _chosen(table: UserTable, located: Any, per_user: str, key: bytes) -> Any:
    """One of each user's cells. A cell does not fall as its value rises, so order is kept."""
    import ibis

    if per_user in ("min", "max"):
        extreme = located[CELL].min() if per_user == "min" else located[CELL].max()
        return located.group_by(USER).agg(**{CELL: extreme})
    cells = located.group_by([USER, CELL]).agg(**{COUNT: located.count()})
    if per_user == "median":
        upto = cells[COUNT].sum().over(ibis.cumulative_window(group_by=USER, order_by=CELL))
        of_all = cells[COUNT].sum().over(ibis.window(group_by=USER))
        ranked = cells.mutate(hc_upto=upto, hc_all=of_all)
        upper = ranked.filter(ranked.hc_upto * 2 >= ranked.hc_all)
        return upper.group_by(USER).agg(**{CELL: upper[CELL].min()})
    cells, secret = beside_key(table.engine, cells, key)
    user_text = encoded_column(cells[USER], table.columns[table.user])
    message = secret.concat(ibis.literal("|"), user_text, encoded_column(cells[CELL], Kind.INTEGER))
    ordered = cells.mutate(hc_order=table.engine.hash_order(message))
    window = ibis.window(group_by=USER, order_by=[ordered.hc_order, ordered[CELL]])
    ranked = ordered.mutate(hc_rank=ibis.row_number().over(window))
    return ranked.filter(ranked.hc_rank == 0).select(USER, CELL)


def _largest(cells: Grid | Edges) -> float:
    """A power of two above all ends of the cells."""
    ends = (cells.low, cells.high) if isinstance(cells, Grid) else cells.points
    most = max((abs(float(end)) for end in ends if math.isfinite(end)), default=1.0)
    return 2.0 ** math.frexp(max(most, 2.0**-200))[1]


def _added(values: Any, cells: Grid | Edges, *, mean: bool) -> Any:
    """Sums and means in fixed point, so that they do not depend on the order of the rows.

    A term is a multiple of a power of two, at most ``2**UNIT_BITS`` of them: integers are exact up
    to there, and sums of fewer than ``2**32`` rows cannot overflow [Q3].
    """
    import ibis

    largest = _largest(cells)
    unit = largest / (1 << UNIT_BITS)
    x, most = values[VALUE], ibis.literal(1 << UNIT_BITS, "int64")
    term = ibis.cases(
        (x >= double(largest), most),
        (x <= double(-largest), -most),
        ((x >= double(0)) & (x < double(unit)), ibis.literal(0, "int64")),
        ((x < double(0)) & (x >= double(-unit)), ibis.literal(-1, "int64")),
        else_=(x / double(unit)).floor().cast("int64"),
    )
    terms = values.select(USER, hc_term=term)
    sums = terms.group_by(USER).agg(
        hc_sum=cast_always(terms.hc_term.sum(), "int64"),
        hc_count=cast_always(terms.count(), "int64"),
    )
    total = floor_ratio(sums.hc_sum, sums.hc_count) if mean else sums.hc_sum
    return sums.select(USER, **{CELL: _cell(total.cast("float64") * double(unit), cells)})
