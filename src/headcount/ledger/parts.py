"""Parts of a charge: one charge pays for a period of rounds, and each stores once what it shows.

A charge for ``n_samples`` fresh samples pays for parts 0 to ``n_samples - 1``, and for no other.
Whatever else a round comes to, the first part that was stored is the one that is shown. A charge
has a result or parts: with both it would show more samples than it paid for.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import sqlalchemy as sa

from headcount.errors import LedgerError, UsageError
from headcount.ledger.journal import PART, is_kind
from headcount.ledger.pieces import Run
from headcount.ledger.schema import entries, parts
from headcount.privacy.event import Rounds, SampleThreshold, from_record

LARGEST = 1 << 26
"""The most bytes of one part; PostgreSQL's function has the same number."""

PART_OF = sa.select(entries.c.digest).where(is_kind(PART), entries.c.event == sa.bindparam("event"))
PAYLOAD = sa.select(parts.c.payload).where(
    parts.c.sequence == sa.bindparam("sequence"), parts.c.part == sa.bindparam("part")
)
NUMBERS = (
    sa.select(parts.c.part)
    .where(parts.c.sequence == sa.bindparam("sequence"))
    .order_by(parts.c.part)
)
ADD = parts.insert()


def of(sequence: int, part: int) -> str:
    """The charge and the round that a part belongs to, as its entry says it."""
    return json.dumps({"charge": sequence, "part": part})


def paid_parts(event: str) -> int:
    """How many parts a charge for this event pays for; none where it is for one release."""
    paid = from_record(json.loads(event))
    if isinstance(paid, Rounds):
        return int(paid.n)
    return int(paid.n_samples) if isinstance(paid, SampleThreshold) else 0


def digest_of(payload: Any) -> str | None:
    """The hash of a part; nothing where it is gone, or is not bytes."""
    if not isinstance(payload, bytes | memoryview):
        return None
    return hashlib.sha256(payload).hexdigest()


def stored(run: Run, sequence: int, part: int) -> bytes | None:
    """What a round has shown, if it came to that; refused if it is not what was stored."""
    found, rows = run(
        (PART_OF, {"event": of(sequence, part)}), (PAYLOAD, {"sequence": sequence, "part": part})
    )
    if not found:
        return None
    payload: Any = rows[0][0] if rows else None
    if digest_of(payload) != found[0][0]:
        raise LedgerError(
            f"Part {part} of entry {sequence} was changed after it was stored. It is not shown. "
            "Nothing was charged. Bring back the newest untouched copy of the ledger."
        )
    return bytes(payload)


def numbers(run: Run, sequence: int) -> list[int]:
    """Which parts of a charge are stored."""
    (rows,) = run((NUMBERS, {"sequence": sequence}))
    return [int(row[0]) for row in rows]


def check_size(payload: bytes) -> None:
    """Refuse what no store keeps in one value."""
    if len(payload) > LARGEST:
        raise UsageError(
            f"A part has at most {LARGEST:,} bytes, and this one has more. Nothing was stored. "
            "Raise the threshold, or ask for fewer groups."
        )


def no_part(sequence: int, part: int, n: int) -> LedgerError:
    """Why a part is not stored that nobody paid for."""
    paid = f"{n:,} rounds, parts 0 to {n - 1:,}" if n else "one release, which has no parts"
    return LedgerError(
        f"Entry {sequence} paid for {paid}; there is nothing that may be stored as part {part:,}. "
        "Nothing was stored."
    )


def has_result(sequence: int) -> LedgerError:
    """Why a part is not stored beside a result."""
    return LedgerError(
        f"Entry {sequence} has a stored result, which is all that it paid for. Nothing was stored "
        "as a part of it."
    )


def has_parts(sequence: int) -> LedgerError:
    """Why a result is not stored beside parts."""
    return LedgerError(
        f"Entry {sequence} has stored parts, which are what it paid for. Nothing was stored as its "
        "result."
    )
