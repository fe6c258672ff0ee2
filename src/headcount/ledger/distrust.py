"""Why a ledger is not used, what that means, and what to do about it: the words for it."""

from __future__ import annotations

from headcount.errors import LedgerError

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
