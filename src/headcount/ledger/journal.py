"""Entries of the journal: each one holds the hash of the one before.

Changing, removing or inserting an entry changes every hash after it, and the last one is also kept
outside the database (``heads``). Fields are hashed with their lengths, so that no two entries have
the same spelling.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from headcount.ledger.schema import entries
from headcount.ledger.steps import Rows, Step

OPEN, PER_WINDOW, COVER, QUOTA = "open-account", "per-window", "cover", "quota"
CHARGE, RESULT, PART = "charge", "result", "part"

# The order in which fields are hashed. It never changes; ``hash`` itself is last and left out.
FIELDS = tuple(column.name for column in entries.c)
HASHED = FIELDS[:-1]

LAST = sa.select(entries.c.sequence, entries.c.hash).where(
    entries.c.sequence == sa.select(sa.func.max(entries.c.sequence)).scalar_subquery()
)
AT = sa.select(entries.c.sequence).where(
    entries.c.sequence == sa.bindparam("sequence"), entries.c.hash == sa.bindparam("hash")
)
# The same as one value, for a place that has room for one.
LAST_IN_ONE = (
    sa.select(
        sa.cast(entries.c.sequence, sa.Text).concat(sa.literal_column("' '")).concat(entries.c.hash)
    )
    .order_by(entries.c.sequence.desc())
    .suffix_with("LIMIT 1")
)
APPEND = entries.insert()
IN_CHAIN = entries.c.sequence + sa.literal_column("0") > sa.literal_column("0")
"""No hash vouches for a row that stands before the first entry; it is none. As a sum, since no
database should look for charges along the numbers."""


def is_kind(kind: str) -> sa.ColumnElement[bool]:
    """The condition on an entry's kind; spelled out, since an index on one kind needs that."""
    return entries.c.kind == sa.literal_column(f"'{kind}'")


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry: how far a ledger has come, and the hash that vouches for all before it."""

    ledger: str
    sequence: int
    hash: str


def start(ledger: str) -> Head:
    """The head of a ledger without entries."""
    return Head(ledger, 0, hashlib.sha256(f"headcount ledger {ledger}".encode()).hexdigest())


def hash_of(values: Sequence[Any]) -> str:
    """The hash of an entry, from its fields in the order of ``HASHED``."""
    spelled = [b"headcount entry 1"]
    for value in values:
        text = str(value).encode()
        spelled.append(b"%d:%b" % (len(text), text))
    return hashlib.sha256(b"".join(spelled)).hexdigest()


def head_from(rows: Rows, ledger: str) -> Head:
    """The head, from the rows of ``LAST``."""
    return Head(ledger, int(rows[0][0]), str(rows[0][1])) if rows else start(ledger)


def append(
    head: Head,
    *,
    kind: str,
    account: str,
    analyst: str,
    key: str = "",
    neighbours: str = "",
    verb: str = "",
    digest: str = "",
    about: str = "",
    event: str = "",
    rho: int = 0,
    delta: int = 0,
) -> tuple[Step, Head]:
    """The statement that adds the next entry, and the head that it makes."""
    row: dict[str, Any] = {
        "sequence": head.sequence + 1,
        "kind": kind,
        "account": account,
        "key": key,
        "analyst": analyst,
        "neighbours": neighbours,
        "verb": verb,
        "digest": digest,
        "about": about,
        "event": event,
        "rho": rho,
        "delta": delta,
        # For people. No decision looks at a clock.
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "previous": head.hash,
    }
    row["hash"] = hash_of([row[name] for name in HASHED])
    return (APPEND, row), Head(head.ledger, row["sequence"], row["hash"])
