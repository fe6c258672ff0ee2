"""Groups and counts of a query, as ``by`` and as the verb that counts so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from headcount.contributions.groups import TOTAL
from headcount.errors import SchemaError, UsageError
from headcount.releases.arguments import COUNTED
from headcount.releases.sql.parse import bare, extra
from headcount.releases.sql.words import Refused, name_of
from headcount.tables.by import MAX_WIDTH_DIGITS, UNITS, Bins, GroupBy, Truncate, bins, column_of
from headcount.tables.kinds import Kind, missing
from headcount.tables.rules import NUMBER_KINDS, result_kind
from headcount.tables.source import NOTHING

if TYPE_CHECKING:
    from headcount.tables.user_table import UserTable

USERS, EVENTS = "count_users", "count_events"
COUNT = "count"
"""What the result calls its counts."""
TAKEN = (*COUNTED, TOTAL)
"""What no group can be called."""
TIMES = (Kind.TIME, Kind.ZONED_TIME)
CUTS = (
    "Groups are columns as they are, times cut to a unit, date_trunc('month', time), and numbers "
    "cut into bins, FLOOR(price / 10.0)"
)
OF_VALUES = (
    "Counts alone are answered in SQL. Of numbers there are quantiles, data.quantiles(...), and "
    "counts of people by range, data.count_ranges(...)"
)

OTHERS = {
    "Window": "There are no window functions: each group has one count",
    "Filter": "FILTER has no meaning here: choose rows with WHERE",
    "Star": "Rows are never shown, only counts of groups",
    "Subquery": "One SELECT over one table is read, without queries in it",
    "Placeholder": "Values are written in the query: there are no parameters",
    "Parameter": "Values are written in the query: there are no parameters",
    "ApproxDistinct": "People are counted by COUNT(DISTINCT ...), and the noise is exact",
    "Literal": 'A constant is no group, and names are quoted like "this"',
}


def column_in(node: Any, table: UserTable) -> str | None:
    """The column of the table that a node is, by its exact name; None for what is no column."""
    node = bare(node)
    if type(node).__name__ != "Column" or type(node.this).__name__ != "Identifier":
        return None
    if extra(node, {"this"}):
        raise Refused("Columns are written without the table's name: there is one table")
    name = str(node.this.this)
    if name not in table.columns:
        listed = table.columns if table.lists_columns else ()
        raise Refused(missing(name, listed).removesuffix(f" {NOTHING}"), schema=True)
    return name


def count_in(node: Any, table: UserTable) -> str | None:
    """The verb that counts as a node does: people, or rows; None for what is no count."""
    node = bare(node)
    if type(node).__name__ != "Count":
        return None
    user = name_of(table.user)
    works = f"COUNT(DISTINCT {user}) counts people, and COUNT(*) their rows"
    if extra(node, {"this", "big_int"}):
        raise Refused(f"A count has one argument: {works}")
    what = bare(node.this)
    kind = type(what).__name__
    if kind == "Distinct":
        listed = what.expressions
        if len(listed) != 1 or extra(what, {"expressions"}):
            raise Refused(f"One column says who people are: {works}")
        if column_in(listed[0], table) != table.user:
            raise Refused(
                f"Only people are counted without repeats, by the user column: {works}. Other "
                "values may be rare, and their number could reveal one person"
            )
        return USERS
    is_one = kind == "Literal" and not what.is_string and what.this == "1"
    is_star = kind == "Star" and not extra(what, set())
    if is_one or is_star or (kind == "Column" and column_in(what, table) == table.user):
        return EVENTS
    raise Refused(f"Values of other columns are not counted: {works}. To leave out rows, use WHERE")


def group_in(node: Any, table: UserTable) -> GroupBy:
    """What a node groups by."""
    node = bare(node)
    read = READERS.get(type(node).__name__)
    if read is None:
        why = OTHERS.get(type(node).__name__)
        raise Refused(why or (OF_VALUES if _is_aggregate(node) else CUTS))
    group = read(node, table)
    name = column_of(group)
    if name == table.user:
        raise Refused(f"The column {name!r} names the users: counting by it would list them")
    try:
        result_kind(group, table.columns[name])
    except SchemaError as error:
        raise Refused(str(error).removesuffix(f" {NOTHING}"), schema=True) from None
    return group


def written(group: GroupBy) -> str:
    """A group as a query writes it."""
    name = name_of(column_of(group))
    if isinstance(group, Truncate):
        return f"date_trunc('{group.to}', {name})"
    if isinstance(group, Bins):
        width = f"{group.width:f}"
        return f"FLOOR({name} / {width if '.' in width else f'{width}.0'})"
    return name


def _plain(node: Any, table: UserTable) -> GroupBy:
    column = column_in(node, table)
    if column is None:
        raise Refused(CUTS)
    kind = table.columns[column]
    instead: GroupBy
    if kind in TIMES:
        cut, instead = "to a unit", Truncate(column, "day")
    elif kind in (Kind.FLOAT, Kind.DECIMAL):
        cut, instead = "into bins", bins(column, 10)
    else:
        return column
    raise Refused(
        f"The column {column!r} holds {kind}; nearly every value would be a group of its own. Cut "
        f"it {cut}: {written(instead)}",
        schema=True,
        instead=instead,
    )


def _truncated(node: Any, table: UserTable) -> GroupBy:
    """``date_trunc('month', time)``, or ``truncate(time, 'month')``."""
    unit = node.args.get("unit") or node.args.get("decimals")
    known = {"this", "unit"} if type(node).__name__ == "DateTrunc" else {"this", "decimals"}
    column = column_in(node.this, table)
    to = str(unit.this).lower() if unit is not None and unit.is_string else ""
    if column is None or to not in UNITS or extra(node, known):
        units = f"{', '.join(UNITS[:-1])} or {UNITS[-1]}"
        raise Refused(f"A column of times is cut to a {units}: date_trunc('month', time)")
    return Truncate(column, to)


def _binned(node: Any, table: UserTable) -> GroupBy:
    """``FLOOR(price / 10.0)``: the number of the bin that a value is in."""
    quotient = bare(node.this)
    whole = "A column of numbers is cut into bins by FLOOR(price / 10.0)"
    if type(quotient).__name__ != "Div" or extra(node, {"this"}):
        raise Refused(whole)
    column, width = column_in(quotient.this, table), bare(quotient.expression)
    is_number = type(width).__name__ == "Literal" and not width.is_string
    if column is None or not is_number or extra(quotient, {"this", "expression"}):
        raise Refused(whole)
    text = str(width.this)
    if table.columns[column] not in NUMBER_KINDS:
        raise Refused(f"{whole}; {column!r} holds {table.columns[column]}", schema=True)
    if table.columns[column] is Kind.INTEGER and text.isdigit():
        raise Refused(
            "Some databases cut a whole number that is divided by a whole number towards 0, and "
            f"others do not. Write the width with a point: FLOOR({name_of(column)} / {text}.0)",
            instead=_bins(column, text),
        )
    return _bins(column, text)


def _bins(column: str, width: str) -> GroupBy:
    try:
        return bins(column, width)
    except UsageError:
        raise Refused(
            f"The width of a bin is a number from 1e-9 to 1e9 with at most {MAX_WIDTH_DIGITS} "
            "digits"
        ) from None


def _is_aggregate(node: Any) -> bool:
    from sqlglot import exp

    return node.find(exp.AggFunc) is not None


READERS: dict[str, Callable[[Any, UserTable], GroupBy]] = {
    "Column": _plain,
    "DateTrunc": _truncated,
    "Trunc": _truncated,
    "Floor": _binned,
}
