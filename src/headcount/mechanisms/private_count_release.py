"""Counts of groups found in the data, with no bound on users: select one, measure it, repeat.

**Contract**

========== ==================================================================================
input      the ``max_rows + 1`` largest counts of distinct users, largest first
output     some of their positions, each with an estimate and its standard deviation
noise      exact exponential-mechanism selection; discrete Gaussian measurements
guarantee  ``limit.delta``-approximate ``limit.rho``-zCDP
neighbours add or remove one user, who may be in every group and moves each count by one
========== ==================================================================================

**Reference** Private Count Release (2024), Algorithms 1 and 2 and Theorem 5.

**Errata** As printed, the measurement is accounted at a noise level that is not always the one
drawn (up to 38 times too cheap at small targets); here what is drawn is what is charged. The table
"of at most k rows" loses its boundary count as rows are removed; here the boundary is kept from the
start, since reading it as 0 reveals a group with certainty. Growth is by a fourth root of two
instead of a root of two, and each count is refined step by step until it is good enough, so a
large count pays for no more precision than it needs. Where only the largest are asked for, twice as
many are found and all that is left of the budget is spent on them together. The loop "while rows
are left" ends where a table does, which no reader may learn; here it goes on among none alone.

The proof is in ``private_count_release.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.calibrate import round_scale_up
from headcount.accounting.compose import cost
from headcount.accounting.filter import Filter
from headcount.mechanisms.gaussian import Gaussian
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.privacy.event import Filtered
from headcount.privacy.exact import round_up
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp, require_delta

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query

# Scores are counts times this many units of epsilon: dyadic, so that selection sees integers.
EPSILON_UNIT = Fraction(1, 1 << 28)
LAMBDA_UNIT = Fraction(1, 1 << 20)
CHARGE_UNIT = Fraction(1, 1 << 60)
CRUMBS = 64 * CHARGE_UNIT  # what rounding up may add to the measurements of one row
MAX_COUNT = 1 << 32
MAX_EPSILON = Fraction(2)
FIRST_THRESHOLD = 1 << 20
GROWTH = 2 ** Fraction(1, 4)
REFINEMENT = Fraction(3, 2)
FIRST_STEP = 20  # powers below a row's share: a first look that costs next to nothing
MAX_ROWS = 10_000
MAX_CALLS = 2_000
FINDING = Fraction(1, 2)  # of the limit, at most, before what is left goes to the rows found
TOP_SPARE = 2  # times as many rows as asked for: which of them are the largest is told by the rest
LEAST_REST = Fraction(1, 10**9)
Z = 1.65
"""Rows end within the target with a chance of about nine in ten."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One released count."""

    position: int
    estimate: float
    sd: float


