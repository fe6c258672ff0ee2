"""A copy of a ledger is verified offline: a backup, or the journal that was exported."""

from __future__ import annotations

import itertools
import json
import shutil
import sqlite3
from pathlib import Path

import pytest
from tests.unit.ledger.charges import charge

from headcount.errors import LedgerError, UsageError
from headcount.ledger.copies import verify_copy
from headcount.ledger.journal import FIELDS, HASHED, hash_of
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A ledger with three charges and a result."""
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_account("web", Budget(rho=1, delta=1e-6))
    for key in ("a", "b", "c"):
        sequence = charge(ledger, key).sequence
    ledger.store_result(sequence, b"rows")
    return ledger


def backup(ledger: Ledger, to: Path) -> Path:
    source, target = sqlite3.connect(ledger.address), sqlite3.connect(to)
    source.backup(target)
    source.close()
    target.close()
    return to


def exported(ledger: Ledger, to: Path) -> Path:
    to.write_text("".join(json.dumps(entry) + "\n" for entry in ledger.journal()), encoding="utf-8")
    return to


def test_an_old_backup_is_in_order_and_moves_no_head(ledger: Ledger, tmp_path: Path) -> None:
    old = backup(ledger, tmp_path / "backup.db")
    charge(ledger, "d")
    (tmp_path / "vault").mkdir()
    kept = Path(shutil.copy(old, tmp_path / "vault" / "old.db"))
    before = kept.read_bytes()
    history = verify_copy(kept)
    assert (history.head.sequence, history.n_charges, history.read_results) == (5, 3, True)
    assert kept.read_bytes() == before
    assert [path.name for path in kept.parent.iterdir()] == ["old.db"]
    charge(ledger, "e")
    assert ledger.verify().head.sequence == 7


def test_the_exported_journal_is_enough_for_entries_sums_and_costs(
    ledger: Ledger, tmp_path: Path
) -> None:
    history = verify_copy(exported(ledger, tmp_path / "journal.jsonl"))
    whole = ledger.verify()
    assert (history.head.sequence, history.head.hash) == (whole.head.sequence, whole.head.hash)
    assert (history.accounts, history.results) == (whole.accounts, whole.results)
    assert not history.read_results


def forged(journal: Path, **changes: object) -> None:
    """Change entry 3, and make every hash from there on fit."""
    rows = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    rows[2] |= changes
    for before, row in itertools.pairwise(rows):
        row["previous"] = before["hash"]
        row["hash"] = hash_of([row[name] for name in HASHED])
    assert list(rows[0]) == list(FIELDS)
    journal.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_a_charge_below_its_cost_is_named_however_well_it_is_chained(
    ledger: Ledger, tmp_path: Path
) -> None:
    journal = exported(ledger, tmp_path / "journal.jsonl")
    forged(journal, analyst="bob")
    verify_copy(journal)
    forged(journal, rho=0)
    with pytest.raises(LedgerError, match="entry 3 was charged less than what its event costs"):
        verify_copy(journal)
    forged(journal, rho=10**12, event='{"kind": "magic"}')
    with pytest.raises(LedgerError, match="entry 3 cannot be paid for"):
        verify_copy(journal)
    forged(journal, event='{"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "0"}')
    with pytest.raises(LedgerError, match=r"entry 3 cannot be paid for: .* no version wrote"):
        verify_copy(journal)


@pytest.mark.parametrize("claimed", ["1/1000000", "1/2"])
def test_what_a_sample_claims_is_certified_again(tmp_path: Path, claimed: str) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.open_account("web", Budget(rho=1, delta=1e-6))
    journal = exported(ledger, tmp_path / "journal.jsonl")
    record = {"kind": "sample-threshold", "rate": "1/10", "threshold": "20", "n_samples": "1"}
    row = ledger.journal()[0] | {
        "sequence": 2,
        "kind": "charge",
        "key": "k",
        "event": json.dumps(record | {"rho": claimed, "delta": "1/10000000"}),
        "rho": 5 * 10**11,
        "delta": 10**11,
        "previous": ledger.journal()[0]["hash"],
    }
    row["hash"] = hash_of([row[name] for name in HASHED])
    with journal.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    if claimed == "1/2":
        assert verify_copy(journal).n_charges == 1
    else:
        with pytest.raises(LedgerError, match="entry 2 was charged less"):
            verify_copy(journal)


@pytest.mark.parametrize("text", ["", "{}\n", "not json\n", '{"sequence": 1}\n', "[" * 10_000])
def test_what_is_no_copy_is_refused_with_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "other").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError):
        verify_copy(tmp_path / "other")
    with pytest.raises(UsageError, match="cannot be read"):
        verify_copy(tmp_path / "absent")


def test_a_damaged_backup_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    copy = backup(ledger, tmp_path / "backup.db")
    copy.write_bytes(copy.read_bytes()[:5000])
    with pytest.raises(LedgerError, match=r"backup\.db"):
        verify_copy(copy)
