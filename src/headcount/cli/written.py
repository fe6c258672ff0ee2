"""Arguments of verbs as a shell writes them: the options of each, and how they are read."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import headcount as hc
from headcount.privacy.argument import NOTHING, number_of, shown
from headcount.releases.verbs import Argument, Needed, Written
from headcount.tables.by import GroupBy, column_of, parse_group

if TYPE_CHECKING:
    from headcount.releases.dataset import Dataset

KINDS: Mapping[Written, Any] = {
    Written.TEXT: str,
    Written.WHOLE: int,
    Written.REAL: float,
    Written.FLAG: bool,
    Written.COLUMN: str,
    Written.SEVERAL: list[str],
    Written.GROUPING: list[str],
    Written.LINES: Path,
    Written.RANGES: list[str],
    Written.ENDS: str,
    Written.QUERY: str,
}
ENDS = ("low", "high")


def options(name: str, argument: Argument) -> list[Parameter]:
    """The options of a command that one argument of its verb is written by."""
    says, kind = argument.says, KINDS[argument.written]
    if argument.written is Written.ENDS:
        return [_option(end, kind, one, Needed()) for end, one in zip(ENDS, says, strict=True)]
    if argument.written is Written.QUERY:
        return [Parameter(name, Parameter.KEYWORD_ONLY, annotation=_behind_the_source(says))]
    flags: tuple[str, ...] = ()
    default = argument.default
    if argument.written is Written.FLAG:
        flags = (f"--{name}",)
    elif argument.written is Written.RANGES:
        flags = ("--range",)
    elif argument.written is Written.COLUMN:
        default = None
    elif argument.written is Written.SEVERAL:
        default = [str(one) for one in argument.default]
    return [_option(name, kind, says, default, *flags)]


def _behind_the_source(says: Any) -> Any:
    return Annotated[str, typer.Argument(help=says)]


def _option(name: str, kind: Any, says: Any, default: Any, *flags: str) -> Parameter:
    is_needed = isinstance(default, Needed)
    kind = kind if is_needed or default is not None else kind | None
    annotation = Annotated[kind, typer.Option(*flags, help=says)]
    return Parameter(
        name,
        Parameter.KEYWORD_ONLY,
        default=Parameter.empty if is_needed else default,
        annotation=annotation,
    )


def read(name: str, argument: Argument, given: Mapping[str, Any], data: Dataset) -> Any:
    """The argument itself, from what was given under its options."""
    if argument.written is Written.ENDS:
        return tuple(given[end] for end in ENDS)
    value = given[name]
    reader = READERS.get(argument.written)
    return value if reader is None or value is None else reader(value, data)


def grouping(by: list[str], data: Dataset) -> list[GroupBy]:
    """What to count by."""
    parsed = [parse_group(text) for text in by]
    for text, group in zip(by, parsed, strict=True):
        if "," in text and column_of(group) not in data.table.columns:
            parts = [part.strip() for part in text.split(",") if part.strip()]
            each = " ".join(f"--by {shlex.quote(part)}" for part in parts)
            raise hc.SchemaError(
                f"The table has no column {column_of(group)!r}. To count by several, repeat the "
                f"option: {each}. Nothing was read and nothing was charged."
            )
    return parsed


def pair(text: str) -> tuple[str | None, str | None]:
    """Two numbers around a colon, either of which may be left out."""
    first, colon, last = text.partition(":")
    if not colon or any(end and number_of(end) is None for end in (first, last)):
        raise hc.UsageError(
            f"--range is two numbers, or one and no end: 18:65, :18 or 65:, not {shown(text)}. "
            f"{NOTHING}"
        )
    return first or None, last or None


READERS: Mapping[Written, Callable[[Any, Dataset], Any]] = {
    Written.GROUPING: grouping,
    Written.RANGES: lambda ranges, _: [pair(text) for text in ranges],
}
