"""Discrete Gaussian noise on the groups that were found, of which only large ones leave.

**Contract**

========== ==================================================================================
input      integer totals of the groups that at least one *bounded* contribution reaches
output     the groups whose noisy total is above ``threshold``, with that noisy total
noise      discrete Gaussian of variance ``sigma_squared``, one draw per group
guarantee  ``delta``-approximate ``l2_squared / (2 * sigma_squared)``-zCDP
neighbours add or remove one user
========== ==================================================================================

**Reference** Contribution bounding for user-level histograms (ICML 2023), Algorithm 3, with
Gaussian noise, and equal weights or values of a bounded norm in place of sampled tokens.

**Errata** The printed Algorithm 3 adds noise to the support *before* clipping: a user with very
many groups of their own then passes the threshold far more often than delta allows (368 times at
epsilon 1). Here the support is that of the bounded contributions.

The proof is in ``gaussian_threshold.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from headcount.accounting.calibrate import gaussian_sigma_squared
from headcount.accounting.tail import each_of, upper_point
from headcount.mechanisms.norm_threshold import unit_threshold
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.privacy.bounds import Bounds, NormBounds
from headcount.privacy.event import GaussianThreshold as GaussianThresholdEvent
from headcount.privacy.spend import Zcdp, require_delta

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query
    from headcount.privacy.sensitivity import Sensitivity


def _blocks(first: int, last: int) -> list[tuple[int, int]]:
    """Cut ``first..last`` into ranges whose ends are within two percent of each other."""
    blocks = []
    while first <= last:
        end = min(last, first + first // 50)
        blocks.append((first, end))
        first = end + 1
    return blocks


def threshold_for(bounds: Bounds | NormBounds, sigma_squared: Fraction, delta: Fraction) -> int:
    """The least threshold, nearly, at which one user's own groups leave with chance ``delta``.

    [GT3] A user whose ``k`` groups are all new gives each ``weight(k)``. Over a block of ``k`` the
    weight is largest at its start and the tail strictest at its end, so both are used. [GT4] under
    a norm alone, values may be split in any way.
    """
    sigma = math.sqrt(sigma_squared) * (1 + 1e-12)
    if isinstance(bounds, NormBounds):
        # Nine digits, rounded up: the same for every norm, so that the search is made once.
        per_norm = float(f"{sigma / bounds.max_norm:.9e}") * (1 + 2e-9)
        unit = unit_threshold(bounds.max_groups, per_norm, float(delta))
        return math.ceil(unit * bounds.max_norm * (1 + 1e-12))
    whole = min(bounds.full_groups, bounds.max_groups)
    blocks = [(whole, whole), *_blocks(whole + 1, bounds.max_groups)]
    highest = max(
        bounds.weight(start) + sigma * upper_point(each_of(float(delta), end))
        for start, end in blocks
    )
    return math.ceil(highest * (1 + 1e-12))


@dataclass(frozen=True, slots=True)
class GaussianThreshold:
    """Counts of groups found in the data; build with ``calibrate``."""

    bounds: Bounds | NormBounds
    sigma_squared: Fraction
    threshold: int
    delta: Fraction

    @classmethod
    def calibrate(cls, bounds: Bounds | NormBounds, spend: Zcdp) -> GaussianThreshold:
        """The least noise and threshold whose cost is at most ``spend``."""
        require_delta(spend)
        sigma_squared = gaussian_sigma_squared(bounds.sensitivity(), spend)
        threshold = threshold_for(bounds, sigma_squared, spend.delta)
        return cls(bounds, sigma_squared, threshold, spend.delta)

    def with_norm(self, norm: int, lattice_bits: int) -> GaussianThreshold:
        """The same release for users of norm ``norm`` rows, where this one is for a norm of 1.

        Noise and norm grow alike, so the cost is the same, exactly.
        """
        longest = norm << lattice_bits
        bounds = NormBounds(self.bounds.max_groups, longest, lattice_bits)
        sigma_squared = self.sigma_squared * longest**2
        threshold = threshold_for(bounds, sigma_squared, self.delta)
        return GaussianThreshold(bounds, sigma_squared, threshold, self.delta)

    @property
    def event(self) -> GaussianThresholdEvent:
        """What the ledger records."""
        return GaussianThresholdEvent(self.sensitivity.l2_squared, self.sigma_squared, self.delta)

    @property
    def sd(self) -> float:
        """The standard deviation of the noise, at most, in lattice units."""
        return math.sqrt(self.sigma_squared)

    def error_bound(self, confidence: float) -> float:
        """Half the width of the noise's interval; being above the threshold is not counted in."""
        return upper_point((1 - confidence) / 2) * self.sd

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one user can move the totals."""
        return self.bounds.sensitivity()

    @property
    def law(self) -> DiscreteGaussian:
        """What is added to every total."""
        return DiscreteGaussian(self.sigma_squared)

    def draw(
        self, query: Query[NDArray[np.int64]], chance: Chance
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Which rows leave, and their noisy totals. [GT1] one draw a row, [GT2] strictly above."""
        true_totals = query.answer(self.sensitivity)
        noisy_totals = chance.noisy(true_totals, self.law)
        kept = (noisy_totals > self.threshold).nonzero()[0]
        return kept, noisy_totals[kept]
