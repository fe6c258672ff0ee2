"""How quantiles are drawn from users per cell: what it costs, and what leaves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from headcount.mechanisms.exponential_quantile import ExponentialQuantile
from headcount.mechanisms.fresh_samples.reading import Found
from headcount.mechanisms.hierarchical_histogram import HierarchicalHistogram
from headcount.mechanisms.hierarchy import best_shape
from headcount.privacy.event import Composed, Event
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.results.facts import CONFIDENCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headcount.contributions.sampled_values import Values
    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query

FEW = 9
"""Up to so many quantiles, choosing each one beats reading them off the hierarchy."""

COUNTED = Fraction(1, 10)
"""Of the budget, what counts for the intervals get where each quantile is chosen. The choices pay
for it with 6 % more error, computed from their law on five datasets; a half would be 46 %."""

HIERARCHY = "noise on counts of cells at many levels"
EXPONENTIAL = "noisy counts of cells at many levels, then a private choice of each quantile"


@dataclass(frozen=True, slots=True)
class NoisyQuantiles:
    """Noisy counts of cells at many levels, and maybe a choice of each quantile besides."""

    at: tuple[Fraction, ...]
    cells: HierarchicalHistogram
    chosen: tuple[ExponentialQuantile, ...]

    @classmethod
    def calibrate(
        cls,
        at: tuple[Fraction, ...],
        n_cells: int,
        limit: Zcdp,
        method: str,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> NoisyQuantiles:
        """Split the limit: all of it on the counts, or most of it on the choices."""
        if method == "auto":
            method = "exponential" if len(at) <= FEW else "hierarchy"
        chosen: tuple[ExponentialQuantile, ...] = ()
        counted = Zcdp(limit.rho)
        if method == "exponential":
            counted = Zcdp(limit.rho * COUNTED)
            share = Zcdp(limit.rho * (1 - COUNTED) / len(at))
            chosen = tuple(ExponentialQuantile.calibrate(one, share, neighbours) for one in at)
        shares = [float(one) for one in at]
        shape = best_shape(n_cells, lambda shape: shape.rank_loss(shares))
        return cls(at, HierarchicalHistogram.calibrate(shape, counted, neighbours), chosen)

    @property
    def event(self) -> Event:
        """What the ledger records."""
        if not self.chosen:
            return self.cells.event
        return Composed((self.cells.event, *(one.event for one in self.chosen)))

    @property
    def neighbours(self) -> Neighbours:
        """The relation that the noise was made for."""
        return self.cells.neighbours

    @property
    def method(self) -> str:
        """The method in words."""
        return EXPONENTIAL if self.chosen else HIERARCHY

    @property
    def why(self) -> str:
        """Why this method and not another."""
        sampling = "noise on all users is closer than a sample of them"
        if self.chosen:
            return f"for up to {FEW} quantiles a choice of each is closest; {sampling}"
        return f"all quantiles share one set of counts; {sampling}"

    @property
    def noise(self) -> str:
        """How much noise, in words."""
        most = max(self.cells.rank_error(float(one), CONFIDENCE) for one in self.at)
        epsilon = f"{float(self.chosen[0].epsilon):.3g}" if self.chosen else ""
        return (
            f"discrete Gaussian, sd {self.cells.noise.sd:.3g} users, on blocks of "
            f"{self.cells.shape.n_levels} levels: ranks are known to {most:.3g} users"
        ) + (f"; each choice has epsilon {epsilon}" if self.chosen else "")

    def quantiles(self, values: Values, chance: Chance) -> list[Found]:
        """Read, then draw."""
        return self.draw(values.users_per_cell(self.neighbours), chance)

    def draw(self, cells: Query[NDArray[np.int64]], chance: Chance) -> list[Found]:
        """The cells of all quantiles and of their intervals."""
        noisy_cells = self.cells.draw(cells, chance)
        found = [noisy_cells.quantile(float(one), CONFIDENCE) for one in self.at]
        for index, choice in enumerate(self.chosen):
            _, first, last = found[index]
            cell = choice.draw(cells, chance)
            # The choice is the sharper of the two: where it is outside, the interval missed.
            found[index] = (cell, min(first, cell), max(last, cell))
        return found
