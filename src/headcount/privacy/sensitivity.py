"""How far one user can move a vector of numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from headcount.privacy.neighbours import Neighbours

NO_BOUND = 1 << 62
"""More entries than any vector has."""


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
    one_way: bool = False
    """Whether all entries that move do so in one direction."""

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

    @classmethod
    def of_entries(
        cls,
        n_entries: int = NO_BOUND,
        most: int = 1,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
        *,
        one_way: bool = False,
    ) -> Sensitivity:
        """Many sums, each of which one change of this relation moves by ``most`` at most."""
        distance = Fraction(most)
        l1, l2_squared = n_entries * distance, n_entries * distance**2
        return cls(n_entries, l1, l2_squared, distance, neighbours, one_way)

    @classmethod
    def of_norm(cls, l2_squared: int, n_entries: int) -> Sensitivity:
        """Non-negative vectors of integers, bounded in l2 and in nothing else."""
        longest = math.isqrt(l2_squared)
        return cls(
            n_entries, Fraction(longest * n_entries), Fraction(l2_squared), Fraction(longest)
        )

    def covers(self, other: Sensitivity) -> bool:
        """Whether noise that is made for this one is enough for the other."""
        return (
            self.neighbours is other.neighbours
            and (other.one_way or not self.one_way)
            and other.l0 <= self.l0
            and other.l1 <= self.l1
            and other.l2_squared <= self.l2_squared
            and other.linf <= self.linf
        )

    def times(self, factor: int) -> Sensitivity:
        """Of contributions that are ``factor`` times as long, or in units as much finer."""
        return Sensitivity(
            self.l0,
            self.l1 * factor,
            self.l2_squared * factor**2,
            self.linf * factor,
            self.neighbours,
            self.one_way,
        )

    def merged(self) -> Sensitivity:
        """Of the same contributions after entries were added up, who knows which: only l1 holds."""
        return Sensitivity(self.l0, self.l1, self.l1**2, self.l1, self.neighbours, self.one_way)

    def under(self, neighbours: Neighbours, n_entries: int = NO_BOUND) -> Sensitivity:
        """Of the same contributions, never negative, under a relation that may be the other one.

        n_entries:  how many entries the vector has, where that is public
        """
        return self.replaced(n_entries) if neighbours is Neighbours.REPLACE else self

    def replaced(self, n_entries: int = NO_BOUND) -> Sensitivity:
        """The same user exchanged for another, for contributions that are never negative.

        Entries of the difference of two non-negative vectors lie between theirs, so the largest
        entry stays and the squared norms at most add up. Nor are there more entries than the vector
        has, each of which moves by the largest at most.
        """
        if self.neighbours is Neighbours.REPLACE:
            return self
        return Sensitivity(
            l0=min(2 * self.l0, n_entries),
            l1=min(2 * self.l1, n_entries * self.linf),
            l2_squared=min(2 * self.l2_squared, n_entries * self.linf**2),
            linf=self.linf,
            neighbours=Neighbours.REPLACE,
        )
