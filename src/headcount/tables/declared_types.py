"""``types={"time": "timestamp"}``: what the texts of a column mean, said and never guessed.

Each cell is read by itself. One that does not fit the type is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from headcount.errors import SchemaError, UsageError

NOTHING = "Nothing was read and nothing was charged."
TYPES = {
    "text": "string",
    "integer": "int64",
    "number": "float64",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}
WHOLE = "^[+-]?[0-9]{1,19}$"


def check_types(types: Mapping[str, str], untyped: Collection[str], user: str) -> None:
    """Refuse types that are not ours, for columns that have one, or for the users."""
    for name, kind in types.items():
        if kind not in TYPES:
            raise UsageError(
                f"types[{name!r}] must be one of {', '.join(TYPES)}, not {kind!r}. {NOTHING}"
            )
        if name not in untyped:
            raise SchemaError(
                f"types= names the column {name!r}, which is no column of a CSV file and in no "
                f"folder's name here; other columns have the type that they are stored with. "
                f"{NOTHING}"
            )
        if name == user and kind != "text":
            raise SchemaError(
                f"The user column {name!r} is compared as text, byte by byte: as {kind}, two "
                f"users could become one. Leave it out of types=. {NOTHING}"
            )


def typed(table: Any, types: Mapping[str, str]) -> Any:
    """The table with its texts read as what was declared."""
    import ibis

    changed = {}
    for name, kind in types.items():
        text = table[name]
        if kind == "integer":
            changed[name] = ibis.cases((text.re_search(WHOLE), text.try_cast("int64")))
        elif kind != "text":
            changed[name] = text.try_cast(TYPES[kind])
    return table.mutate(**changed) if changed else table


def type_rules(types: Mapping[str, str]) -> tuple[str, ...]:
    """The sentences that a plan prints."""
    return tuple(
        f"{name} is read as {kind}; a cell that is none counts as missing."
        for name, kind in types.items()
        if kind != "text"
    )
