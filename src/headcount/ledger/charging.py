"""The writes of a release: the charge before data is read, what it shows before it is shown.

Order of a charge, the same for everyone: take a turn; look for the entry that was seen last; open
the account if this is its first; see whether key and question are new; take from the account and
from the analyst's quota if they can pay; add the entry; commit.
"""

from __future__ import annotations

from headcount.errors import BudgetError, LedgerError
from headcount.ledger.account import Charge, quota_refusal, refusal
from headcount.ledger.asking import (
    COVERED,
    NO_ACCOUNT,
    QUOTA_REFUSES,
    Ask,
    Outcome,
    find,
)
from headcount.ledger.journal import LAST, Head, head_from
from headcount.ledger.opening import ADD_ACCOUNT, opening_steps, taken
from headcount.ledger.reading import ACCOUNT, COVERING, QUOTA_OF, account_from, quota_from
from headcount.ledger.stores import functions, statements
from headcount.ledger.stores.store import Writer


def charge(writer: Writer, ledger: str, ask: Ask) -> tuple[Charge, Head]:
    """Charge, or find the charge made before under the same key or for the same question [O1]."""
    by_functions = writer.store.has_functions
    opening, is_first = ask.opening, False
    if opening.budget is not None or (opening.covers and not by_functions):
        # In the same transaction: an account is opened by a charge, and by nothing that fails.
        before = find(writer.run, ask.names, ask.request_hash)
        _, head, steps = opening_steps(
            writer,
            ledger,
            ask.analyst,
            ask.account.name,
            opening.budget,
            opening.account.neighbours,
            opening.covers,
        )
        if before is not None:
            # What is read again under an old charge is covered from now on.
            writer.finish(*steps)
            return before, head
        is_first = any(statement is ADD_ACCOUNT for statement, _ in steps)
        writer.run(*steps)
    make = functions.charge if by_functions else statements.charge
    outcome = make(writer, ledger, ask)
    if outcome.head is None:
        return _known_or_refused(writer, ledger, ask, outcome)
    charge = Charge(outcome.head.sequence, True, ask.key, outcome.at, None, opened_account=is_first)
    return charge, outcome.head


def _known_or_refused(
    writer: Writer, ledger: str, ask: Ask, outcome: Outcome
) -> tuple[Charge, Head]:
    """What was charged before is found again also when nothing is left to spend."""
    known = find(writer.run, ask.names, ask.request_hash)
    if known is None:
        raise _refused(writer, ask, outcome.status)
    (last,) = writer.run((LAST, {}))
    return known, head_from(last, ledger)


def _refused(writer: Writer, ask: Ask, status: str) -> LedgerError | BudgetError:
    name = ask.account.name
    account, quota = writer.run(
        (ACCOUNT, {"name": name}), (QUOTA_OF, {"account": name, "analyst": ask.analyst})
    )
    if status == COVERED:
        for source in ask.opening.covers:
            (found,) = writer.run((COVERING, {"source": source}))
            if found and found[0][0] != name:
                return LedgerError(taken(source, found[0][0]))
    if status == NO_ACCOUNT or not account:
        return LedgerError(
            f"The account {name!r} is not in the ledger any more. Nothing was charged. Open the "
            "dataset again."
        )
    if status == QUOTA_REFUSES:
        mine = quota_from(quota[0]) if quota else None
        return BudgetError(quota_refusal(ask.account, ask.analyst, mine, ask.spend))
    return BudgetError(refusal(account_from(account[0]), ask.spend))


def store_result(
    writer: Writer, ledger: str, analyst: str, sequence: int, payload: bytes
) -> tuple[bytes, Head]:
    """Keep what a charge is about to release, unless another process did so first."""
    store = functions.store if writer.store.has_functions else statements.store
    return store(writer, ledger, analyst, sequence, payload)


def store_part(
    writer: Writer, ledger: str, analyst: str, sequence: int, part: int, payload: bytes
) -> tuple[bytes, Head]:
    """Keep what one round of a charge is about to show, unless another process did so first."""
    store = functions.store_part if writer.store.has_functions else statements.store_part
    return store(writer, ledger, analyst, sequence, part, payload)
