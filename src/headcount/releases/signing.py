"""What a release is handed to sign its receipt with: the ledger and the entry that paid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.releases.owned import Owned

if TYPE_CHECKING:
    from headcount.ledger.ledger import Ledger


class Signer:
    """Signs the receipt of one entry, in the process that has the ledger open."""

    def __init__(self, ledger: Ledger, sequence: int, part: int | None = None) -> None:
        self._ledger = ledger
        self._sequence = sequence
        self._part = part
        self._owned = Owned()

    def __call__(self) -> str:
        """The receipt as JSON."""
        from headcount.receipts.make import receipt_of

        self._owned.check("Release")
        return receipt_of(self._ledger, self._sequence, self._part)
