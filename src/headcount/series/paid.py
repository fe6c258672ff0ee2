"""What a ledger has of a series: every window that was charged, by its key.

A key is the release and the first day of the window, ``pages/2026-03-01``; a revision adds its
number, ``pages/2026-03-01/2``. It holds nothing of what was asked, so that a file that is edited
finds what was released before and never pays for it again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

from headcount.errors import LedgerError
from headcount.ledger.journal import CHARGE, RESULT
from headcount.ledger.units import from_units
from headcount.privacy.spend import Zcdp
from headcount.privacy.windows import begins
from headcount.releases.signing import Signer
from headcount.results.release import Release
from headcount.series.calendar import Window

if TYPE_CHECKING:
    from headcount.ledger.ledger import Ledger

KEY = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,62})/(\d{4}-\d\d-\d\d)(?:/([2-9]|[1-9]\d{1,5}))?")


def key_of(release: str, first: date, revision: int = 1) -> str:
    """The key that a window of a release is charged under."""
    return f"{release}/{first}" if revision == 1 else f"{release}/{first}/{revision}"


@dataclass(frozen=True, slots=True)
class Paid:
    """One charge of a series, and what is stored for it, if anything."""

    key: str
    release: str
    revision: int
    window: Window
    entry: int
    hash: str
    question: str
    spend: Zcdp
    """What each of its windows paid."""
    noise: Mapping[str, Any]
    """The mechanism and its parameters."""
    result: str | None
    """The digest of what is stored."""


Named = tuple[str, date]
"""A release and the first day of a window."""


def paid_of(ledger: Ledger, account: str, unit: str) -> dict[Named, list[Paid]]:
    """All charges of a series, by release and window; revisions in their turn."""
    journal = ledger.journal()
    results = {
        entry["key"]: entry["digest"]
        for entry in journal
        if entry["kind"] == RESULT and entry["account"] == account
    }
    found: dict[Named, list[Paid]] = {}
    for entry in journal:
        if entry["kind"] == CHARGE and entry["account"] == account:
            named, event = KEY.fullmatch(entry["key"]), json.loads(entry["event"])
            if named is not None and event.get("kind") == "windowed":
                one = _paid(entry, named, event, unit, results)
                found.setdefault((one.release, date.fromisoformat(named[2])), []).append(one)
    for several in found.values():
        several.sort(key=lambda one: one.revision)
    return found


def _paid(
    entry: dict[str, Any], named: re.Match[str], event: dict[str, Any], unit: str, results: Any
) -> Paid:
    first = begins(int(event["first"]), unit).date()
    last = begins(int(event["last"]) + 1, unit).date() - timedelta(days=1)
    times = int(event["times"])
    return Paid(
        key=entry["key"],
        release=named[1],
        revision=int(named[3] or 1),
        window=Window(first, last),
        entry=entry["sequence"],
        hash=entry["hash"],
        question=entry["digest"],
        spend=from_units(entry["rho"] // times, entry["delta"] // times),
        noise=event["event"],
        result=results.get(entry["key"]),
    )


def stored(ledger: Ledger, account: str, paid: Paid) -> Release:
    """What was released for a charge: the same rows whenever they are asked for."""
    found = ledger.known(account, paid.question, key=paid.key, fresh=True)
    if found is None or found.result is None:
        raise LedgerError(
            f"The rows of {paid.key}, entry {paid.entry}, are not in the ledger {ledger.address!r} "
            "any more. Nothing was charged. Check it: headcount ledger verify"
        )
    signer = Signer(ledger, found.sequence)
    return Release.from_bytes(found.result, key=found.key, again=found.named, signer=signer)
