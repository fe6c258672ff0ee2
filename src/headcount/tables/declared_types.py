"""``types={"time": "timestamp"}``: what the texts of a column mean, said and never guessed.

Each cell is read by itself. One that does not fit the type is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from headcount.errors import SchemaError, UsageError
from headcount.tables.engine import Engine

NOTHING = "Nothing was read and nothing was charged."
TYPES = {
    "text": "string",
    "integer": "int64",
    "number": "float64",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
}
DAY, CLOCK = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?"
OFFSET = ":[0-9.:]*(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"
FORMS = {
    "integer": "^[+-]?[0-9]{1,19}$",
    "number": "^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$",
    "boolean": "^(?i)(true|false|t|f|yes|no|y|n|1|0)$",
    "date": f"^{DAY}$",
    "timestamp": f"^{DAY}([ T]{CLOCK}(Z|[+-][0-9]{{2}}(:?[0-9]{{2}})?)?)?$",
}
"""How a cell is written that is one; any other is missing."""


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
                f"folder's name here; other columns have the type that they are stored with. To "
                f"count by another, store it so, or open a view that casts it. {NOTHING}"
            )
        if name == user and kind != "text":
            raise SchemaError(
                f"The user column {name!r} is compared as text, byte by byte: as {kind}, two "
                f"users could become one. Leave it out of types=. {NOTHING}"
            )


def typed(table: Any, types: Mapping[str, str], engine: Engine) -> Any:
    """The table with its texts read as what was declared."""
    import ibis

    changed = {}
    for name, kind in types.items():
        text = table[name]
        if kind == "timestamp":
            there = text.re_search(FORMS[kind])
            in_zone = engine.in_utc(text.try_cast("timestamp('UTC')"))
            changed[name] = ibis.cases(
                (there & text.re_search(OFFSET), in_zone),
                (there, text.try_cast("timestamp")),
            )
        elif kind != "text":
            changed[name] = ibis.cases((text.re_search(FORMS[kind]), text.try_cast(TYPES[kind])))
    return table.mutate(**changed) if changed else table


def type_rules(types: Mapping[str, str]) -> tuple[str, ...]:
    """The sentences that a plan prints."""
    return tuple(
        f"{name} is read as {kind}; a cell that is none counts as missing."
        for name, kind in types.items()
        if kind != "text"
    )
