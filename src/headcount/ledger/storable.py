"""Names, keys and costs in the form that every store keeps without change."""

from __future__ import annotations

from headcount.errors import UsageError
from headcount.ledger.units import LARGEST as LARGEST
from headcount.ledger.units import units_up
from headcount.privacy.spend import Zcdp

LONGEST = 2000


def storable(text: str, what: str) -> str:
    """A text that both databases give back to the byte; what they would not, is refused."""
    try:
        text.encode()
    except UnicodeEncodeError:
        good = False
    else:
        good = 0 < len(text) <= LONGEST and "\x00" not in text
    if not good:
        raise UsageError(
            f"{what} must be a text of 1 to {LONGEST} characters without a zero character. "
            "Nothing was charged."
        )
    return text


def limit_units(limit: Zcdp, what: str) -> tuple[int, int]:
    """A limit in whole units, as long as a database can count them."""
    rho, delta = units_up(limit)
    if rho >= LARGEST:
        raise UsageError(f"{what} is too large to mean anything; rho must be below 9e6.")
    return rho, delta
