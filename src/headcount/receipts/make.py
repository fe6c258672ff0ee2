"""A receipt, made from the ledger alone: the entry, the account then, and what was stored.

Nothing in it depends on data but the digests of rows that were released. Not the hash of the
result's own entry, which vouches for the moment at which it was stored.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from headcount.errors import UsageError
from headcount.privacy.argument import NOTHING
from headcount.receipts.claims import claims
from headcount.receipts.form import FORM, FORM_OF_WINDOWS, canonical
from headcount.receipts.rows import rows_record
from headcount.receipts.software import installed
from headcount.results.release import Release

if TYPE_CHECKING:
    from headcount.ledger.ledger import Ledger


def receipt_of(book: Ledger, sequence: int, part: int | None = None) -> str:
    """The signed receipt of what a charge released, as JSON; nothing is read or charged.

    part: the round, where the charge pays for several
    """
    stored = book.stored_result(sequence) if part is None else book.stored_part(sequence, part)
    if stored is None:
        raise UsageError(
            f"Entry {sequence} has released nothing yet, so there is nothing to sign a receipt "
            f"for. {NOTHING}"
        )
    release, proof = Release.from_bytes(stored), book.proof_of(sequence)
    withheld = None if release.withheld is None else rows_record(release.withheld)
    sequence_of_newest, hash_of_newest = proof.newest
    windows = {} if proof.windows is None else {"windows": dict(proof.windows)}
    body = {
        "form": FORM if proof.windows is None else FORM_OF_WINDOWS,
        **claims(proof.opened, proof.entry, proof.spent, proof.windows),
        "chain": {
            "ledger": proof.ledger,
            "opened": dict(proof.opened),
            **windows,
            "entry": dict(proof.entry),
            "head": {"sequence": sequence_of_newest, "hash": hash_of_newest},
        },
        "rows": rows_record(release.to_arrow()),
        "withheld": withheld,
        "software": {"drew": release.facts.version, **installed()},
    }
    key = book.signing_key()
    signature = {"key": key.public, "value": key.sign(canonical(body))}
    return f"{json.dumps({**body, 'signature': signature}, indent=2)}\n"
