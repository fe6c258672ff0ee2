"""Charging and storing on SQLite, statement by statement.

Turns make it fair. What makes it safe would hold without them: the account, the quota and windows
are taken by a condition inside one statement each, the journal has one charge per key, and one
entry per number.
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
    NO_WINDOWS,
    QUOTA_REFUSES,
    WINDOW_REFUSES,
    WINDOWS_MISSING,
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
from headcount.ledger.schema import accounts, entries, per_window, quotas
from headcount.ledger.steps import Step
from headcount.ledger.stores.store import Writer
from headcount.privacy.event import Windowed


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


# What a window is in this account, and what each may spend, as one value; nothing without windows.
WINDOWS_OF = (
    sa.select(
        sa.cast(per_window.c.rho_limit, sa.Text)
        .concat(sa.literal_column("' '"))
        .concat(sa.cast(per_window.c.delta_limit, sa.Text))
        .concat(sa.literal_column("' '"))
        .concat(per_window.c.level)
    )
    .where(per_window.c.account == sa.bindparam("account"))
    .scalar_subquery()
)
TAKE = _take(accounts, accounts.c.name == sa.bindparam("account")).returning(
    accounts.c.has_quotas,
    CHARGE_OF_KEY.with_only_columns(entries.c.sequence).scalar_subquery(),
    LATEST_OF_QUESTION.with_only_columns(entries.c.sequence).scalar_subquery(),
    LAST_IN_ONE.scalar_subquery(),
    WINDOWS_OF,
)
TAKE_FROM_QUOTA = _take(
    quotas,
    quotas.c.account == sa.bindparam("in_account"),
    quotas.c.analyst == sa.bindparam("by_analyst"),
).returning(quotas.c.analyst)
# Of the shape of a quota: a row that may not pass its own limit, made when it is first charged.
TAKE_FROM_WINDOWS = sa.text(
    "WITH RECURSIVE asked(number) AS "
    "(SELECT :first UNION ALL SELECT number + 1 FROM asked WHERE number < :last) "
    "INSERT INTO windows "
    "(account, level, number, rho_limit, delta_limit, rho_spent, delta_spent) "
    "SELECT :account, :level, number, :rho_limit, :delta_limit, :rho, :delta FROM asked "
    "WHERE :rho <= :rho_limit AND :delta <= :delta_limit "
    "ON CONFLICT (account, level, number) DO UPDATE "
    "SET rho_spent = windows.rho_spent + excluded.rho_spent, "
    "delta_spent = windows.delta_spent + excluded.delta_spent "
    "WHERE windows.rho_limit - windows.rho_spent >= excluded.rho_spent "
    "AND windows.delta_limit - windows.delta_spent >= excluded.delta_spent RETURNING number"
)
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
    has_quotas, of_key, of_question, last, of_windows = taken[0]
    if of_key is not None or of_question is not None:
        # Leaving without ``finish`` gives back what was taken.
        return Outcome(KNOWN)
    sequence, _, last_hash = last.partition(" ")
    if has_quotas:
        who = {"in_account": name, "by_analyst": ask.analyst}
        (taken_from_quota,) = writer.run((TAKE_FROM_QUOTA, {**who, **cost}))
        if not taken_from_quota:
            return Outcome(QUOTA_REFUSES)
    if ask.windows is None and of_windows is not None:
        return Outcome(WINDOWS_MISSING)
    if ask.windows is not None:
        if of_windows is None:
            return Outcome(NO_WINDOWS)
        short = _take_from_windows(writer, ask, ask.windows, of_windows)
        if short is not None:
            # Leaving without ``finish`` gives back what the others gave.
            return Outcome(WINDOW_REFUSES, short=short)
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


def _take_from_windows(writer: Writer, ask: Ask, asked: Windowed, of: str) -> int | None:
    """Take its share from each window [TW2], or say which is the first that cannot pay."""
    rho_limit, delta_limit, level = of.split(" ", 2)
    values = {
        "account": ask.account.name,
        "level": level,
        "first": asked.first,
        "last": asked.last,
        "rho_limit": int(rho_limit),
        "delta_limit": int(delta_limit),
        "rho": ask.rho // asked.times,
        "delta": ask.delta // asked.times,
    }
    (taken,) = writer.run((TAKE_FROM_WINDOWS, values))
    if len(taken) == asked.last - asked.first + 1:
        return None
    paid = {int(row[0]) for row in taken}
    return next(number for number in range(asked.first, asked.last + 1) if number not in paid)


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
