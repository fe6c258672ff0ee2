"""How much one user may give to counts of events: a length that their vector may have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from headcount.errors import UsageError
from headcount.privacy.exact import Number, positive
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity

TOP_BITS = 24
MAX_LENGTH = 1 << 31


class Norm(StrEnum):
    """How the length of what a user gives is measured."""

    L1 = "l1"
    """The sum of a user's events over all groups."""

    L2 = "l2"
    """The root of the sum of the squares of a user's events in each group."""


@dataclass(frozen=True, slots=True)
class Length:
    """The most one user may give, as a norm: ``top`` units of ``2**-bits`` events each.

    Contributions are rounded toward zero to whole units, so the bound holds for the integers that
    are summed. ``top`` has 24 bits, whatever the length: rounding takes less than ``2**-23`` of it.
    """

    norm: Norm
    top: int
    bits: int

    @classmethod
    def of(cls, norm: Norm, value: Number) -> Length:
        """The length nearest below a number that has 24 bits."""
        number = positive(value, "the bound")
        if not 1 <= number <= MAX_LENGTH:
            raise UsageError(f"the bound must be from 1 to {MAX_LENGTH:,} events, not {value}.")
        bits = TOP_BITS - math.floor(number).bit_length()
        return cls(norm, math.floor(number * Fraction(2) ** bits), bits)

    @property
    def value(self) -> Fraction:
        """The length, in events."""
        return self.top / Fraction(2) ** self.bits

    @property
    def unit(self) -> Fraction:
        """How many events one unit is."""
        return 1 / Fraction(2) ** self.bits

    @property
    def most(self) -> int:
        """The largest whole number that is within the bound: a sum of events, or of squares."""
        return math.floor(self.value if self.norm is Norm.L1 else self.value**2)

    def sensitivity(
        self, n_groups: int, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> Sensitivity:
        """How far one user can move the totals of public groups, in units."""
        return unit_sensitivity(self.norm, n_groups, neighbours).times(self.top)

    def __str__(self) -> str:
        how = "in all" if self.norm is Norm.L1 else "as the root of the sum of squares by group"
        return f"a user counts for up to {float(self.value):,.4g} events, {how}"


def unit_sensitivity(norm: Norm, n_groups: int, neighbours: Neighbours) -> Sensitivity:
    """The sensitivity of a bound of length 1: the price of noise does not depend on the length."""
    l1 = Fraction(1) if norm is Norm.L1 else Fraction(math.isqrt(n_groups - 1) + 1)
    one_user = Sensitivity(l0=n_groups, l1=l1, l2_squared=Fraction(1), linf=Fraction(1))
    return one_user.under(neighbours, n_groups)
