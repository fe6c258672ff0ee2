"""Exact counts of a random sample, of which only large ones leave.

**Contract**

========== ==================================================================================
input      per group, how many (user, group) pairs a fair coin of chance ``rate`` kept
output     the groups with at least ``threshold`` kept users, with that number
noise      the coins alone: one for every user and group, independent, and secret
guarantee  ``spend.delta``-approximate ``spend.rho``-zCDP for ``n_samples`` fresh samples, in each
           of which a user is in at most ``answers`` groups
neighbours as told: add or remove one user, or replace one
========== ==================================================================================

**Reference** Sample and threshold differential privacy (2022). The cost is not the paper's bound
but the exact law, see ``accounting/sampling/profile.py``.

**Errata** As printed, the threshold by Lambert's W is inverted wrongly (4 where 12 is meant, at a
delta of 1e-8); levels of a hierarchy share one sample, so that subtracting two counts shows a
single user; a sample of fixed size shows a user by its size; and contacting a visible cohort
tells who was sampled. Here every answer has coins of its own, and the size of the sample is
nowhere to be read.

The proof is in ``sample_threshold.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

from headcount.accounting.sampling.solver import best_within, certified_rho, reach_of
from headcount.errors import UsageError
from headcount.privacy.event import SampleThreshold as SampleThresholdEvent
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.privacy.query import Query

COIN_BITS = 60
MOST_ANSWERS = 1_000


@dataclass(frozen=True, slots=True)
class SampleThreshold:
    """Counts of sampled users, shown from a threshold on; build with ``calibrate``."""

    rate: Fraction
    threshold: int
    spend: Zcdp
    n_samples: int = 1
    answers: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    @classmethod
    def calibrate(
        cls,
        limit: Zcdp,
        *,
        n_samples: int = 1,
        answers: int = 1,
        most_rate: Fraction | None = None,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> SampleThreshold:
        """The rate and threshold that show the smallest groups within ``limit``.

        Each of ``n_samples`` releases draws coins of its own, and a user is in at most
        ``answers`` groups of each. All of them together cost at most ``limit``.
        """
        if limit.delta <= 0:
            raise UsageError(
                "A sample needs a delta greater than 0. Raise delta, or use a method with noise "
                "on known groups."
            )
        n = n_samples * answers
        if not 1 <= n <= MOST_ANSWERS:
            raise UsageError(
                f"A user can be in 1 to {MOST_ANSWERS:,} groups of all samples together, not {n:,}."
            )
        chosen = best_within(limit, neighbours, n_samples=n, most_rate=most_rate)
        rate, threshold = chosen.rate, chosen.threshold
        rho = certified_rho(rate, threshold, n, limit.delta, neighbours, reach_of(limit))
        # [ST3] What is charged was certified for the dyadic rate that the coins have.
        spend = Zcdp(Fraction(rho), limit.delta)
        return cls(rate, threshold, spend, n_samples, answers, neighbours)

    @property
    def event(self) -> SampleThresholdEvent:
        """What the ledger records, for all samples and answers together."""
        return SampleThresholdEvent(
            rate=self.rate,
            threshold=Fraction(self.threshold),
            n_samples=Fraction(self.n_samples * self.answers),
            rho=self.spend.rho,
            delta=self.spend.delta,
        )

    @property
    def coin_limit(self) -> int:
        """A coin of ``COIN_BITS`` uniform bits keeps its pair when it is below this [ST1]."""
        limit = self.rate * (1 << COIN_BITS)
        if limit.denominator != 1:
            raise ArithmeticError("the rate of a sample is a dyadic rational")
        return int(limit)

    @property
    def sensitivity(self) -> Sensitivity:
        """What one user adds at most, all coins falling well, to counts that are cut already."""
        return Sensitivity.of_entries(self.answers, self.threshold)

    def keep(self, query: Query[NDArray[np.int64]]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Which rows leave, and their counts of sampled users. [ST2] at least the threshold."""
        true_sample_counts = query.answer(self.sensitivity)
        kept = (true_sample_counts >= self.threshold).nonzero()[0]
        return kept, true_sample_counts[kept]

    def estimate(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """How many users the groups have."""
        return np.asarray(counts / float(self.rate))

    def sd(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The standard deviation of the estimates, by the counts themselves."""
        rate = float(self.rate)
        return np.asarray(np.sqrt(counts * (1 - rate)) / rate)

    def interval(
        self, counts: NDArray[np.int64], confidence: float = 0.95
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The sizes of group at which a count as large, or as small, is not too surprising.

        Counts are known only because they reached the threshold, so chances are taken given that:
        for every size of group, an interval that is shown holds it as often as said.
        """
        values, where = np.unique(counts, return_inverse=True)
        tail = (1 - confidence) / 2
        low = _least_size(values, lambda size: self._at_least(values, size) > tail)
        # One below the least size at which so small a count is too surprising.
        high = _least_size(values, lambda size: self._at_most(values, size) <= tail) - 1
        return low[where], np.maximum(high, values)[where]

    def _at_least(self, counts: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.float64]:
        shown = special.bdtrc(self.threshold - 1, size, float(self.rate))
        chance = special.bdtrc(counts - 1, size, float(self.rate))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(shown > 0, chance / shown, counts == self.threshold)

    def _at_most(self, counts: NDArray[np.int64], size: NDArray[np.int64]) -> NDArray[np.float64]:
        above = np.where(
            size > counts, special.bdtrc(counts, np.maximum(size, counts + 1), float(self.rate)), 0
        )
        shown = special.bdtrc(self.threshold - 1, size, float(self.rate))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(shown > 0, (shown - above) / shown, 1.0)

    def chance_of_missing(self, group_size: int) -> float:
        """The exact chance that a group of so many users is not shown."""
        if group_size < self.threshold:
            return 1.0
        return float(special.bdtr(self.threshold - 1, group_size, float(self.rate)))

    def size_missed_with(self, chance: float) -> int:
        """The least size of group that is missed with at most this chance."""
        sizes = np.array([self.threshold])
        found = _least_size(
            sizes, lambda size: np.array([self.chance_of_missing(int(size[0])) <= chance])
        )
        return int(found[0])


def _least_size(
    counts: NDArray[np.int64], holds: Callable[[NDArray[np.int64]], NDArray[np.bool_]]
) -> NDArray[np.int64]:
    """For each count, the least size from it on at which a condition holds that stays true."""
    low = counts - 1
    high = counts.copy()
    while not (done := holds(high)).all():
        low = np.where(done, low, high)
        high = np.where(done, high, 2 * high)
    while (high - low > 1).any():
        middle = (low + high) // 2
        middle = np.where(high - low > 1, middle, high)
        good = holds(middle)
        low, high = np.where(good, low, middle), np.where(good, middle, high)
    return high
