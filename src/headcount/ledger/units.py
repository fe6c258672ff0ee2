"""Costs in whole units, as every store counts them."""

from __future__ import annotations

from headcount.accounting.convert import DELTA_UNIT, RHO_UNIT
from headcount.privacy.spend import Zcdp

LARGEST = 2**63 - 1
NO_LIMIT = LARGEST, 10**18 - 1
"""What an account has that only counts: as much rho as a database holds, and a delta below 1."""


def units_up(spend: Zcdp) -> tuple[int, int]:
    """A cost in whole ledger units, rounded up."""
    return -(-spend.rho // RHO_UNIT), -(-spend.delta // DELTA_UNIT)


def from_units(rho: int, delta: int) -> Zcdp:
    """Whole ledger units as a cost."""
    return Zcdp(rho * RHO_UNIT, delta * DELTA_UNIT)
