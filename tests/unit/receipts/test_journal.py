"""A receipt beside the exported journal: charges before it add up, and its entries are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.receipts.conftest import Made

import headcount as hc
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget


@pytest.fixture
def journal(made: Made, tmp_path: Path) -> Path:
    path = tmp_path / "journal.jsonl"
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in made.data.ledger.journal()))
    return path


def test_both_receipts_are_in_the_journal(made: Made, journal: Path, tmp_path: Path) -> None:
    for release in (made.release, made.other):
        verified = hc.verify(release.receipt(tmp_path / "receipt.json"), journal=journal)
        assert "as the journal has it" in str(verified)


def test_a_sum_that_leaves_a_charge_out_is_named(made: Made, journal: Path, tmp_path: Path) -> None:
    """Signed anew by whoever has the key, nothing in the receipt contradicts it."""
    body = json.loads(made.other.receipt())
    body["account"]["spent"]["rho"] = body["cost"]["rho"]
    body["account"]["spent"]["epsilon"] = json.loads(made.release.receipt())["account"]["spent"][
        "epsilon"
    ]
    (tmp_path / "receipt.json").write_bytes(made.signed(body))
    hc.verify(tmp_path / "receipt.json", public_key=made.key.public)
    with pytest.raises(hc.LedgerError, match="journal up to this entry add up to"):
        hc.verify(tmp_path / "receipt.json", journal=journal)


def test_a_journal_that_is_older_or_changed_or_of_another_ledger(
    made: Made, journal: Path, tmp_path: Path
) -> None:
    receipt = made.other.receipt(tmp_path / "receipt.json")
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[:4]))
    with pytest.raises(hc.LedgerError, match="The journal ends before entry"):
        hc.verify(receipt, journal=journal)
    journal.write_text("".join(lines).replace("place", "plaza"))
    with pytest.raises(hc.LedgerError, match="was changed after it was written"):
        hc.verify(receipt, journal=journal)
    other = Ledger(tmp_path / "other.db")
    other.open_account("web", Budget(epsilon=1))
    journal.write_text("".join(f"{json.dumps(entry)}\n" for entry in other.journal()))
    with pytest.raises(hc.LedgerError, match="of another ledger"):
        hc.verify(receipt, journal=journal)
    with pytest.raises(hc.UsageError, match="cannot be read"):
        hc.verify(receipt, journal=tmp_path / "gone.jsonl")