@dataclass(frozen=True, slots=True)
class PrivateCountRelease:
    """Select, measure, repeat until the budget is spent; build with ``calibrate``."""

    limit: Zcdp
    within: float
    max_rows: int = MAX_ROWS
    max_calls: int = MAX_CALLS
    top: int | None = None

    @classmethod
    def calibrate(cls, spend: Zcdp, within: float, top: int | None = None) -> PrivateCountRelease:
        """Spend up to ``spend`` on counts of relative error ``within``; at most ``top`` of them."""
        require_delta(spend)
        return cls(spend, within, top=top)

    @property
    def event(self) -> Filtered:
        """What the ledger records: the limit of the filter, whatever was used of it."""
        return Filtered(self.limit.rho, self.limit.delta)

    @property
    def delta_per_call(self) -> Fraction:
        """The chance that one selection shows a group known through one user alone."""
        return self.limit.delta / self.max_calls

    @property
    def margin(self) -> Fraction:
        """``log(max_rows / delta_per_call)``, rounded up [PC1]."""
        exact_margin = math.log(self.max_rows) - math.log(float(self.delta_per_call))
        return round_up(Fraction(exact_margin * (1 + 1e-12)), LAMBDA_UNIT)

    @property
    def most(self) -> int:
        """How many rows are looked for, however many there are."""
        return self.max_rows if self.top is None else min(self.max_rows, TOP_SPARE * self.top)

    def least_of(self, n_rows: int) -> float:
        """About how many users each of so many groups has, where most of them are shown."""
        looking, measuring = float(self.margin) ** 2 / 8, (Z / self.within) ** 2 / 2
        return math.sqrt(n_rows * (looking + measuring) / float(self.limit.rho))

    @property
    def sensitivity(self) -> Sensitivity:
        """A user moves each count by one at most, in however many groups."""
        return Sensitivity.of_entries()

    def draw(self, query: Query[NDArray[np.int64]], chance: Chance) -> list[Measured]:
        """Release counts until so many are found, or the filter refuses the next step.

        The counts are sorted, largest first, and hold ``max_rows + 1`` of them if there are
        so many. [PC2] the boundary is that of the whole table, whatever was removed since.
        [PC5] where no row is left to be found, the steps are those of a table where one is.
        """
        true_counts = query.answer(self.sensitivity)
        true_clamped = np.minimum(true_counts, MAX_COUNT)
        has_boundary = len(true_clamped) > self.max_rows
        true_boundary = int(true_clamped[self.max_rows]) if has_boundary else 0
        remaining = list(range(min(len(true_clamped), self.max_rows)))
        true_scores = true_clamped[: self.max_rows]
        budget = chance.filter(self.limit)
        epsilon = round_up(self.margin / FIRST_THRESHOLD, EPSILON_UNIT)
        released: list[Measured] = []
        while len(released) < self.most and self._may_look(epsilon, budget):
            budget.charge(Zcdp(epsilon**2 / 8, self.delta_per_call))
            chosen = self._select(true_scores[remaining], true_boundary, epsilon, chance)
            if chosen is None:
                grown = Fraction(math.floor(epsilon * GROWTH / EPSILON_UNIT)) * EPSILON_UNIT
                epsilon = min(MAX_EPSILON, grown)
                if epsilon == MAX_EPSILON:
                    break
                continue
            position = remaining.pop(chosen)
            released.append(
                self._measure(position, int(true_scores[position]), epsilon, budget, chance)
            )
        if self.top is None or not released:
            return released
        return self._sharpened(released, true_scores, budget, chance)[: self.top]

    def _may_look(self, epsilon: Fraction, budget: Filter) -> bool:
        """Whether a selection and all measurements that may follow fit in what is for finding."""
        step = Zcdp(epsilon**2 / 4 + CRUMBS, self.delta_per_call)
        most = self.limit.rho if self.top is None else self.limit.rho * FINDING
        return budget.admits(step) and budget.spent.rho + step.rho <= most

    def _sharpened(
        self,
        released: list[Measured],
        true_scores: NDArray[np.int64],
        budget: Filter,
        chance: Chance,
    ) -> list[Measured]:
        """Spend what is left on all rows at once, largest first then. [PC4] charged as drawn."""
        left = budget.limit.rho - budget.spent.rho
        if left < LEAST_REST:
            return released
        moved = Sensitivity.of_entries(len(released))
        rest = Gaussian.calibrate(moved, Zcdp(left))
        budget.charge(cost(rest.event))
        positions = np.array([row.position for row in released], np.intp)
        noisy = chance.noisy(true_scores[positions], rest.law).tolist()
        sharper = []
        for row, count in zip(released, noisy, strict=True):
            precision = 1 / row.sd**2 + 1 / rest.sd**2
            estimate = (row.estimate / row.sd**2 + count / rest.sd**2) / precision
            sharper.append(Measured(row.position, estimate, 1 / math.sqrt(precision)))
        return sorted(sharper, key=lambda row: -row.estimate)

    def _select(
        self, true_left: NDArray[np.int64], true_boundary: int, epsilon: Fraction, chance: Chance
    ) -> int | None:
        """One group, or none. [PC1] none has the score of the boundary, one and the margin."""
        units = int(epsilon / EPSILON_UNIT)
        none = (true_boundary + 1) * units + int(self.margin / EPSILON_UNIT)
        scores = np.append(true_left * units, none)
        chosen = chance.select(scores, EPSILON_UNIT)
        return None if chosen == len(true_left) else chosen

    def _measure(
        self, position: int, true_count: int, epsilon: Fraction, budget: Filter, chance: Chance
    ) -> Measured:
        """Refine until good enough, or until this group's share is used. [PC3] charged as drawn."""
        weighted = precision = 0.0
        true_counts = np.array([true_count], np.int64)
        top = highest_power(epsilon)
        power, last = top - FIRST_STEP, None
        while True:
            variance = variance_between(last, power)
            budget.charge(measurement_cost(variance))
            noisy_count = int(chance.noisy(true_counts, DiscreteGaussian(variance))[0])
            weighted += float(1 / variance) * noisy_count
            precision += float(1 / variance)
            estimate, sd = weighted / precision, 1 / math.sqrt(precision)
            if Z * sd <= self.within * estimate or power == top:
                return Measured(position, estimate, sd)
            # As precise as a count that is larger than it looks would need, and then look again.
            needed = (Z / (self.within * max(estimate + sd, 1.0))) ** 2
            last, power = power, max(power + 1, min(top, _power_below(needed)))


@lru_cache(maxsize=1 << 14)
def measurement_cost(variance: Fraction) -> Zcdp:
    """What one Gaussian measurement of one count costs, rounded up."""
    return Zcdp(round_up(1 / (2 * variance), CHARGE_UNIT))


def highest_power(epsilon: Fraction) -> int:
    """The largest power of the refinement within ``epsilon**2 / 4``, all of a row's precision."""
    cap = epsilon**2 / 4
    top = _power_below(float(cap))
    while REFINEMENT**top > cap:
        top -= 1
    return top


def _power_below(precision: float) -> int:
    return math.floor(math.log(precision) / math.log(REFINEMENT))


@lru_cache(maxsize=1 << 14)
def variance_between(last: int | None, power: int) -> Fraction:
    """The variance whose precision leads from one power of the refinement to another.

    Steps to the top cost at most ``epsilon**2 / 8`` together, however many are left out [PC3]:
    precisions between powers add up to the last power, and rounding the scale up only lowers them.
    """
    before = Fraction(0) if last is None else REFINEMENT**last
    return round_scale_up(1 / (REFINEMENT**power - before))
