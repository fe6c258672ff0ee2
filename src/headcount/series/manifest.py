"""``manifest.jsonl``: one line for each release of a series, drawn from the ledger alone.

It is written anew whenever it is not what the ledger says. Where it lists what a ledger does not
have, that ledger is another one, and would pay for every window once more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.errors import LedgerError
from headcount.screens import quoted
from headcount.series.files import write_atomically
from headcount.series.paid import Named, Paid

if TYPE_CHECKING:
    from headcount.ledger.ledger import Ledger


def check_known(path: Path, ledger: Ledger, paid: Mapping[Named, list[Paid]]) -> None:
    """Refuse a ledger that does not have what was released before."""
    there = {(one.entry, one.hash) for several in paid.values() for one in several}
    for line in _read(path):
        if (line.get("entry"), line.get("hash")) not in there:
            raise LedgerError(
                f"{quoted(path)} lists {line.get('release')}/{line.get('window')}, paid by entry "
                f"{line.get('entry')}, and the ledger {ledger.address!r} has no such entry. It is "
                "another ledger, or an older copy: this one would pay for all windows again. "
                "Nothing was charged. Name the ledger that paid: ledger: in the file, or "
                "HEADCOUNT_LEDGER. If it is gone for good, so is what it promised: move the "
                "published files away before you begin again."
            )


def _read(path: Path) -> list[dict[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        found = [json.loads(line) for line in lines if line]
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        found = [None]
    if not all(isinstance(one, dict) for one in found):
        raise LedgerError(
            f"{quoted(path)} cannot be read, or is not what headcount wrote there. Nothing was "
            "charged. Move it away: it is written again from the ledger."
        )
    return found


def write_manifest(path: Path, paid: Iterable[Paid]) -> bool:
    """Write the list of all that is stored, where it is not there already."""
    listed = sorted((one for one in paid if one.result is not None), key=lambda one: one.entry)
    text = "".join(f"{json.dumps(_line(one))}\n" for one in listed)
    if not text or (path.exists() and path.read_text(encoding="utf-8") == text):
        return False
    write_atomically(path, text.encode())
    return True


def _line(one: Paid) -> dict[str, Any]:
    return {
        "release": one.release,
        "window": str(one.window),
        "last": str(one.window.last),
        "revision": one.revision,
        "entry": one.entry,
        "hash": one.hash,
        "result": one.result,
        "rho": str(float(one.spend.rho)),
        "delta": str(float(one.spend.delta)),
        "noise": one.noise,
    }
