"""The writes of a release: the charge before data is read, what it shows before it is shown.

Order of a charge, the same for everyone: take a turn; look for the entry that was seen last; open
the account if this is its first; see whether key and question are new; take from the account,
from the analyst's quota and from every window that is named, if all of them can pay; add the entry;
commit.
"""

from __future__ import annotations

from headcount.errors import BudgetError, LedgerError, UsageError
from headcount.ledger.account import Account, Charge, from_units, quota_refusal, refusal
from headcount.ledger.asking import (
    COVERED,
    NO_ACCOUNT,
    NO_WINDOWS,
    QUOTA_REFUSES,
    WINDOW_REFUSES,
    WINDOWS_MISSING,
    Ask,
    Outcome,
    find,
)
from headcount.ledger.journal import LAST, Head, head_from
from headcount.ledger.opening import ADD_ACCOUNT, opening_steps, taken
from headcount.ledger.reading import ACCOUNT, COVERING, QUOTA_OF, account_from, quota_from
from headcount.ledger.stores import functions, statements
from headcount.ledger.stores.store import Writer
from headcount.ledger.windows import BALANCES, WindowBalance, balance_from
from headcount.ledger.windows import refusal as window_refusal
from headcount.privacy.spend import Zcdp
from headcount.screens import quoted

WORDS = {
    WINDOWS_MISSING: (
        "Account {name} has a budget for each window of time, and this release names none. "
        "Nothing was read and nothing was charged. Say which windows it is about: "
        "data.during('2026-03-01')."
    ),
    NO_WINDOWS: (
        "Account {name} has one budget for all time and no windows. Nothing was read and nothing "
        "was charged. Leave during() out, or open an account with windows for other people."
    ),
}


def charge(writer: Writer, ledger: str, ask: Ask) -> tuple[Charge, Head]:
    """Charge, or find the charge made before under the same key or for the same question [O1]."""
    by_functions = writer.store.has_functions
    opening, is_first = ask.opening, False
    opens = opening.budget is not None or opening.windows is not None
    if opens or (opening.covers and not by_functions):
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
            opening.windows,
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
        raise _refused(writer, ask, outcome)
    (last,) = writer.run((LAST, {}))
    return known, head_from(last, ledger)


def _refused(writer: Writer, ask: Ask, outcome: Outcome) -> LedgerError | BudgetError | UsageError:
    name, status = ask.account.name, outcome.status
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
    if status in (WINDOWS_MISSING, NO_WINDOWS):
        return UsageError(WORDS[status].format(name=quoted(name)))
    if status == WINDOW_REFUSES:
        return BudgetError(_window_refusal(writer, ask, account_from(account[0]), outcome))
    if status == QUOTA_REFUSES:
        mine = quota_from(quota[0]) if quota else None
        return BudgetError(quota_refusal(ask.account, ask.analyst, mine, ask.spend))
    return BudgetError(refusal(account_from(account[0]), ask.spend))


def _window_refusal(writer: Writer, ask: Ask, account: Account, outcome: Outcome) -> str:
    """The first of the windows that cannot pay, and what it has; balances are public."""
    asked, of = ask.windows, account.windows
    assert asked is not None  # noqa: S101  only a charge of windows is refused so
    assert of is not None  # noqa: S101  as above
    share = from_units(ask.rho // asked.times, ask.delta // asked.times)
    short = WindowBalance(asked.first, of.named(asked.first), of.limit, Zcdp(0))
    if share <= of.limit:
        first, last = asked.first, asked.last
        if outcome.short is not None:
            # What the others show in here is on its way back.
            first = last = outcome.short
        where = {"account": account.name, "level": of.unit, "first": first, "last": last}
        (rows,) = writer.run((BALANCES, where))
        found = (balance_from(row, of) for row in rows)
        short = next((one for one in found if not share <= one.left), short)
    return window_refusal(account.name, of, short, share)


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
