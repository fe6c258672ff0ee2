"""Noise for frequencies: on sorted counts, or on every group or bucket."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from headcount.errors import UsageError
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.laplace_histogram import LaplaceHistogram
from headcount.mechanisms.sorted_counts import MAX_POSITIONS, SortedCounts
from headcount.postprocess import errors, pooled
from headcount.postprocess.anonymized import anonymized
from headcount.privacy.bounds import Bounds
from headcount.privacy.event import Composed, Event
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.contributions.frequencies import TrueFrequencies
    from headcount.mechanisms.chance import Chance
    from headcount.postprocess.frequencies import Frequencies

    Integers = NDArray[np.int64]
    Runs = tuple[Integers, Integers]

POSITIONS_SHARE = Fraction(1, 10)
POSITIONS_SDS = 2
N_AGAIN = 20
AGAIN_POSITIONS = 4_000_000
TOO_FEW = (
    "Half of the buckets or more are in use, so collisions could not be undone: counts are those "
    "of buckets, not of groups. Use more buckets next time, two to four times the number of pairs "
    "of user and group."
)


@dataclass(frozen=True, slots=True)
class DrawnFrequencies:
    """What noise and post-processing made of the true frequencies."""

    frequencies: Frequencies
    noisy: Runs
    noise: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Central:
    """Sorted counts; the number of positions is public, or costs a share."""

    spend: Zcdp
    at_most: int | None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    hashed_into: None = None
    name: ClassVar[str] = "central"
    how: ClassVar[str] = "noise on sorted counts; counts that it put out of order are averaged"

    @property
    def domain(self) -> str:
        """Which groups there are, as a plan says it."""
        if self.at_most is None:
            return "found in the data; their number is measured with noise, for a tenth"
        return f"at most {self.at_most:,}, which is public"

    def positions(self, bound: int) -> Gaussian | None:
        """How the number of groups is measured when it is not public."""
        if self.at_most is not None:
            return None
        number = Sensitivity.of_sum(bound, self.neighbours)
        return Gaussian.calibrate(number, Zcdp(self.spend.rho * POSITIONS_SHARE))

    def counts(self, bound: int) -> SortedCounts:
        """Noise on the sorted counts, for what is left."""
        share = Fraction(1) if self.at_most is not None else 1 - POSITIONS_SHARE
        return SortedCounts.calibrate(
            Bounds(bound, bound).sensitivity(self.neighbours), Zcdp(self.spend.rho * share)
        )

    def events(self, bound: int) -> tuple[Event, ...]:
        """What is drawn, in order."""
        positions, counts = self.positions(bound), self.counts(bound)
        return (counts.event,) if positions is None else (positions.event, counts.event)

    def event(self, bound: int) -> Event:
        """What is charged when the bound is public."""
        events = self.events(bound)
        return events[0] if len(events) == 1 else Composed(events)

    def expected_error(self, n_pairs: float, bound: int) -> float:
        """The l1 error to expect."""
        return pooled.expected_l1(n_pairs, self.counts(bound).sd)

    def draw(self, frequencies: TrueFrequencies, bound: int, chance: Chance) -> DrawnFrequencies:
        """Noise, fit, and errors from drawing the fit again."""
        positions, counts = self.positions(bound), self.counts(bound)
        n_positions = self.at_most or 1
        notes: tuple[str, ...] = ()
        if positions is not None:
            noisy_number = int(positions.draw(frequencies.n_groups, chance)[0])
            n_positions = noisy_number + math.ceil(POSITIONS_SDS * positions.sd)
            n_positions = min(max(n_positions, 1), MAX_POSITIONS)
            notes = (f"The {n_positions:,} largest groups are looked at, a noisy number.",)
        fit, noisy = pooled.pooled(counts.draw(frequencies.runs, n_positions, chance))
        n_again = max(2, min(N_AGAIN, AGAIN_POSITIONS // n_positions))
        again = [pooled.pooled(counts.again(fit, n_positions, chance))[0] for _ in range(n_again)]
        found = pooled.sorted_frequencies(fit, again, counts.sd)
        return DrawnFrequencies(found, noisy, f"discrete Gaussian, sd {counts.sd:.3g} users", notes)


@dataclass(frozen=True, slots=True)
class Laplace:
    """Every listed group, or every bucket that groups are hashed into."""

    spend: Zcdp
    n_buckets: int
    hashed: bool
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    name: ClassVar[str] = "laplace"
    how: ClassVar[str] = "noise on every group or bucket, and the most likely frequencies"

    @property
    def domain(self) -> str:
        """Which groups there are, as a plan says it."""
        hashed = " that groups are hashed into" if self.hashed else ", all listed groups"
        return f"{self.n_buckets:,}{hashed}; noise on each, also where nobody is"

    @property
    def hashed_into(self) -> int | None:
        """How many buckets groups are hashed into, when they are not public."""
        return self.n_buckets if self.hashed else None

    def counts(self, bound: int) -> LaplaceHistogram:
        """Noise on every bucket."""
        one_change = Bounds(bound, bound).sensitivity(self.neighbours)
        return LaplaceHistogram.calibrate(one_change.merged(), self.spend)

    def events(self, bound: int) -> tuple[Event, ...]:
        """What is drawn."""
        return (self.event(bound),)

    def event(self, bound: int) -> Event:
        """What is charged when the bound is public."""
        return self.counts(bound).event

    def expected_error(self, n_pairs: float, bound: int) -> float:
        """The l1 error to expect."""
        return errors.expected_l1(n_pairs, self.n_buckets, self.counts(bound).ratio, 1)

    def draw(self, frequencies: TrueFrequencies, bound: int, chance: Chance) -> DrawnFrequencies:
        """Noise and the most likely frequencies."""
        mechanism = self.counts(bound)
        noisy = mechanism.draw(frequencies.runs, self.n_buckets, chance)
        notes: tuple[str, ...] = ()
        try:
            found = anonymized(*noisy, ratio=mechanism.ratio, buckets=self.hashed_into)
        except UsageError:
            if not self.hashed:
                raise
            found = anonymized(*noisy, ratio=mechanism.ratio)
            notes = (TOO_FEW,)
        return DrawnFrequencies(
            found, noisy, f"discrete Laplace, sd {mechanism.sd:.3g} users", notes
        )
