"""Names, keys and costs in the form that every store keeps without change."""

from __future__ import annotations

from headcount.errors import LedgerError, UsageError
from headcount.ledger.account import units_up
from headcount.privacy.spend import Zcdp

START_ANEW = (
    "start a new ledger under a new name (another file or database), with new accounts, for new "
    "data only"
)
NOTHING = "Nothing was charged and nothing is released."
LOST_WITH_IT = (
    "What this program wrote last may be lost with it: count it as spent. Nothing is released."
)
WHAT_TO_DO = (
    "Bring back the newest copy of the ledger. If it is lost, treat all of its budgets as spent, "
    f"and {START_ANEW}."
)
LOG_LOST = (
    "its log (the files that end in -wal and -shm) was removed or replaced while this program was "
    "using it, so nobody else sees what this program writes. An old copy was probably put back. "
    "End every program that uses the ledger, this one too, before its files are touched"
)
LONGEST = 2000
LARGEST = 2**63 - 1


def storable(text: str, what: str) -> str:
    """A text that both databases give back to the byte; what they would not, is refused."""
    try:
        text.encode()
    except UnicodeEncodeError:
        good = False
    else:
        good = 0 < len(text) <= LONGEST and "\x00" not in text
    if not good:
        raise UsageError(
            f"{what} must be a text of 1 to {LONGEST} characters without a zero character. "
            "Nothing was charged."
        )
    return text


def limit_units(limit: Zcdp, what: str) -> tuple[int, int]:
    """A limit in whole units, as long as a database can count them."""
    rho, delta = units_up(limit)
    if rho >= LARGEST:
        raise UsageError(f"{what} is too large to mean anything; rho must be below 9e6.")
    return rho, delta


def distrusted(address: object, what: str, happened: str = NOTHING) -> LedgerError:
    """Why a ledger is not used, what that means, and what to do about it."""
    return LedgerError(
        f"The ledger {str(address)!r} cannot be trusted: {what}. {happened} {WHAT_TO_DO}"
    )


def gone(sequence: int) -> str:
    """What is wrong with a ledger that lacks an entry this machine saw."""
    return (
        f"entry {sequence}, which this machine saw, is not in it any more. An old copy was put "
        "back, or a server took over that did not have it"
    )
