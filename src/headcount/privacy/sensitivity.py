"""How far one user can move a vector of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from headcount.privacy.neighbours import Neighbours


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The largest distance between the tallies of two neighbouring tables.

    Mechanisms are calibrated from this and never from a bare number, so the relation it holds for
    travels with it. The l2 norm is kept squared, since its root need not be rational.
    """

    l0: int
    l1: Fraction
    l2_squared: Fraction
    linf: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    @classmethod
    def of_sum(cls, most: int = 1, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Sensitivity:
        """One sum to which a user adds 0 to ``most``: it moves by that under either relation."""
        distance = Fraction(most)
        return cls(1, distance, distance**2, distance, neighbours)

    @classmethod
    def of_cell(cls, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Sensitivity:
        """Many cells, of which a user is in one: it moves by one, or two do for exchanged users."""
        one = Fraction(1)
        return cls(1, one, one, one).under(neighbours)

    def times(self, factor: int) -> Sensitivity:
        """Of contributions that are ``factor`` times as long, or in units as much finer."""
        return Sensitivity(
            self.l0,
            self.l1 * factor,
            self.l2_squared * factor**2,
            self.linf * factor,
            self.neighbours,
        )

    def under(self, neighbours: Neighbours) -> Sensitivity:
        """Of the same contributions, never negative, under a relation that may be the other one."""
        return self.replaced() if neighbours is Neighbours.REPLACE else self

    def replaced(self) -> Sensitivity:
        """The same user exchanged for another, for contributions that are never negative.

        Entries of the difference of two non-negative vectors lie between theirs, so the largest
        entry stays and the squared norms at most add up.
        """
        if self.neighbours is Neighbours.REPLACE:
            return self
        return Sensitivity(
            l0=2 * self.l0,
            l1=2 * self.l1,
            l2_squared=2 * self.l2_squared,
            linf=self.linf,
            neighbours=Neighbours.REPLACE,
        )
