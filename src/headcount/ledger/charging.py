"""The two writes of a release: the charge before data is read, the result before it is shown.

Order of a charge, the same for everyone: take a turn; open the account if this is its first; take
from it if it can pay, and see whether key and question are new; take from the analyst's quota; add
the entry; commit. Turns make it fair.
What makes it safe would hold without them: the account and the quota are taken by a condition
inside one UPDATE, the journal has one charge per key, and one entry per number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from headcount.errors import BudgetError, KeyReusedError, LedgerError
from headcount.ledger.account import Account, Charge, Opening, quota_refusal, refusal
from headcount.ledger.journal import (
    CHARGE,
    LAST,
    LAST_IN_ONE,
    RESULT,
    Head,
    append,
    digest_of,
    head_from,
    is_kind,
)
from headcount.ledger.opening import opening_steps
from headcount.ledger.reading import ACCOUNT, QUOTA_OF, account_from, quota_from
from headcount.ledger.schema import accounts, entries, quotas, results
from headcount.ledger.store import Rows, Writer
from headcount.privacy.spend import Zcdp


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


CHARGE_OF_KEY = sa.select(entries.c.sequence, entries.c.key, entries.c.at, entries.c.digest).where(
    is_kind(CHARGE),
    entries.c.account == sa.bindparam("account"),
    entries.c.key == sa.bindparam("key"),
)
LATEST_OF_QUESTION = (
    sa.select(entries.c.sequence, entries.c.key, entries.c.at, entries.c.digest)
    .where(
        is_kind(CHARGE),
        entries.c.account == sa.bindparam("account"),
        entries.c.digest == sa.bindparam("question"),
    )
    .order_by(entries.c.sequence.desc())
    .suffix_with("LIMIT 1")
)
FIRST_OF_QUESTION = LATEST_OF_QUESTION.order_by(None).order_by(entries.c.sequence)
NO_QUESTION = ""
"""Matches no request: a fresh draw looks for none."""
# One statement, so one message to a server: take, and learn where the journal stands.
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
CHARGE_OF_SEQUENCE = sa.select(entries.c.account, entries.c.key).where(
    is_kind(CHARGE), entries.c.sequence == sa.bindparam("sequence")
)
STORED = sa.select(results.c.payload).where(results.c.sequence == sa.bindparam("sequence"))
DIGEST_OF_RESULT = sa.select(entries.c.digest).where(
    is_kind(RESULT), entries.c.event == sa.bindparam("event")
)
STORE = results.insert()

Run = Callable[..., list[Rows]]
"""Runs statements in order and returns the rows of each."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One charge as it is asked for. The cost comes from the event's parameters alone."""

    opening: Opening
    analyst: str
    key: str
    fresh: bool
    request_hash: str
    verb: str
    about: Mapping[str, str]
    event: Mapping[str, Any]
    neighbours: str
    spend: Zcdp
    rho: int
    delta: int

    @property
    def account(self) -> Account:
        """Whose budget pays."""
        return self.opening.account

    @property
    def names(self) -> dict[str, str]:
        """What an earlier charge would be found by."""
        question = NO_QUESTION if self.fresh else self.request_hash
        return {"account": self.account.name, "key": self.key, "question": question}


def charge(writer: Writer, ledger: str, ask: Ask) -> tuple[Charge, Head]:
    """Charge, or find the charge made before under the same key or for the same question [O1]."""
    name = ask.account.name
    cost = {"rho": ask.rho, "delta": ask.delta}
    opening = ask.opening
    if opening.budget is not None or opening.covers:
        # In the same transaction: an account is opened by a charge, and by nothing that fails.
        _, _, steps = opening_steps(
            writer,
            ledger,
            ask.analyst,
            name,
            opening.budget,
            opening.account.neighbours,
            opening.covers,
        )
        writer.run(*steps)
    (taken,) = writer.run((TAKE, {**ask.names, **cost}))
    if not taken or taken[0][1] is not None or taken[0][2] is not None:
        # Leaving without ``finish`` gives back what was taken.
        return _known_or_refused(writer, ledger, ask, None if taken else _account_refuses)
    has_quotas, _, _, last = taken[0]
    sequence, _, last_hash = last.partition(" ")
    if has_quotas:
        who = {"in_account": name, "by_analyst": ask.analyst}
        (taken_from_quota,) = writer.run((TAKE_FROM_QUOTA, {**who, **cost}))
        if not taken_from_quota:
            return _known_or_refused(writer, ledger, ask, _quota_refuses)
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
    return Charge(head.sequence, True, ask.key, str(step[1]["at"]), None), head


