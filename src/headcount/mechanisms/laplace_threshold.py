"""Discrete Laplace noise on counts of sampled rows, of which only large ones leave.

**Contract**

========== ==================================================================================
input      counts of the groups that at least one *kept* row reaches; a user keeps at most
           ``max_rows`` rows in all
output     the groups whose noisy count is above ``threshold``, with that noisy count
noise      ``P(z) ∝ exp(-|z| / scale)`` on the integers, one draw per group
guarantee  ``delta``-approximate ``laplace_cost``-zCDP; also ``(l1 / scale, delta)``-DP
           where ``delta <= 1 - exp(-1 / scale)``
neighbours add or remove one user, or replace one: then ``l1`` is twice ``max_rows``
========== ==================================================================================

**Reference** Contribution bounding for user-level histograms (ICML 2023), Algorithm 3.

**Errata** The printed Algorithm 3 adds noise to the support *before* rows are sampled, which passes
the threshold up to 368 times more often than delta allows; states replacement with the noise of
add/remove; and has a threshold that is too high by up to ``max_rows - 1``. Here the support is that
of the kept rows, the distance is that of the relation, and the threshold is the least integer.

The proof is in ``laplace_threshold.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from headcount.accounting.calibrate import laplace_scale
from headcount.errors import UsageError
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.privacy.event import LaplaceThreshold as LaplaceThresholdEvent
from headcount.privacy.exact import exp_bracket
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import require_delta

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query
    from headcount.privacy.spend import Zcdp

BITS = 192
ONE = 1 << BITS


def leaves_at_most(count: int, scale: Fraction, threshold: int) -> int:
    """A bound on the chance, times ``2**BITS``, that a count of at most ``threshold`` leaves.

    The chance that discrete Laplace noise is at least ``n >= 0`` is ``q**n / (1 + q)`` with
    ``q = exp(-1 / scale)``; here ``n = threshold + 1 - count``.
    """
    _, tail = exp_bracket(Fraction(threshold + 1 - count) / scale, BITS)
    ratio, _ = exp_bracket(1 / scale, BITS)
    return -(-(tail << BITS) // (ONE + ratio))


def is_safe(max_rows: int, scale: Fraction, delta: Fraction, threshold: int) -> bool:
    """Whether one user's own groups leave with at most ``delta``, however the rows are split.

    [LT3] the worst splits are all rows in one group and one row in each of ``max_rows`` groups.
    """
    together = leaves_at_most(max_rows, scale, threshold)
    apart = ONE - leaves_at_most(1, scale, threshold)
    all_stay = _power_at_least(apart, max_rows)
    return together <= delta * ONE and ONE - all_stay <= delta * ONE


def _power_at_least(share: int, exponent: int) -> int:
    """``(share / 2**BITS)**exponent * 2**BITS``, each step rounded down."""
    result = ONE
    while exponent:
        if exponent & 1:
            result = result * share >> BITS
        share = share * share >> BITS
        exponent >>= 1
    return result


def threshold_for(max_rows: int, scale: Fraction, delta: Fraction) -> int:
    """The least integer threshold from ``max_rows`` on that is safe."""
    beyond = float(scale) * math.log(max(2.0, max_rows / float(delta)))
    low, step = max_rows - 1, max(1, math.ceil(beyond))
    high = low + step
    while not is_safe(max_rows, scale, delta, high):
        low, high = high, high + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_safe(max_rows, scale, delta, middle) else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class LaplaceThreshold:
    """Counts of rows in groups found in the data; build with ``calibrate``."""

    max_rows: int
    scale: Fraction
    threshold: int
    delta: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    @classmethod
    def calibrate(
        cls, max_rows: int, spend: Zcdp, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> LaplaceThreshold:
        """The least noise and threshold whose cost is at most ``spend``.

        The scale grows with ``max_rows`` exactly, so a larger bound costs no more.
        """
        if max_rows < 1:
            raise UsageError(f"max_rows must be at least 1, not {max_rows}.")
        require_delta(spend)
        scale = max_rows * laplace_scale(Fraction(_users(neighbours)), spend.rho)
        threshold = threshold_for(max_rows, scale, spend.delta)
        return cls(max_rows, scale, threshold, spend.delta, neighbours)

    def with_rows(self, max_rows: int) -> LaplaceThreshold:
        """The same release for a larger bound, at no greater cost [LT5]."""
        if max_rows < self.max_rows:
            raise ValueError("a smaller bound would cost more than what was charged")
        scale = self.scale / self.max_rows * max_rows
        threshold = threshold_for(max_rows, scale, self.delta)
        return LaplaceThreshold(max_rows, scale, threshold, self.delta, self.neighbours)

    @property
    def sensitivity(self) -> Sensitivity:
        """How far two neighbouring tables are apart: [LT4] two users where one is replaced."""
        rows = Fraction(self.max_rows)
        return Sensitivity(self.max_rows, rows, rows**2, rows).under(self.neighbours)

    @property
    def event(self) -> LaplaceThresholdEvent:
        """What the ledger records."""
        return LaplaceThresholdEvent(self.sensitivity.l1, self.scale, self.delta)

    @property
    def sd(self) -> float:
        """The standard deviation of the noise, at most."""
        return math.sqrt(2) * float(self.scale)

    def error_bound(self, confidence: float) -> float:
        """Half the width of the noise's interval; being above the threshold is not counted in."""
        return float(self.scale) * -math.log(1 - confidence)

    @property
    def law(self) -> DiscreteLaplace:
        """What is added to every total."""
        return DiscreteLaplace(self.scale)

    def draw(
        self, query: Query[NDArray[np.int64]], chance: Chance
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Which rows leave, and their noisy counts. [LT1] one draw a row, [LT2] strictly above."""
        true_totals = query.answer(self.sensitivity)
        noisy_totals = chance.noisy(true_totals, self.law)
        kept = (noisy_totals > self.threshold).nonzero()[0]
        return kept, noisy_totals[kept]


def _users(neighbours: Neighbours) -> int:
    return 1 if neighbours is Neighbours.ADD_REMOVE else 2
