"""Stored results, in pieces: a database has a largest value, and a result must not.

The digest of a result in one piece is the SHA-256 of its bytes; in several, that of the digests of
the pieces, one after the other. The entry says how many there are, so that none can be added.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from headcount.errors import LedgerError
from headcount.ledger.journal import RESULT, is_kind
from headcount.ledger.schema import entries, pieces, results
from headcount.ledger.store import Rows

SIZE = 1 << 22

RESULT_OF = sa.select(entries.c.digest, entries.c.about).where(
    is_kind(RESULT), entries.c.event == sa.bindparam("event")
)
STORED = sa.select(results.c.payload).where(results.c.sequence == sa.bindparam("sequence"))
PIECE = sa.select(pieces.c.payload).where(
    pieces.c.sequence == sa.bindparam("sequence"), pieces.c.piece == sa.bindparam("piece")
)
ADD = pieces.insert()

Run = Callable[..., list[Rows]]
"""Runs statements in order and returns the rows of each."""


def of(sequence: int) -> str:
    """The charge that a result belongs to, as its entry says it."""
    return json.dumps({"charge": sequence})


def cut(payload: bytes) -> Iterator[memoryview]:
    """The pieces of a result; an empty one is one empty piece."""
    view = memoryview(payload)
    for start in range(0, max(len(view), 1), SIZE):
        yield view[start : start + SIZE]


def n_pieces(payload: bytes) -> int:
    """How many pieces a result has."""
    return max(1, -(-len(payload) // SIZE))


def about(n: int) -> str:
    """What an entry says of a result in ``n`` pieces."""
    return json.dumps({"pieces": str(n)})


def count_in(words: str) -> int | None:
    """How many pieces an entry speaks of; none where it was stored whole, before there were any."""
    return int(json.loads(words)["pieces"]) if words else None


def digest_of(parts: Sequence[bytes | memoryview] | Iterator[bytes | memoryview]) -> str:
    """The hash of a result, from its pieces."""
    digests = [hashlib.sha256(part).hexdigest() for part in parts]
    return (
        digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    )


def stored(run: Run, sequence: int) -> bytes | None:
    """What a charge released, if it came to that; refused if it is not what was stored."""
    (found,) = run((RESULT_OF, {"event": of(sequence)}))
    if not found:
        return None
    digest, words = found[0]
    parts = list(read(run, sequence, count_in(words)))
    if not is_whole(parts) or digest_of(parts) != digest:
        raise LedgerError(
            f"The stored result of entry {sequence} was changed after it was stored. It is not "
            "shown. Nothing was charged. Bring back the newest untouched copy of the ledger."
        )
    return bytes(parts[0]) if len(parts) == 1 else b"".join(parts)


def is_whole(parts: Sequence[Any]) -> bool:
    """Whether every piece is there, and is bytes."""
    return all(isinstance(part, bytes | memoryview) for part in parts)


def read(run: Run, sequence: int, n: int | None) -> Iterator[Any]:
    """The pieces as the database gives them, one at a time; what is gone, as nothing."""
    if n is None:
        (rows,) = run((STORED, {"sequence": sequence}))
        yield rows[0][0] if rows else None
        return
    for piece in range(n):
        (rows,) = run((PIECE, {"sequence": sequence, "piece": piece}))
        yield rows[0][0] if rows else None
