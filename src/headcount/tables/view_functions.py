"""What the functions in a view look at: one row, other rows, or the clock and chance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headcount.tables.views import fleeting

FLEETING_FUNCTIONS = (
    "Rand",
    "Randn",
    "Uuid",
    "CurrentDate",
    "CurrentDatetime",
    "CurrentTime",
    "CurrentTimestamp",
    "CurrentTimestampLTZ",
    "Localtime",
    "Localtimestamp",
)
FLEETING_NAMES = (
    "now",
    "today",
    "random",
    "uuid",
    "uuidv4",
    "uuidv7",
    "gen_random_uuid",
    "get_current_time",
    "get_current_timestamp",
    "transaction_timestamp",
    "statement_timestamp",
    "clock_timestamp",
    "timeofday",
    "nextval",
    "currval",
    "lastval",
    "setseed",
)
# Databases spell some functions of one row in ways that a parser takes for anybody's own.
ROW_FUNCTIONS = (
    "trim",
    "ltrim",
    "rtrim",
    "btrim",
    "substring",
    "substr",
    "left",
    "right",
    "upper",
    "lower",
    "length",
    "replace",
    "concat",
    "round",
    "floor",
    "ceil",
    "abs",
    "date_part",
    "date_trunc",
    "year",
    "month",
    "day",
    "hour",
    "strftime",
    "to_char",
    "timezone",
)
# What a database numbers or marks rows by depends on the rows beside them.
PSEUDO_COLUMNS = ("rowid", "ctid", "tableoid", "xmin", "xmax", "cmin", "cmax")
SHOWN = 40


def refuse_function(node: Any, dialect: str, mixes: Callable[[str], None]) -> None:
    """Refuse a part of an expression that does not look at its own row alone."""
    from sqlglot import exp

    refuse_fleeting(node, dialect)
    if isinstance(node, exp.Anonymous) and node.name.lower() in ROW_FUNCTIONS:
        return
    if isinstance(node, exp.Query):
        mixes("a query within the query")
    elif isinstance(node, exp.AggFunc | exp.Window | exp.Anonymous | exp.UDTF):
        mixes(f"the function {shown(node, dialect)}")
    elif isinstance(node, exp.Column) and node.name.lower() in PSEUDO_COLUMNS:
        mixes(f"the column {node.name}, which depends on other rows")


def refuse_fleeting(node: Any, dialect: str) -> None:
    """Refuse a function that need not say the same again."""
    from sqlglot import exp

    called = node.name.lower() if isinstance(node, exp.Anonymous) else ""
    if type(node).__name__ in FLEETING_FUNCTIONS or called in FLEETING_NAMES:
        raise fleeting(shown(node, dialect))


def shown(node: Any, dialect: str) -> str:
    """A part of a query as text, not too long."""
    return str(node.sql(dialect=dialect))[:SHOWN]
