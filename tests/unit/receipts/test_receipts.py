"""Receipts of whatever a ledger can hold, and the key that signs them."""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
import shutil
import stat
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.receipts.conftest import Made

import headcount as hc
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
from headcount.privacy.event import SampleThreshold
from headcount.privacy.neighbours import Neighbours
from headcount.receipts.make import receipt_of
from headcount.receipts.rows import rows_record
from headcount.releases.stored import stored_release
from headcount.results.facts import Facts
from headcount.results.release import Release

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "tests" / "service" / "samples"


def test_the_key_is_made_once_and_is_its_users_alone(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db", heads=tmp_path / "heads")
    ledger.open_account("web", Budget(epsilon=1))
    public = ledger.signing_key().public
    (path,) = (tmp_path / "heads").glob("*.key")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = Ledger(tmp_path / "ledger.db", heads=tmp_path / "heads")
    assert again.signing_key().public == public
    path.chmod(0o640)
    with pytest.raises(hc.LedgerError, match="chmod 600"):
        ledger.signing_key()
    path.chmod(0o600)
    for content in (b"", b"short", bytes(32), b"x" * 33):
        path.write_bytes(content)
        with pytest.raises(hc.LedgerError, match="damaged"):
            ledger.signing_key()
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_bytes(b"k" * 32)
    with pytest.raises(hc.LedgerError, match="Nothing was signed"):
        ledger.signing_key()


def test_a_look_at_the_key_makes_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(hc.LedgerError, match="There is no ledger"):
        Ledger(tmp_path / "ledger.db", heads=tmp_path / "heads").signing_key()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))]
)
def test_a_copy_keeps_its_rows_and_cannot_sign(made: Made, duplicate: object) -> None:
    twin = duplicate(made.release)  # type: ignore[operator]
    assert twin.to_arrow().equals(made.release.to_arrow())
    with pytest.raises(hc.UsageError, match=f"headcount receipt {made.release.key}"):
        twin.receipt()


def test_a_stream_has_no_ledger_to_sign_for_it() -> None:
    stream = hc.Stream(groups=["a"], epsilon=1)
    with pytest.raises(hc.UsageError, match="Nothing was signed"):
        stream.finish().receipt()


def test_a_place_that_cannot_be_written_is_refused(made: Made, tmp_path: Path) -> None:
    with pytest.raises(hc.UsageError, match=r"\.json"):
        made.release.receipt(tmp_path / "receipt.txt")
    with pytest.raises(hc.UsageError, match="folder"):
        made.release.receipt(tmp_path / "gone" / "receipt.json")


def test_what_was_spent_is_what_was_spent_then(made: Made) -> None:
    """Later charges are not in it, and the newest entry is."""
    first, second = json.loads(made.release.receipt()), json.loads(made.other.receipt())
    assert first["account"]["spent"]["rho"] == first["cost"]["rho"]
    total = Fraction(first["cost"]["rho"]) + Fraction(second["cost"]["rho"])
    assert Fraction(second["account"]["spent"]["rho"]) == total
    assert made.data.account.spent.rho == total
    assert first["chain"]["head"] == second["chain"]["head"]
    assert second["chain"]["head"]["hash"] == second["chain"]["entry"]["hash"]


def test_nothing_says_when_the_result_was_stored(made: Made) -> None:
    text = made.release.receipt() + made.other.receipt()
    results = [entry for entry in made.data.ledger.journal() if entry["kind"] == "result"]
    assert len(results) == 2
    assert results[-1]["hash"] not in text
    assert results[0]["digest"] not in text


def test_rows_that_were_withheld_have_a_digest_of_their_own(tmp_path: Path) -> None:
    rows = [(f"u{i}", f"p{j:02}") for i in range(600) for j in range(80) if j < 5 or i < 3]
    user, place = zip(*rows, strict=True)
    pq.write_table(pa.table({"user": user, "place": place}), tmp_path / "t.parquet")
    data = hc.open(
        tmp_path / "t.parquet",
        user="user",
        budget=hc.Budget(epsilon=20),
        ledger=tmp_path / "ledger.db",
    )
    listed = [f"p{j:02}" for j in range(80)]
    plan = data.count_users("place", groups=listed, within=0.2, spend=hc.Budget(epsilon=20))
    release = plan.release()
    assert release.withheld is not None
    receipt = release.receipt(tmp_path / "receipt.json")
    pq.write_table(release.withheld, tmp_path / "withheld.parquet")
    assert "measured and withheld" in hc.verify(receipt, tmp_path / "withheld.parquet").rows
    assert "as they were released" in hc.verify(receipt, release.write(tmp_path / "r.csv")).rows


