"""Quantiles and ranges from fresh samples of users: the same looks, read in different ways."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from headcount.contributions.sample import Coins
from headcount.mechanisms.fresh_samples.mechanism import FreshSamples, Looks
from headcount.mechanisms.fresh_samples.reading import (
    Found,
    SampledCells,
    look_at_levels,
    n_steps,
    search,
)
from headcount.mechanisms.hierarchy import Floats, Hierarchy
from headcount.results.facts import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headcount.contributions.sampled_values import Values
    from headcount.mechanisms.chance import Chance
    from headcount.privacy.event import Event
    from headcount.privacy.neighbours import Neighbours
    from headcount.privacy.spend import Zcdp

SAMPLED = {
    "sample": "exact counts of a secret sample of users in the finest cells, added up",
    "sample-levels": "exact counts of cells at several levels, each of a fresh secret sample",
    "sample-search": "a search by halves, each step on exact counts of a fresh secret sample",
}
BRANCHING = 4


@dataclass(frozen=True, slots=True)
class SampledValues:
    """Looks at users' cells through samples; what they cost, and what is read off them."""

    kind: str
    shape: Hierarchy
    samples: FreshSamples
    at: tuple[Fraction, ...] = ()

    @classmethod
    def calibrate(
        cls,
        kind: str,
        n_cells: int,
        limit: Zcdp,
        neighbours: Neighbours,
        at: tuple[Fraction, ...] = (),
    ) -> SampledValues:
        """As many looks as the kind needs, within the limit."""
        shape = Hierarchy(n_cells, BRANCHING, _n_levels(n_cells) if kind == "sample-levels" else 1)
        n_looks = shape.n_levels if kind != "sample-search" else len(at) * n_steps(n_cells)
        return cls(kind, shape, FreshSamples.calibrate(limit, n_looks, neighbours), at)

    @property
    def event(self) -> Event:
        """What the ledger records."""
        return self.samples.event

    @property
    def neighbours(self) -> Neighbours:
        """The relation that the samples were made for."""
        return self.samples.sample.neighbours

    @property
    def method(self) -> str:
        """The method in words."""
        return SAMPLED[self.kind]

    @property
    def why(self) -> str:
        """Why a sample."""
        return "it was asked for; noise on all users is closer to the truth"

    @property
    def noise(self) -> str:
        """What is random, in words."""
        sample = self.samples.sample
        fresh = "one sample" if sample.n_samples == 1 else f"each of {sample.n_samples} samples"
        return (
            f"a secret coin keeps {float(sample.rate):.4g} of users in {fresh}; blocks with fewer "
            f"than {sample.threshold} kept users are hidden"
        )

    def quantiles(self, values: Values, _chance: Chance) -> list[Found]:
        """The cells of all quantiles and of their intervals; the engine tosses the coins."""
        looks = self._looks(values)
        if self.kind == "sample-search":
            n_cells = self.shape.n_cells
            return [search(float(one), n_cells, looks, CONFIDENCE) for one in self.at]
        shown = self._shown(looks)
        return [shown.quantile(float(one), CONFIDENCE) for one in self.at]

    def ranges(
        self, values: Values, ranges: Sequence[tuple[int, int]]
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Count, low, high and standard deviation of each range of cells."""
        return self._shown(self._looks(values)).ranges(ranges, CONFIDENCE)

    def _looks(self, values: Values) -> Looks:
        sample = self.samples.sample
        coins = Coins(1, sample.coin_limit, sample.threshold)
        return self.samples.looks(lambda number, blocks: values.sampled(number, blocks, coins))

    def _shown(self, looks: Looks) -> SampledCells:
        shown = look_at_levels(self.shape, looks)
        return SampledCells.of(self.shape, shown, self.samples.sample, CONFIDENCE)


def _n_levels(n_cells: int) -> int:
    n_levels = 1
    while BRANCHING**n_levels < n_cells:
        n_levels += 1
    return n_levels
