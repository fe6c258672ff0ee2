"""What may be said to a stream, in one table: type, range, and what to write instead."""

from __future__ import annotations

import os
from datetime import date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from headcount.errors import UsageError
from headcount.privacy.argument import (
    NOTHING,
    Check,
    as_float,
    checked_by,
    flag,
    is_text,
    items,
    one_of,
    optional,
    real,
    refused,
    shown,
    text,
    whole,
)

MAX_GROUPS = 1 << 24
MAX_COUNTERS = 1 << 32
LARGEST = 1 << 256
"""Python refuses to spell out numbers of thousands of digits; nobody counts by those."""
LONGEST_GROUP = 1 << 16
LONGEST_PATH = 2_000
SEED_BYTES = 16
LEAST_EPSILON, MOST_EPSILON = "1/1000000", 1000
"""With less, noise comes near the range of a counter; more protects nobody."""
LEAST_FLUSH = 1
MOST_EVENTS = 1 << 53


def spelled(value: Any) -> str | None:
    """The text that a value counts under; None for what is no value of a stream."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return value
    if isinstance(value, int) and abs(int(value)) < LARGEST:
        return str(int(value))
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    return None


def _groups(value: Any, name: str) -> tuple[str, ...]:
    instead = f"{name}=['home', 'help']"
    listed = []
    for item in items(value, name, MAX_GROUPS, instead):
        group = spelled(item)
        if group is None or not is_text(group) or len(group) > LONGEST_GROUP:
            needed = "a text, a whole number, a date or True and False"
            raise refused(f"a group in {name}", needed, item, instead)
        listed.append(group)
    listed.sort()
    for one, other in pairwise(listed):
        if one == other:
            raise UsageError(
                f"{name} holds {shown(one)} twice. Write each group once: {instead}. {NOTHING}"
            )
    return tuple(listed)


def _seed(value: Any, name: str) -> str:
    try:
        if isinstance(value, str) and len(bytes.fromhex(value)) == SEED_BYTES:
            return bytes.fromhex(value).hex()
    except ValueError:
        pass
    needed = f"{2 * SEED_BYTES} hexadecimal digits"
    raise refused(name, needed, value, f"{name}=other.hash_seed, or leave it out")


def place(value: Any, name: str) -> Path:
    """The path of a file, made whole: whatever folder the process goes to, it stays that file."""
    good = isinstance(value, str | Path) and 0 < len(str(value)) <= LONGEST_PATH
    good = good and is_text(str(value))
    try:
        where = Path(os.path.realpath(value)) if good else None
    except (OSError, ValueError):
        where = None
    if where is None or not where.name:
        raise refused(name, "the path of a file", value, f"{name}='pages.hcs'")
    return where


STREAM: dict[str, dict[str, Check]] = {
    "Stream": {
        "groups": optional(_groups),
        "buckets": optional(whole(1, MAX_COUNTERS, "buckets=100_000")),
        "epsilon": real(LEAST_EPSILON, MOST_EPSILON, "epsilon=1"),
        "neighbours": one_of("add-remove", "replace"),
        "hash_seed": optional(_seed),
        "path": optional(place),
    },
    "load": {"path": place},
    "snapshot": {"path": place},
    "finish": {"fresh_noise": flag},
    "output": {
        "confidence": as_float(real("1/1000", "999999/1000000", "confidence=0.95")),
        "method": one_of("npmle", "l1", "l2"),
        "n_events": optional(whole(0, MOST_EVENTS, "how many events there were, or leave it out")),
    },
    "add": {
        "field": optional(text("field='page', or leave it out")),
        "flush_every": optional(
            as_float(real(LEAST_FLUSH, 10**7, "flush_every=3600, or leave it out"))
        ),
    },
}


def checked(call: str, **given: Any) -> dict[str, Any]:
    """The arguments of a call in one form; what cannot be read is refused."""
    try:
        return _read(call, given)
    except UsageError as error:
        # The words of arguments are those of releases, and no ledger pays for a stream.
        said = str(error).replace(NOTHING, "Nothing was changed.")
    raise UsageError(said)


def _read(call: str, given: dict[str, Any]) -> dict[str, Any]:
    unknown = [name for name in given if name not in STREAM[call]]
    if unknown:
        raise UsageError(
            f"{call} takes {', '.join(STREAM[call])}, and no {shown(unknown[0])}. Leave it out. "
            f"{NOTHING}"
        )
    return checked_by(STREAM[call], given.items())
