"""One charge of a hundredth, for tests of what happens around it."""

from __future__ import annotations

from fractions import Fraction

from headcount.ledger.account import Charge
from headcount.ledger.ledger import Ledger
from headcount.privacy.event import GaussianNoise
from headcount.privacy.neighbours import Neighbours


def charge(ledger: Ledger, key: str) -> Charge:
    return ledger.charge(
        ledger.opening("web"),
        key=key,
        fresh=True,
        request_hash="r",
        verb="count_users",
        event=GaussianNoise(Fraction(1), Fraction(50)),
        neighbours=Neighbours.ADD_REMOVE,
    )
