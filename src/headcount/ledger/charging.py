"""The two writes of a release: the charge before data is read, the result before it is shown.

Order of a charge, the same for everyone: take a turn, claim the key, take from the account if it
can pay, take from the analyst's quota, add the entry, commit. Each step alone would refuse what
must be refused, also if a writer came past the queue: the key is a primary key, the account and
the quota are taken by a condition inside one UPDATE, and no two entries follow the same one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from headcount.errors import BudgetError, KeyReusedError, LedgerError
from headcount.ledger.account import Account, Charge, quota_refusal, refusal
from headcount.ledger.journal import (
    CHARGE,
    LAST,
    RESULT,
    Head,
    append,
    digest_of,
    head_from,
    is_kind,
)
from headcount.ledger.reading import ACCOUNT, QUOTA_OF, account_from, quota_from
from headcount.ledger.schema import accounts, entries, quotas, results
from headcount.ledger.store import Writer
from headcount.privacy.spend import Zcdp

CLAIM_KEY = sa.text(
    "INSERT INTO keys (account, key) VALUES (:account, :key) ON CONFLICT DO NOTHING RETURNING key"
)


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


TAKE = _take(accounts, accounts.c.name == sa.bindparam("account")).returning(accounts.c.has_quotas)
TAKE_FROM_QUOTA = _take(
    quotas,
    quotas.c.account == sa.bindparam("in_account"),
    quotas.c.analyst == sa.bindparam("by_analyst"),
).returning(quotas.c.analyst)
CHARGE_OF_KEY = sa.select(entries.c.sequence, entries.c.digest).where(
    is_kind(CHARGE),
    entries.c.account == sa.bindparam("account"),
    entries.c.key == sa.bindparam("key"),
)
CHARGE_OF_SEQUENCE = sa.select(entries.c.account, entries.c.key).where(
    is_kind(CHARGE), entries.c.sequence == sa.bindparam("sequence")
)
STORED = sa.select(results.c.payload).where(results.c.sequence == sa.bindparam("sequence"))
DIGEST_OF_RESULT = sa.select(entries.c.digest).where(
    is_kind(RESULT), entries.c.event == sa.bindparam("event")
)
STORE = results.insert()


@dataclass(frozen=True, slots=True)
class Ask:
    """One charge as it is asked for. The cost comes from the event's parameters alone."""

    account: Account
    analyst: str
    key: str
    request_hash: str
    verb: str
    about: Mapping[str, str]
    event: Mapping[str, Any]
    neighbours: str
    spend: Zcdp
    rho: int
    delta: int


def charge(writer: Writer, ledger: str, ask: Ask) -> tuple[Charge, Head]:
    """Charge, or find the charge made before under the same key."""
    name = ask.account.name
    cost = {"rho": ask.rho, "delta": ask.delta}
    claimed, taken, last = writer.run(
        (CLAIM_KEY, {"account": name, "key": ask.key}),
        (TAKE, {"account": name, **cost}),
        (LAST, {}),
    )
    head = head_from(last, ledger)
    if not claimed:
        return _known(writer, ask), head
    if not taken:
        (rows,) = writer.run((ACCOUNT, {"name": name}))
        raise BudgetError(refusal(account_from(rows[0]), ask.spend))
    if taken[0][0]:
        who = {"in_account": name, "by_analyst": ask.analyst}
        (taken_from_quota,) = writer.run((TAKE_FROM_QUOTA, {**who, **cost}))
        if not taken_from_quota:
            (rows,) = writer.run((QUOTA_OF, {"account": name, "analyst": ask.analyst}))
            quota = quota_from(rows[0]) if rows else None
            raise BudgetError(quota_refusal(ask.account, ask.analyst, quota, ask.spend))
    step, head = append(
        head,
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
    return Charge(head.sequence, True, None), head


def _known(writer: Writer, ask: Ask) -> Charge:
    (found,) = writer.run((CHARGE_OF_KEY, {"account": ask.account.name, "key": ask.key}))
    if not found:
        raise LedgerError(
            f"The key {ask.key!r} is taken in account {ask.account.name!r} without a charge: the "
            "ledger was changed from outside. Nothing was charged and nothing is released."
        )
    sequence, digest = found[0]
    if digest != ask.request_hash:
        raise KeyReusedError(
            f"The key {ask.key!r} was used before in account {ask.account.name!r} for a different "
            "request. Nothing was read and nothing was charged. Use a new key."
        )
    return Charge(int(sequence), False, _stored(writer, int(sequence)))


def _stored(writer: Writer, sequence: int) -> bytes | None:
    (found,) = writer.run((STORED, {"sequence": sequence}))
    if not found:
        return None
    payload = found[0][0]
    (digests,) = writer.run((DIGEST_OF_RESULT, {"event": _of(sequence)}))
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
    stored = _stored(writer, sequence)
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
