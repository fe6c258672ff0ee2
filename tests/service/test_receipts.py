"""Receipts from either store, and one key for all processes that ask for it at once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pyarrow as pa

import headcount as hc
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
from headcount.privacy.event import Event, GaussianNoise, LaplaceNoise
from headcount.privacy.neighbours import Neighbours
from headcount.receipts.make import receipt_of
from headcount.results.facts import Facts
from headcount.results.release import Release

ASK = "import sys; from headcount.ledger.ledger import Ledger; "
ASK += "print(Ledger(sys.argv[1], heads=sys.argv[2]).signing_key().public)"


def test_receipts_verify_from_each_store(new_address: Callable[[], str], tmp_path: Path) -> None:
    address = new_address()
    book = Ledger(address, heads=tmp_path / "heads")
    book.open_account("web", Budget(rho=10, delta=1e-6), Neighbours.REPLACE)
    (tmp_path / "heads").mkdir(exist_ok=True)
    asked = [
        subprocess.Popen(
            [sys.executable, "-c", ASK, address, str(tmp_path / "heads")],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    events: list[Event] = [
        GaussianNoise(Fraction(1), Fraction(50)),
        LaplaceNoise(Fraction(1), Fraction(7)),
    ]
    facts = Facts("count_users", "", "", "1", "0", "", "", 0.95, "web", 1, hc.__version__)
    payload = Release(pa.table({"count": [1, 2]}), facts).to_bytes()
    receipts = []
    for key, event in enumerate(events):
        charge = book.charge(
            book.opening("web"),
            key=str(key),
            request_hash=str(key),
            verb="count_users",
            event=event,
            neighbours=Neighbours.ADD_REMOVE,
            about={"user": "né", "where": "x = 'a\nb'"},
        )
        book.store_result(charge.sequence, payload)
        receipts.append(tmp_path / f"{key}.json")
        receipts[-1].write_text(receipt_of(book, charge.sequence))
    public = book.signing_key().public
    assert {one.communicate()[0].strip() for one in asked} == {public}
    for receipt in receipts:
        said = hc.verify(receipt, public_key=public).receipt
        assert said["account"]["neighbours"] == "replace"
    assert Fraction(said["account"]["spent"]["rho"]) == book.account("web").spent.rho
