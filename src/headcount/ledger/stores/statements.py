"""Charging and storing on SQLite, statement by statement.

Turns make it fair. What makes it safe would hold without them: the account and the quota are taken
by a condition inside one UPDATE, the journal has one charge per key, and one entry per number.
"""

from __future__ import annotations

import json

import sqlalchemy as sa

from headcount.errors import LedgerError
from headcount.ledger import parts, pieces
from headcount.ledger.asking import (
    ACCOUNT_REFUSES,
    CHARGE_OF_KEY,
    CHARGED,
    KNOWN,
    LATEST_OF_QUESTION,
    QUOTA_REFUSES,
    Ask,
    Outcome,
)
from headcount.ledger.journal import (
    CHARGE,
    IN_CHAIN,
    LAST,
    LAST_IN_ONE,
    PART,
    RESULT,
    Head,
    append,
    head_from,
    is_kind,
)
from headcount.ledger.schema import accounts, entries, quotas
from headcount.ledger.steps import Step
from headcount.ledger.stores.store import Writer


def _take(table: sa.Table, *who: sa.ColumnElement[bool]) -> sa.sql.expression.UpdateBase:
    rho, delta = (sa.bindparam(name, type_=sa.BigInteger) for name in ("rho", "delta"))
    return (
        table.update()
        # Written as a difference: a sum could pass the largest number a database has.
        .where(
            *who,
            table.c.rho_limit - table.c.rho_spent >= rho,
            table.c.delta_limit - table.c.delta_spent >= delta,
        )
        .values(rho_spent=table.c.rho_spent + rho, delta_spent=table.c.delta_spent + delta)
    )


TAKE = _take(accounts, accounts.c.name == sa.bindparam("account")).returning(
    accounts.c.has_quotas,
    CHARGE_OF_KEY.with_only_columns(entries.c.sequence).scalar_subquery(),
    LATEST_OF_QUESTION.with_only_columns(entries.c.sequence).scalar_subquery(),
    LAST_IN_ONE.scalar_subquery(),
)
TAKE_FROM_QUOTA = _take(
    quotas,
    quotas.c.account == sa.bindparam("in_account"),
    quotas.c.analyst == sa.bindparam("by_analyst"),
).returning(quotas.c.analyst)
CHARGE_OF_SEQUENCE = sa.select(entries.c.account, entries.c.key, entries.c.event).where(
    is_kind(CHARGE), IN_CHAIN, entries.c.sequence == sa.bindparam("sequence")
)


def charge(writer: Writer, ledger: str, ask: Ask) -> Outcome:
    """Charge, if the account and the quota can pay and neither key nor question is known [O1]."""
    name = ask.account.name
    cost = {"rho": ask.rho, "delta": ask.delta}
    (taken,) = writer.run((TAKE, {**ask.names, **cost}))
    if not taken:
        return Outcome(ACCOUNT_REFUSES)
    has_quotas, of_key, of_question, last = taken[0]
    if of_key is not None or of_question is not None:
        # Leaving without ``finish`` gives back what was taken.
        return Outcome(KNOWN)
    sequence, _, last_hash = last.partition(" ")
    if has_quotas:
        who = {"in_account": name, "by_analyst": ask.analyst}
        (taken_from_quota,) = writer.run((TAKE_FROM_QUOTA, {**who, **cost}))
        if not taken_from_quota:
            return Outcome(QUOTA_REFUSES)
    step, head = append(
        Head(ledger, int(sequence), last_hash),
        kind=CHARGE,
        account=name,
        analyst=ask.analyst,
        key=ask.key,
        neighbours=ask.neighbours,
        verb=ask.verb,
        digest=ask.request_hash,
        about=json.dumps(ask.about, sort_keys=True),
        event=json.dumps(ask.event, sort_keys=True),
        **cost,
    )
    writer.finish(step)
    return Outcome(CHARGED, head, str(step[1]["at"]))


def store(
    writer: Writer, ledger: str, analyst: str, sequence: int, payload: bytes
) -> tuple[bytes, Head]:
    """Keep what a charge is about to release, unless another process did so first."""
    charged, last = writer.run((CHARGE_OF_SEQUENCE, {"sequence": sequence}), (LAST, {}))
    if not charged:
        raise no_charge(sequence)
    head = head_from(last, ledger)
    before = pieces.stored(writer.run, sequence)
    if before is not None:
        return before, head
    if parts.numbers(writer.run, sequence):
        raise parts.has_parts(sequence)
    account, key, _ = charged[0]
    n, digest = pieces.n_pieces(payload), pieces.digest_of(pieces.cut(payload))
    assert digest is not None  # noqa: S101  they are bytes
    step, head = append(
        head,
        kind=RESULT,
        account=account,
        analyst=analyst,
        key=key,
        digest=digest,
        about=pieces.about(n),
        event=pieces.of(sequence),
    )
    for number, part in enumerate(pieces.cut(payload)):
        row = {"sequence": sequence, "piece": number, "payload": part}
        added: Step = (pieces.ADD, row)
        writer.run(added)
    writer.finish(step)
    return payload, head


def store_part(
    writer: Writer, ledger: str, analyst: str, sequence: int, part: int, payload: bytes
) -> tuple[bytes, Head]:
    """Keep what one round is about to show, unless another process did so first."""
    charged, last = writer.run((CHARGE_OF_SEQUENCE, {"sequence": sequence}), (LAST, {}))
    if not charged:
        raise no_charge(sequence)
    account, key, event = charged[0]
    n = parts.paid_parts(event)
    if not 0 <= part < n:
        raise parts.no_part(sequence, part, n)
    head = head_from(last, ledger)
    before = parts.stored(writer.run, sequence, part)
    if before is not None:
        return before, head
    if pieces.stored(writer.run, sequence) is not None:
        raise parts.has_result(sequence)
    digest = parts.digest_of(payload)
    assert digest is not None  # noqa: S101  they are bytes
    step, head = append(
        head,
        kind=PART,
        account=account,
        analyst=analyst,
        key=key,
        digest=digest,
        event=parts.of(sequence, part),
    )
    added: Step = (parts.ADD, {"sequence": sequence, "part": part, "payload": payload})
    writer.finish(added, step)
    return payload, head


def no_charge(sequence: int) -> LedgerError:
    """Why a result is not stored."""
    return LedgerError(
        f"There is no charge under entry {sequence}, so there is nothing that may be released."
    )
