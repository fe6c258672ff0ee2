"""A receipt beside the journal that its ledger's owner exported: what one entry cannot show.

The journal is checked from its first entry on, every hash, sum and cost; then the receipt's entries
must be in it, and the charges before its own must add up to what it says was spent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headcount.ledger.account import from_units
from headcount.ledger.copies import rows_in, verify_copy
from headcount.ledger.journal import CHARGE, start
from headcount.receipts.claims import spelled_units


def journal_faults(body: Mapping[str, Any], path: Path) -> Iterator[str]:
    """What the journal contradicts in a receipt; a journal that is damaged itself is refused."""
    verify_copy(path)
    chain, said = body["chain"], body["account"]["spent"]
    entry = chain["entry"]
    hashes: dict[int, str] = {}
    rho = delta = 0
    for row in rows_in(path):
        hashes[row.sequence] = row.hash
        is_before = row.sequence <= entry["sequence"]
        if row.kind == CHARGE and row.account == entry["account"] and is_before:
            rho, delta = rho + row.rho, delta + row.delta
        if row.sequence == 1 and row.previous != start(chain["ledger"]).hash:
            yield "The journal is of another ledger than chain.ledger says."
    for name in ("opened", *(["windows"] if "windows" in chain else []), "entry", "head"):
        found = hashes.get(chain[name]["sequence"])
        if found is None:
            yield f"The journal ends before entry {chain[name]['sequence']}, which is chain.{name}."
        elif found != chain[name]["hash"]:
            yield f"Entry {chain[name]['sequence']} of the journal is another than chain.{name}."
    made = spelled_units(from_units(rho, delta))
    if {name: said[name] for name in made} != made:
        yield (
            f"account.spent is rho {said['rho']} and delta {said['delta']}, and the charges in the "
            f"journal up to this entry add up to rho {made['rho']} and delta {made['delta']}."
        )
