"""Users and groups as text that a hash can be taken of, the same from Python and every engine.

Each value becomes ``v<number of characters>:<text>`` or ``n`` when missing. The length says where
a value ends, so no two different (user, group) pairs share a text, and a missing value differs
from the word "null".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headcount.tables.kinds import Kind


def encoded_group(group: Sequence[Any], kinds: Sequence[Kind]) -> str:
    """The text of one group, made in Python."""
    return "".join(_encoded(value, kind) for value, kind in zip(group, kinds, strict=True))


def _encoded(value: Any, kind: Kind) -> str:
    if value is None:
        return "n"
    if kind is Kind.BOOLEAN:
        text = "true" if value else "false"
    elif kind in (Kind.DATE, Kind.TIME):
        number = value.year * 10_000 + value.month * 100 + value.day
        text = str(number if kind is Kind.DATE else number * 100 + value.hour)
    else:
        text = str(value)
    return f"v{len(text)}:{text}"


def calendar_number(value: Any, kind: Kind) -> Any:
    """A date as the integer 20240131, a time cut to hours as 2024013123."""
    day = value.year().cast("int64") * 10_000 + value.month() * 100 + value.day()
    return day if kind is Kind.DATE else day * 100 + value.hour()


def encoded_column(value: Any, kind: Kind) -> Any:
    """The text of a column, made in the engine."""
    import ibis

    if kind is Kind.BOOLEAN:
        text = ibis.cases((value, "true"), (~value, "false"))
    elif kind in (Kind.DATE, Kind.TIME):
        text = calendar_number(value, kind).cast("string")
    else:
        text = value if kind is Kind.TEXT else value.cast("string")
    length = text.length().cast("string")
    framed = ibis.literal("v").concat(length, ibis.literal(":"), text)
    return framed.fill_null("n")
