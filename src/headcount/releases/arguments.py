"""What arguments of verbs must be, beyond single numbers and words, and what to write instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from headcount.errors import UsageError
from headcount.privacy.argument import (
    NOTHING,
    Check,
    checked_by,
    flag,
    items,
    number_of,
    optional,
    real,
    refused,
    text,
    whole,
)
from headcount.privacy.budget import Budget
from headcount.privacy.cells import MAX_EDGES
from headcount.releases.wide.place import read_folder
from headcount.screens import quoted
from headcount.tables.by import Bins, Truncate, as_groups, column_of

MAX_LISTED = 1 << 20
"""So many groups can be listed."""
MAX_RESULT_BYTES = 1 << 29
"""A result is stored in the ledger as one value, and this much fits in any store."""
ROW_BYTES = 40
"""Four numbers a row, and what marks a missing one."""
MAX_COLUMNS = 64
MAX_FILES = 100_000
MAX_QUERY = 100_000
MAX_QUANTILES = 1_000
COUNTED = ("count", "low", "high", "sd")
SHARED = ("other", "share", "low", "high", "sd")
SHARE = re.compile(r"\s*([0-9]{1,18})\s*(?:/\s*([0-9]{1,18})\s*)?")
SPEND = "spend=hc.Budget(epsilon=1), or a share of the account's whole limit: spend='1/10'"
HOW_SPEND = "On the command line: --epsilon 1, or --spend 1/10"


def by(*own: str) -> Check:
    """What to count by; ``own``: the columns that the result has beside the groups."""

    def read(value: Any, name: str) -> Any:
        if not isinstance(value, str | Truncate | Bins):
            value = items(value, name, MAX_COLUMNS, f"{name}='page', or a list of columns")
        parts = as_groups(value)
        for part in parts:
            text(f"{name}='page'")(column_of(part), f"a column in {name}")
            if column_of(part) in own:
                raise UsageError(
                    f"The result has a column {column_of(part)!r} of its own, so nothing can be "
                    f"counted by a column of that name. Rename it in the table, or open a view "
                    f"that does: select {column_of(part)} as my_{column_of(part)}. {NOTHING}"
                )
        return list(parts) if isinstance(value, list) else parts[0]

    return read


def groups(value: Any, name: str) -> list[Any]:
    """A public list of groups, and the size of the result that it makes."""
    listed = items(value, name, MAX_LISTED, f"{name}=['a', 'b'], or leave it out to find groups")
    if result_bytes(listed) > MAX_RESULT_BYTES:
        raise UsageError(
            f"The result would have {result_bytes(listed):,} bytes, and {MAX_RESULT_BYTES:,} can "
            f"be stored. List fewer groups, or shorter ones. {NOTHING}"
        )
    return listed


def groups_in(path: Path) -> list[str]:
    """The public groups of a text file, one per line."""
    try:
        return [line for line in path.read_text(encoding="utf-8").splitlines() if line]
    except (OSError, ValueError):
        raise UsageError(
            f"The groups in {quoted(path)} cannot be read. Give a text file in UTF-8 with one "
            "group on each line. Nothing was charged."
        ) from None


def result_bytes(listed: list[Any]) -> int:
    """About how large a result of these public groups is."""
    return sum(ROW_BYTES + _bytes(group) for group in listed)


def _bytes(group: Any) -> int:
    if isinstance(group, tuple):
        return sum(_bytes(part) for part in group)
    return 4 * len(group) if isinstance(group, str) else 8


def spend(value: Any, name: str) -> Budget | Fraction:
    """What a release may cost: a budget, or a named share of the account's whole limit."""
    if isinstance(value, Budget):
        if value.per is not None:
            raise UsageError(
                f"per={value.per!r} is for the budget of an account, and {name} is what this "
                "release takes of each window that it is about: leave per= out. Nothing was "
                "charged."
            )
        return value
    if value is None:
        raise UsageError(
            f"Say what this release may cost: {SPEND}. {HOW_SPEND}. Nothing takes what is left by "
            f"itself. {NOTHING}"
        )
    share = value if isinstance(value, Fraction) else None
    if isinstance(value, str) and (written := SHARE.fullmatch(value)):
        top, bottom = int(written[1]), int(written[2] or 1)
        share = Fraction(top, bottom) if bottom else None
    if share is None or not 0 < share <= 1 or share.denominator > 10**18:
        needed = "a Budget, or a share p/q of the account's limit, above 0 and at most 1"
        raise refused(name, needed, value, f"{SPEND}. {HOW_SPEND}")
    return share


def by_the_verb(value: Any, _: str) -> Any:
    """Left as it is, for the check of the verb that answers."""
    return value


def at(value: Any, name: str) -> list[Fraction]:
    """Which quantiles: one or several numbers between 0 and 1."""
    instead = f"{name}=[0.25, 0.5, 0.75]"
    single = number_of(value)
    given = [value] if single is not None else items(value, name, MAX_QUANTILES, instead)
    check = real(0, 1, instead)
    return [check(one, f"a number in {name}") for one in given]


def bounds(value: Any, name: str) -> tuple[Fraction, Fraction]:
    """Two public ends."""
    instead = f"{name}=(0, 100)"
    ends = items(value, name, 2, instead)
    if len(ends) != 2:
        raise refused(name, "two numbers, (low, high)", value, instead)
    low, high = (number_of(end) for end in ends)
    if low is None or high is None:
        raise refused(name, "two finite numbers, (low, high)", value, instead)
    return low, high


def ranges(value: Any, name: str) -> list[Any]:
    """Pairs of ends, or the ends of ranges side by side."""
    instead = f"{name}=[(0, 18), (18, 65), (65, None)], or {name}=[0, 18, 65]"
    parts = items(value, name, MAX_EDGES + 1, instead)
    numbers = [number_of(part) for part in parts]
    if all(number is not None for number in numbers):
        if len(numbers) < 2:
            raise refused(name, "two ends or more", value, instead)
        return numbers
    return [_pair(part, name, instead) for part in parts]


def _pair(part: Any, name: str, instead: str) -> tuple[Fraction | None, Fraction | None]:
    ends = items(part, f"a range in {name}", 2, instead)
    read = [None if end is None else number_of(end) for end in ends]
    missing = any(end is not None and one is None for end, one in zip(ends, read, strict=True))
    if len(read) != 2 or missing:
        raise refused(f"a range in {name}", "two numbers, or None for no end", part, instead)
    return read[0], read[1]


def _callable(value: Any, name: str) -> Callable[[str], None]:
    if not callable(value):
        raise refused(name, "a function of one text", value, f"{name}=print, or leave it out")
    return value


RELEASE: dict[str, Check] = {
    "fresh": flag,
    "again": optional(text("again='3f9c', the first letters of a key, or leave it out")),
    "key": optional(text("key='monday', or leave it out")),
    "progress": _callable,
    "to": optional(read_folder),
    "files": optional(whole(1, MAX_FILES, "files=16, or leave it out")),
}


def checked_release(**given: Any) -> dict[str, Any]:
    """The arguments of ``Plan.release`` in one form."""
    said = checked_by(RELEASE, given.items())
    if said["again"] is not None and (said["fresh"] or said["key"] is not None):
        other = "fresh=True draws new rows" if said["fresh"] else "key= names a new release"
        raise UsageError(
            f"again= shows what was released and never charges, and {other}: give one of the two. "
            f"{NOTHING}"
        )
    if said.get("files") is not None and said.get("to") is None:
        raise UsageError(
            "files= says into how many files rows are written; say where: to='urls/'. " + NOTHING
        )
    return said