def test_a_round_of_several_has_a_receipt(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    book.open_account("phones", Budget(rho=10, delta=1e-6), Neighbours.REPLACE, ["fleet:phones"])
    event = SampleThreshold(
        Fraction(1, 16), Fraction(12), Fraction(3), Fraction(1, 2), Fraction(1, 10**8)
    )
    paid = book.charge(
        book.opening("phones"),
        key="k",
        request_hash="k",
        verb="fleet",
        event=event,
        neighbours=Neighbours.REPLACE,
        about={"task": "top_app", "population": "phones"},
    ).sequence
    facts = Facts("fleet", "", "", "1/2", "0", "", "", 0.95, "phones", paid, hc.__version__)
    for part in (0, 2):
        book.store_part(paid, part, Release(pa.table({"count": [part]}), facts).to_bytes())
    with pytest.raises(hc.UsageError, match="released nothing yet"):
        receipt_of(book, paid, 1)
    release = stored_release(book, "k", part=2)
    assert isinstance(release, hc.Release)
    receipt = release.receipt(tmp_path / "receipt.json")
    said = hc.verify(receipt, release.write(tmp_path / "rows.parquet"))
    assert "one device of 'phones'" in str(said)


def test_a_charge_that_has_shown_nothing_has_no_receipt(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    book.open_account("web", Budget(epsilon=1))
    for sequence in (0, 1, 9):
        with pytest.raises(hc.UsageError, match="nothing to sign"):
            receipt_of(book, sequence)


@pytest.mark.parametrize("version", sorted(p.name for p in SAMPLES.iterdir() if p.is_dir()))
def test_what_earlier_versions_charged_verifies(tmp_path: Path, version: str) -> None:
    """Their results are no releases; their entries are what costs are worked out from."""
    (sample,) = (SAMPLES / version).glob("*.db")
    shutil.copy(sample, tmp_path / "ledger.db")
    book = Ledger(tmp_path / "ledger.db", heads=tmp_path / "heads")
    facts = Facts("v", "", "", "1", "0", "", "", 0.95, "a", 1, version)
    payload = Release(pa.table({"count": [1]}), facts).to_bytes()
    charges = [
        entry
        for account in book.accounts()
        for entry in book.entries(account.name)
        if not entry.has_result and not entry.n_parts
    ]
    for entry in charges:
        book.store_result(entry.sequence, payload)
        (tmp_path / "receipt.json").write_text(receipt_of(book, entry.sequence))
        hc.verify(tmp_path / "receipt.json")
    assert charges


def test_the_digest_is_the_one_that_is_written_down() -> None:
    """By hand, from the words at the top of the module."""
    table = pa.table(
        {
            "é": ["=x", None],
            "n": pa.array([1, None], pa.int32()),
            "x": [0.5, -0.0],
            "b": [True, None],
            "d": [date(2026, 1, 31), None],
            "t": pa.array([datetime(1970, 1, 1, 0, 0, 1), None], pa.timestamp("ms")),
        }
    )
    columns = r'[["\u00e9", "text"], ["n", "integer"], ["x", "real"], ["b", "boolean"], '
    columns += r'["d", "date"], ["t", "time"]]'
    first = f"headcount rows 1\n{columns}\n"
    one = '["=x", 1, "3fe0000000000000", true, "2026-01-31", 1000000]\n'
    two = '[null, null, "0000000000000000", null, null, null]\n'
    record = rows_record(table)
    assert record["digest"] == hashlib.sha256((first + one + two).encode()).hexdigest()
    assert record["digest_of_sorted"] == record["digest"]
    turned = rows_record(table.take([1, 0]))
    assert turned["digest"] == hashlib.sha256((first + two + one).encode()).hexdigest()
    assert turned["digest_of_sorted"] == record["digest"]


def test_rows_are_the_same_after_a_round_trip(made: Made, tmp_path: Path) -> None:
    receipt = made.release.receipt(tmp_path / "receipt.json")
    pandas, polars = tmp_path / "pandas.parquet", tmp_path / "polars.parquet"
    made.release.to_pandas().to_parquet(pandas)
    made.release.to_polars().write_parquet(polars)
    for path in (pandas, polars):
        assert "as they were released" in hc.verify(receipt, path).rows


@pytest.mark.parametrize("wrong", [None, 7, "", "\x00", b"x"])
def test_odd_arguments_are_refused(made: Made, tmp_path: Path, wrong: object) -> None:
    receipt = made.release.receipt(tmp_path / "receipt.json")
    with pytest.raises(hc.UsageError):
        hc.verify(wrong)  # type: ignore[arg-type]
    for argument in ("rows", "public_key") if wrong is not None else ():
        with pytest.raises(hc.UsageError):
            hc.verify(receipt, **{argument: wrong})  # type: ignore[arg-type]


def test_files_that_are_not_there_or_end_otherwise(made: Made, tmp_path: Path) -> None:
    receipt = made.release.receipt(tmp_path / "receipt.json")
    for rows in (tmp_path / "gone.csv", tmp_path / "rows.xlsx", tmp_path):
        with pytest.raises(hc.UsageError):
            hc.verify(receipt, rows)
    for path in (tmp_path / "gone.json", tmp_path):
        with pytest.raises(hc.UsageError, match="cannot be read"):
            hc.verify(path)


def test_a_key_is_taken_from_a_file(made: Made, tmp_path: Path) -> None:
    receipt = made.release.receipt(tmp_path / "receipt.json")
    (tmp_path / "owner.pub").write_text(f"{made.key.public}\n")
    assert hc.verify(receipt, public_key=tmp_path / "owner.pub").is_pinned
    assert not hc.verify(receipt).is_pinned
    with pytest.raises(hc.UsageError, match="ed25519:"):
        hc.verify(receipt, public_key=receipt)
