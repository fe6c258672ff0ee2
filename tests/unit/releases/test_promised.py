"""What is said of a release, for users and for devices; and a round's rows read back."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pytest

from headcount.errors import UsageError
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
from headcount.privacy.event import SampleThreshold
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.unit import Device, Unit, User
from headcount.releases.promised import facts_of, guarantee_of
from headcount.releases.session import Answer
from headcount.releases.stored import stored_release
from headcount.results.release import Release

ROUNDS = SampleThreshold(
    Fraction(1, 16), Fraction(12), Fraction(3), Fraction(1, 2), Fraction(1, 10**8)
)
ROWS = pa.table({"app": ["mail"], "count": [320.0], "low": [200], "high": [480], "sd": [69.3]})


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        (User("user_id"), "one user (a value of 'user_id') with all their rows"),
        (Device("phones"), "one device of 'phones' with all its answers in the period"),
    ],
)
def test_a_rounds_rows_say_whom_they_protect(tmp_path: Path, unit: Unit, words: str) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    account = ledger.open_account("phones", Budget(rho=10, delta=1e-6), Neighbours.REPLACE)
    paid = ledger.charge(
        ledger.opening("phones"),
        key="fleet/top_app/1",
        request_hash="q",
        verb="fleet",
        event=ROUNDS,
        neighbours=Neighbours.REPLACE,
    ).sequence
    guarantee = guarantee_of(unit, account, ROUNDS, Neighbours.REPLACE)
    answer = Answer(ROWS, "sample", "one answer a device", "coins", ())
    facts = facts_of(answer, guarantee, "fleet", account.name, paid)
    assert words in facts.guarantee
    assert f"under replacing {unit.whom} by another" in facts.guarantee
    assert Fraction(facts.rho) == Fraction(1, 2)
    ledger.store_part(paid, 1, Release(ROWS, facts).to_bytes())
    again = stored_release(ledger, "fleet", part=1)
    assert isinstance(again, Release)
    assert again.to_arrow().equals(ROWS)
    assert again.facts == facts
    for part in (None, 0):
        with pytest.raises(UsageError, match="Rounds that were shown: 1"):
            stored_release(ledger, "fleet", part=part)
