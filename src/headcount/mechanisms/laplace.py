"""Discrete Laplace noise on counts of known groups.

**Contract**

========== ==================================================================================
input      a vector of integers, one per public group; a missing group counts 0
output     the same vector plus independent discrete Laplace noise
noise      ``P(z) ∝ exp(-|z| / scale)`` on the integers, drawn exactly
guarantee  pure ``l1 / scale``-differential privacy; its rho is in ``accounting/laplace.md``
neighbours those of the ``Sensitivity`` it is built from
========== ==================================================================================

**Reference** Ghosh, Roughgarden and Sundararajan 2009; contribution bounding for user-level
histograms (ICML 2023), Algorithm 1.

**Errata** The printed Algorithm 1 states replacement and draws noise of scale C / epsilon, which is
right for adding or removing a user. Replaced users are up to 2 C apart in l1, and the scale here
follows the relation of the sensitivity.

The proof is in ``laplace.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from headcount.accounting.calibrate import laplace_scale
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.privacy.event import LaplaceNoise
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query


@dataclass(frozen=True, slots=True)
class Laplace:
    """Counts of known groups with discrete Laplace noise; build with ``calibrate``."""

    sensitivity: Sensitivity
    scale: Fraction

    threshold: ClassVar[None] = None

    @classmethod
    def calibrate(cls, sensitivity: Sensitivity, spend: Zcdp) -> Laplace:
        """The least noise whose cost is at most ``spend``. [LA3] the scale is rounded up."""
        return cls(sensitivity, laplace_scale(sensitivity.l1, spend.rho))

    def times(self, factor: int) -> Laplace:
        """For contributions ``factor`` times as long, at no greater cost [LA2]."""
        return Laplace(self.sensitivity.times(factor), self.scale * factor)

    @property
    def event(self) -> LaplaceNoise:
        """What the ledger records."""
        return LaplaceNoise(self.sensitivity.l1, self.scale)

    @property
    def sd(self) -> float:
        """The standard deviation of the noise, at most."""
        return math.sqrt(2) * float(self.scale)

    def error_bound(self, confidence: float) -> float:
        """Half the width of an interval that holds the bounded count with ``confidence``."""
        return float(self.scale) * math.log(1 / (1 - confidence))

    @property
    def law(self) -> DiscreteLaplace:
        """What is added to every entry."""
        return DiscreteLaplace(self.scale)

    def draw(self, query: Query[NDArray[np.int64]], chance: Chance) -> NDArray[np.int64]:
        """Ask, and add noise. [LA1] one independent draw per entry, of every public group."""
        return chance.noisy(query.answer(self.sensitivity), self.law)
