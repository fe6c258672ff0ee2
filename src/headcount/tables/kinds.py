"""What a column holds, in the words that refusals use."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from enum import StrEnum
from typing import Any

from headcount.tables.by import UNITS, Bins, GroupBy, Truncate, parse_group


class Kind(StrEnum):
    """The kinds of column headcount tells apart."""

    INTEGER = "integer"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIME = "time without a zone"
    ZONED_TIME = "time with a zone"
    FLOAT = "floating-point number"
    DECIMAL = "decimal"
    UUID = "uuid"
    # Never a user [R2].
    FOLDED_TEXT = "text under a collation that treats different texts as equal"
    OTHER = "other"


def kind_of(dtype: Any) -> Kind:
    """The kind of an Ibis type."""
    if dtype.is_boolean():
        return Kind.BOOLEAN
    if dtype.is_integer():
        # Unsigned 64-bit numbers do not fit the signed 64 bits every engine has.
        return Kind.OTHER if str(dtype).strip("!") == "uint64" else Kind.INTEGER
    if dtype.is_floating():
        return Kind.FLOAT
    if dtype.is_decimal():
        return Kind.DECIMAL
    if dtype.is_uuid():
        return Kind.UUID
    if dtype.is_json():
        return Kind.OTHER
    if dtype.is_string():
        return Kind.TEXT
    if dtype.is_date():
        return Kind.DATE
    if dtype.is_timestamp():
        return Kind.ZONED_TIME if dtype.timezone else Kind.TIME
    return Kind.OTHER


def kinds_of(expr: Any) -> dict[str, Kind]:
    """The kind of every column of an Ibis table expression."""
    return {name: kind_of(dtype) for name, dtype in expr.schema().items()}


def missing(column: str, columns: Collection[str]) -> str:
    """The refusal for a column that is not there; it lists those that are, where that is public."""
    there = (
        f"Its columns are {', '.join(columns)}."
        if columns
        else "Its columns are named in the first line of the file, which is not repeated here "
        "because it may hold a record. If fields are not between commas, say so: delimiter=';' "
        "(--delimiter ';'). If there is no header: header=False and columns=[...] (--no-header "
        "--columns a,b)."
    )
    near = difflib.get_close_matches(column, list(columns), 1)
    alike = f"Did you mean {near[0]!r}? " if near else ""
    return (
        f"The table has no column {column!r}. {_meant(column)}{alike}{there} Nothing was "
        "read and nothing was charged."
    )


def _meant(column: str) -> str:
    """What a name with a colon or a comma in it may have been meant for; asked of it alone."""
    if "," in column:
        parts = [parse_group(part.strip()) for part in column.split(",") if part.strip()]
        return f"Several columns are given one by one: by=[{', '.join(map(in_python, parts))}]. "
    name, colon, _ = column.rpartition(":")
    if not (name and colon):
        return ""
    units = f"{', '.join(UNITS[:-1])} or {UNITS[-1]}"
    return f"A time is cut to a {units}: {in_python(Truncate(name, 'day'))}. "


def in_python(group: GroupBy) -> str:
    """What to count by, as it is written in Python."""
    if isinstance(group, Truncate):
        return f"hc.truncate({group.column!r}, {group.to!r})"
    if isinstance(group, Bins):
        return f"hc.bins({group.column!r}, {group.width:f})"
    return repr(group)
