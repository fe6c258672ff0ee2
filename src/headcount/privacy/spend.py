"""What a release costs, in exact numbers.

The ledger adds up ``Zcdp``: delta-approximate rho-zCDP. People write epsilon and delta;
``accounting.convert`` goes between them, always to the safe side.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from headcount.errors import UsageError
from headcount.privacy.exact import Number, exact


def read_delta(value: Number) -> Fraction:
    """Read a delta: at least 0 and below 1."""
    delta = exact(value, "delta")
    if not 0 <= delta < 1:
        raise UsageError(f"delta must be at least 0 and below 1, not {value}.")
    return delta


def require_delta(spend: Zcdp) -> None:
    """Refuse to look for groups without a delta: finding one may always show a single user."""
    if spend.delta <= 0:
        raise UsageError(
            "Groups that are found in the data need a delta greater than 0. Raise delta, or "
            "name the groups: groups=[...]."
        )


@dataclass(frozen=True, slots=True)
class Zcdp:
    """Delta-approximate rho-zCDP: the currency of the ledger. Costs add up exactly."""

    rho: Fraction
    delta: Fraction

    def __init__(self, rho: Number, delta: Number = 0) -> None:
        number = exact(rho, "rho")
        if number < 0:
            raise UsageError(f"rho must be at least 0, not {rho}.")
        object.__setattr__(self, "rho", number)
        object.__setattr__(self, "delta", read_delta(delta))

    def __add__(self, other: Zcdp) -> Zcdp:
        return Zcdp(self.rho + other.rho, self.delta + other.delta)

    def __le__(self, other: Zcdp) -> bool:
        return self.rho <= other.rho and self.delta <= other.delta
