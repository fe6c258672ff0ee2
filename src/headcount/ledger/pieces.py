"""Stored results, in pieces: a database has a largest value, and a result must not.

The digest of a result in one piece is the SHA-256 of its bytes; in several, that of the digests of
the pieces, one after the other. The entry says how many there are, so that none can be added.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import sqlalchemy as sa

from headcount.errors import LedgerError
from headcount.ledger.journal import RESULT, is_kind
from headcount.ledger.schema import entries, pieces, results
from headcount.ledger.steps import Rows

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


def digest_of(parts: Iterable[Any]) -> str | None:
    """The hash of a result, from its pieces; nothing where one is gone, or is not bytes."""
    digests = []
    for part in parts:
        if not isinstance(part, bytes | memoryview):
            return None
        digests.append(hashlib.sha256(part).hexdigest())
    return (
        digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    )


def stored(run: Run, sequence: int) -> bytes | None:
    """What a charge released, if it came to that; refused if it is not what was stored."""
    (found,) = run((RESULT_OF, {"event": of(sequence)}))
    if not found:
        return None
    digest, words = found[0]
    # Held once: a list of pieces and their sum would be twice as much.
    whole = io.BytesIO()
    if digest_of(_into(whole, read(run, sequence, count_in(words)))) != digest:
        raise LedgerError(
            f"The stored result of entry {sequence} was changed after it was stored. It is not "
            "shown. Nothing was charged. Bring back the newest untouched copy of the ledger."
        )
    return whole.getvalue()


def _into(whole: io.BytesIO, parts: Iterable[Any]) -> Iterator[Any]:
    for part in parts:
        if isinstance(part, bytes | memoryview):
            whole.write(part)
        yield part


def read(run: Run, sequence: int, n: int | None) -> Iterator[Any]:
    """The pieces as the database gives them, one at a time; what is gone, as nothing."""
    if n is None:
        (rows,) = run((STORED, {"sequence": sequence}))
        yield rows[0][0] if rows else None
        return
    for piece in range(n):
        (rows,) = run((PIECE, {"sequence": sequence, "piece": piece}))
        yield rows[0][0] if rows else None
