"""Discrete Gaussian noise on counts of known groups.

**Contract**

========== ==================================================================================
input      a vector of integers, one per public group; a missing group counts 0
output     the same vector plus independent discrete Gaussian noise
noise      ``P(z) ∝ exp(-z**2 / (2 * sigma_squared))`` on the integers, drawn exactly
guarantee  ``l2_squared / (2 * sigma_squared)``-zCDP, delta 0
neighbours those of the ``Sensitivity`` it is built from
========== ==================================================================================

**Reference** Canonne, Kamath and Steinke 2020, Theorem 14; contribution bounding for user-level
histograms (ICML 2023), Algorithm 1.

**Errata** The printed Algorithm 1 states replacement and adds noise for add/remove: under
replacement the vectors of two users are up to sqrt(2) clips apart. Here the relation travels with
the sensitivity, so the noise always fits the claim.

The proof is in ``gaussian.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from headcount.accounting.calibrate import gaussian_sigma_squared
from headcount.accounting.tail import upper_point
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.privacy.event import GaussianNoise
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query


@dataclass(frozen=True, slots=True)
class Gaussian:
    """Counts of known groups with discrete Gaussian noise; build with ``calibrate``."""

    sensitivity: Sensitivity
    sigma_squared: Fraction

    threshold: ClassVar[None] = None

    @classmethod
    def calibrate(cls, sensitivity: Sensitivity, spend: Zcdp) -> Gaussian:
        """The least noise whose cost is at most ``spend``."""
        return cls(sensitivity, gaussian_sigma_squared(sensitivity, spend))

    def times(self, factor: int) -> Gaussian:
        """For contributions ``factor`` times as long, at the same cost [GA2]."""
        return Gaussian(self.sensitivity.times(factor), self.sigma_squared * factor**2)

    @property
    def event(self) -> GaussianNoise:
        """What the ledger records."""
        return GaussianNoise(self.sensitivity.l2_squared, self.sigma_squared)

    @property
    def sd(self) -> float:
        """The standard deviation of the noise, at most."""
        return math.sqrt(self.sigma_squared)

    def error_bound(self, confidence: float) -> float:
        """Half the width of an interval that holds the bounded count with ``confidence``."""
        return upper_point((1 - confidence) / 2) * self.sd

    @property
    def law(self) -> DiscreteGaussian:
        """What is added to every entry."""
        return DiscreteGaussian(self.sigma_squared)

    def draw(self, query: Query[NDArray[np.int64]], chance: Chance) -> NDArray[np.int64]:
        """Ask, and add noise. [GA1] one independent draw per entry, of every public group."""
        return chance.noisy(query.answer(self.sensitivity), self.law)
