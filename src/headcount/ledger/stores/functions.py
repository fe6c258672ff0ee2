"""Charging and storing on PostgreSQL, by the functions that the owner put there.

They take the analyst's name from the login and work the cost out themselves; see
``migrations/functions_0003`` and those after it. What they answer is a word.
"""

from __future__ import annotations

import json

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from headcount.ledger import parts, pieces
from headcount.ledger.asking import CHARGED, Ask, Outcome
from headcount.ledger.distrust import distrusted, gone
from headcount.ledger.journal import LAST, Head, head_from
from headcount.ledger.stores.statements import no_charge
from headcount.ledger.stores.store import Writer

CHARGE = sa.text(
    "SELECT status, number, at_, hash_ FROM ledger_charge(:account, :key, :question, :digest, "
    ":verb, :about, :event, :neighbours, :covers, :seen, :seen_hash)"
).bindparams(sa.bindparam("covers", type_=postgresql.ARRAY(sa.Text)))
PUT = sa.text("SELECT ledger_put(:number, :piece, :payload)")
STORE = sa.text(
    "SELECT status, at_, hash_ FROM ledger_store(:number, :piece, :payload, :seen, :seen_hash)"
)
STORE_PART = sa.text(
    "SELECT status, at_, hash_ FROM ledger_store_part(:number, :part, :payload, :seen, :seen_hash)"
)
STORED, NO_CHARGE, LOST, CHANGED = "stored", "no charge", "lost", "changed"
NO_PART, HAS_RESULT, HAS_PARTS = "no part", "has result", "has parts"
PAID_FOR = sa.text("SELECT event FROM entries WHERE sequence = :number AND kind = 'charge'")


def charge(writer: Writer, ledger: str, ask: Ask) -> Outcome:
    """Charge, if the account and the quota can pay and neither key nor question is known [O1]."""
    values = {
        **ask.names,
        "digest": ask.request_hash,
        "verb": ask.verb,
        "about": json.dumps(ask.about, sort_keys=True),
        "event": json.dumps(ask.event, sort_keys=True),
        "neighbours": ask.neighbours,
        "covers": list(ask.opening.covers),
        **_seen(writer),
    }
    status, number, at, digest = writer.call((CHARGE, values))
    _refuse_distrusted(writer, status)
    if status != CHARGED:
        return Outcome(status)
    writer.finish()
    return Outcome(CHARGED, Head(ledger, int(number), digest), at)


def store(
    writer: Writer, ledger: str, _analyst: str, sequence: int, payload: bytes
) -> tuple[bytes, Head]:
    """Keep what a charge is about to release, unless another process did so first."""
    *first, last = pieces.cut(payload)
    if first:
        # Nobody waits for a long result on its way: the turn is taken at its end.
        writer.begin(turn=False)
    for number, part in enumerate(first):
        writer.call((PUT, {"number": sequence, "piece": number, "payload": part}))
    values = {"number": sequence, "piece": len(first), "payload": last, **_seen(writer)}
    status, number, digest = writer.call((STORE, values))
    _refuse_distrusted(writer, status)
    if status == NO_CHARGE:
        raise no_charge(sequence)
    if status == HAS_PARTS:
        raise parts.has_parts(sequence)
    if status == STORED:
        writer.finish()
        return payload, Head(ledger, int(number), digest)
    (rows,) = writer.run((LAST, {}))
    before = pieces.stored(writer.run, sequence)
    if before is None:
        raise distrusted(writer.store.address, f"the stored result of entry {sequence} is missing")
    return before, head_from(rows, ledger)


def store_part(
    writer: Writer, ledger: str, _analyst: str, sequence: int, part: int, payload: bytes
) -> tuple[bytes, Head]:
    """Keep what one round is about to show, unless another process did so first."""
    values = {"number": sequence, "part": part, "payload": payload, **_seen(writer)}
    status, number, digest = writer.call((STORE_PART, values))
    _refuse_distrusted(writer, status)
    if status == NO_CHARGE:
        raise no_charge(sequence)
    if status == HAS_RESULT:
        raise parts.has_result(sequence)
    if status == NO_PART:
        (paid,) = writer.run((PAID_FOR, {"number": sequence}))
        raise parts.no_part(sequence, part, parts.paid_parts(paid[0][0]))
    if status == STORED:
        writer.finish()
        return payload, Head(ledger, int(number), digest)
    (rows,) = writer.run((LAST, {}))
    before = parts.stored(writer.run, sequence, part)
    if before is None:
        raise distrusted(writer.store.address, f"part {part} of entry {sequence} is missing")
    return before, head_from(rows, ledger)


def _seen(writer: Writer) -> dict[str, int | str]:
    seen = writer.seen
    return {"seen": 0 if seen is None else seen.sequence, "seen_hash": seen.hash if seen else ""}


def _refuse_distrusted(writer: Writer, status: str) -> None:
    if status == LOST and writer.seen is not None:
        raise distrusted(writer.store.address, gone(writer.seen.sequence), writer.happened)
    if status == CHANGED:
        raise distrusted(writer.store.address, "its last entry was changed after it was written")