def _account_refuses(writer: Writer, ask: Ask) -> str:
    (rows,) = writer.run((ACCOUNT, {"name": ask.account.name}))
    return refusal(account_from(rows[0]), ask.spend)


def _quota_refuses(writer: Writer, ask: Ask) -> str:
    (rows,) = writer.run((QUOTA_OF, {"account": ask.account.name, "analyst": ask.analyst}))
    quota = quota_from(rows[0]) if rows else None
    return quota_refusal(ask.account, ask.analyst, quota, ask.spend)


def _known_or_refused(
    writer: Writer, ledger: str, ask: Ask, why: Callable[[Writer, Ask], str] | None
) -> tuple[Charge, Head]:
    """What was charged before is found again also when nothing is left to spend."""
    known = find(writer.run, ask.names, ask.request_hash)
    if known is None:
        raise BudgetError(_account_refuses(writer, ask) if why is None else why(writer, ask))
    (last,) = writer.run((LAST, {}))
    return known, head_from(last, ledger)


def find(run: Run, names: Mapping[str, str], request_hash: str) -> Charge | None:
    """The charge under this key, or else one for this question, with what it released.

    Without a key that is the newest. With a key that no charge has it is the first: no later draw
    changes which one that is, so a job that repeats its key is shown the same rows for ever.
    """
    which = FIRST_OF_QUESTION if names["key"] else LATEST_OF_QUESTION
    of_key, of_question = run((CHARGE_OF_KEY, names), (which, names))
    found = of_key or of_question
    if not found:
        return None
    sequence, key, at, digest = found[0]
    if digest != request_hash:
        raise KeyReusedError(
            f"The key {key!r} was used before in account {names['account']!r} for a different "
            "question. Nothing was read and nothing was charged. Use a new key."
        )
    return Charge(int(sequence), False, key, at, _stored(run, int(sequence)))


def _stored(run: Run, sequence: int) -> bytes | None:
    (found,) = run((STORED, {"sequence": sequence}))
    if not found:
        return None
    payload = found[0][0]
    (digests,) = run((DIGEST_OF_RESULT, {"event": _of(sequence)}))
    if [digest_of(payload)] != [row[0] for row in digests]:
        raise LedgerError(
            f"The stored result of entry {sequence} was changed after it was stored. It is not "
            "shown. Nothing was charged. Bring back the newest untouched copy of the ledger."
        )
    return bytes(payload)


def _of(sequence: int) -> str:
    return json.dumps({"charge": sequence})


def store_result(
    writer: Writer, ledger: str, analyst: str, sequence: int, payload: bytes
) -> tuple[bytes, Head]:
    """Keep what a charge is about to release, unless another process did so first."""
    charged, last = writer.run((CHARGE_OF_SEQUENCE, {"sequence": sequence}), (LAST, {}))
    if not charged:
        raise LedgerError(
            f"There is no charge under entry {sequence}, so there is nothing that may be released."
        )
    head = head_from(last, ledger)
    stored = _stored(writer.run, sequence)
    if stored is not None:
        return stored, head
    account, key = charged[0]
    step, head = append(
        head,
        kind=RESULT,
        account=account,
        analyst=analyst,
        key=key,
        digest=digest_of(payload),
        event=_of(sequence),
    )
    writer.finish((STORE, {"sequence": sequence, "payload": payload}), step)
    return payload, head
