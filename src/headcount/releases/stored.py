"""What was released before, read back from the ledger alone: no source, no charge."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headcount.errors import UsageError
from headcount.ledger.journal import CHARGE
from headcount.privacy.argument import NOTHING
from headcount.releases.signing import Signer
from headcount.results.facts import WITHHELD
from headcount.results.release import Release
from headcount.results.wide import WideRelease, is_wide
from headcount.screens import quoted

if TYPE_CHECKING:
    from headcount.ledger.account import Charge
    from headcount.ledger.ledger import Ledger


def stored_release(
    book: Ledger, start: str | None, account: str | None = None, part: int | None = None
) -> Release | WideRelease:
    """The release of an entry, by its number or by how its key begins, in one account or in all.

    Without either it is the newest one.
    part: the round, where the charge pays for several
    """
    if account is not None:
        book.account(account)
    charges = [
        entry
        for entry in book.journal()
        if entry["kind"] == CHARGE and account in (None, entry["account"])
    ]
    if start is None:
        start = _newest(charges)
    found = (
        [entry for entry in charges if entry["key"] == start]
        or [entry for entry in charges if str(entry["sequence"]) == start]
        or [entry for entry in charges if entry["key"].startswith(start)]
    )
    if len(found) != 1:
        raise UsageError(_which(start, account, {entry["account"] for entry in found}))
    (entry,) = found
    # By key and question, which is how a result is found with its hash checked.
    charge = book.known(entry["account"], entry["digest"], key=entry["key"], fresh=True)
    if charge is not None and (part is not None or book.stored_parts(charge.sequence)):
        return _of_round(book, charge, part)
    if charge is None or charge.result is None:
        raise UsageError(
            f"Entry {entry['sequence']} of account {entry['account']!r} was charged and has no "
            "rows yet. Give the command that asked for it again: it is finished without a second "
            "charge."
        )
    signer = Signer(book, charge.sequence)
    kind = WideRelease if is_wide(charge.result) else Release
    return kind.from_bytes(charge.result, key=charge.key, again=charge.named, signer=signer)


def _newest(charges: list[dict[str, Any]]) -> str:
    if not charges:
        raise UsageError(f"Nothing was released from this ledger so far. {NOTHING}")
    return str(max(entry["sequence"] for entry in charges))


def of_withheld(release: Release | WideRelease) -> Release:
    """The rows that a target withheld, as a release of their own: they are paid for too."""
    if isinstance(release, WideRelease) or release.withheld is None:
        raise UsageError("No row of this release was withheld: all that were measured are in it.")
    notes = tuple(note for note in release.facts.notes if WITHHELD not in note)
    other = type(release)(release.withheld, replace(release.facts, notes=notes))
    other.key, other.again = release.key, release.again
    return other


def _of_round(book: Ledger, charge: Charge, part: int | None) -> Release:
    found = None if part is None else book.stored_part(charge.sequence, part)
    if found is None:
        shown = ", ".join(map(str, book.stored_parts(charge.sequence))) or "none so far"
        missing = "says no round" if part is None else f"has shown nothing in round {part}"
        raise UsageError(
            f"Entry {charge.sequence} pays for several rounds and {missing}. Rounds that were "
            f"shown: {shown}. Write --part and one of them. {NOTHING}"
        )
    signer = Signer(book, charge.sequence, part)
    return Release.from_bytes(found, key=charge.key, again=charge.named, signer=signer)


def _which(start: str, account: str | None, accounts: set[str]) -> str:
    where = "the ledger" if account is None else f"account {quoted(account)}"
    if not accounts:
        found, how = "No key begins", ""
    else:
        found, how = "More than one key begins", " Give more letters of it."
        if len(accounts) > 1:
            how = f" Give more letters, or one of the accounts: {', '.join(sorted(accounts))}."
    return f"{found} with {start!r} in {where}. {NOTHING}{how} See the keys: headcount ledger show"
