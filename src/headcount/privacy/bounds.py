"""How much one user may give to a tally of users per group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from headcount.errors import UsageError
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import NO_BOUND, Sensitivity

MAX_LATTICE_BITS = 20
MAX_GROUPS_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Bounds:
    """At most ``max_groups`` groups a user, counted whole up to ``full_groups`` of them.

    A user in ``m`` groups adds ``weight(m) / 2**lattice_bits`` to each: 1 while ``m`` is at most
    ``full_groups``, and less beyond, so that the l2 norm of what one user adds never exceeds the
    square root of ``full_groups``. Weights are integers rounded toward zero, so the norm is
    bounded exactly, not up to rounding.
    """

    max_groups: int
    full_groups: int
    lattice_bits: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.max_groups <= MAX_GROUPS_LIMIT:
            raise UsageError(f"max_groups must be 1 to {MAX_GROUPS_LIMIT}, not {self.max_groups}.")
        if not 1 <= self.full_groups <= MAX_GROUPS_LIMIT:
            raise UsageError(
                f"full_groups must be 1 to {MAX_GROUPS_LIMIT}, not {self.full_groups}."
            )
        if not 0 <= self.lattice_bits <= MAX_LATTICE_BITS:
            raise UsageError(
                f"lattice_bits must be 0 to {MAX_LATTICE_BITS}, not {self.lattice_bits}."
            )

    @property
    def scale(self) -> int:
        """How many lattice units make one user: ``2**lattice_bits``."""
        return 1 << self.lattice_bits

    def weight(self, n_groups: int) -> int:
        """What a user in ``n_groups`` groups adds to each, in lattice units, rounded down."""
        if n_groups <= self.full_groups:
            return self.scale
        return math.isqrt(self.full_groups * self.scale**2 // n_groups)

    def sensitivity(
        self, neighbours: Neighbours = Neighbours.ADD_REMOVE, n_groups: int = NO_BOUND
    ) -> Sensitivity:
        """What one user can move the tally by, in lattice units; ``n_groups`` of it are public.

        While ``m <= full_groups`` the squared norm ``m * weight(m)**2`` grows with ``m``; beyond
        it is at most ``full_groups * scale**2`` by the choice of the weight, and the l1 norm
        ``m * weight(m) <= sqrt(m * full_groups) * scale`` still grows, up to ``max_groups``.
        """
        whole = min(self.full_groups, self.max_groups)
        l1 = whole * self.scale
        if self.max_groups > self.full_groups:
            l1 = math.isqrt(self.max_groups * self.full_groups * self.scale**2) + 1
        one_user = Sensitivity(
            l0=self.max_groups,
            l1=Fraction(l1),
            l2_squared=Fraction(whole * self.scale**2),
            linf=Fraction(self.scale),
            neighbours=Neighbours.ADD_REMOVE,
        )
        return one_user.under(neighbours, n_groups)

    def __str__(self) -> str:
        text = f"a user counts fully in up to {min(self.full_groups, self.max_groups):,} groups"
        if self.max_groups > self.full_groups:
            text += ", with less weight in each beyond that"
        return text + f"; at most {self.max_groups:,} groups per user are kept"


@dataclass(frozen=True, slots=True)
class NormBounds:
    """At most ``max_groups`` groups a user, with values of l2 norm ``max_norm`` at most.

    Values and norm are integers of ``2**-lattice_bits`` rows. How a user splits the norm among
    their groups is not bounded.
    """

    max_groups: int
    max_norm: int
    lattice_bits: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.max_groups <= MAX_GROUPS_LIMIT:
            raise UsageError(f"max_groups must be 1 to {MAX_GROUPS_LIMIT}, not {self.max_groups}.")
        if self.max_norm < 1:
            raise UsageError(f"max_norm must be at least 1, not {self.max_norm}.")

    @property
    def scale(self) -> int:
        """How many lattice units make one row: ``2**lattice_bits``."""
        return 1 << self.lattice_bits

    def weight(self, n_groups: int) -> int:
        """What a user adds to each of so many groups who splits the norm equally, rounded down."""
        return math.isqrt(self.max_norm**2 // n_groups)

    def sensitivity(self) -> Sensitivity:
        """What one user can move the tally by, in lattice units."""
        return Sensitivity(
            l0=self.max_groups,
            l1=Fraction(math.isqrt(self.max_groups * self.max_norm**2)),
            l2_squared=Fraction(self.max_norm**2),
            linf=Fraction(self.max_norm),
        )

    def __str__(self) -> str:
        return (
            f"a user's rows have an l2 norm of at most {self.max_norm / self.scale:,.4g} over the "
            f"groups; at most {self.max_groups:,} groups per user are kept"
        )
