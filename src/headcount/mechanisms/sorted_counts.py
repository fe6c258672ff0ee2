"""Discrete Gaussian noise on sorted counts: how large groups are, but not which.

**Contract**

========== ==================================================================================
input      how many groups have each bounded count, as runs; a public number of positions
output     the counts in falling order, cut or padded with zeros to that many, each with noise
noise      discrete Gaussian of variance ``sigma_squared``, one draw per position
guarantee  ``l2_squared / (2 * sigma_squared)``-zCDP, delta 0
neighbours those of the ``Sensitivity`` it is built from
========== ==================================================================================

**Reference** Hay, Rastogi, Miklau and Suciu 2010, with Gaussian noise.

**Errata** The number of positions is part of the output's shape: taken from the data it says how
many groups there are, exactly. Here it is public, or a noisy number that was paid for.

The proof is in ``sorted_counts.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.calibrate import gaussian_sigma_squared
from headcount.errors import UsageError
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.postprocess.runs import Runs, chunks
from headcount.privacy.event import GaussianNoise
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query

MAX_POSITIONS = 1 << 30


@dataclass(frozen=True, slots=True)
class SortedCounts:
    """Noisy counts by rank; build with ``calibrate``."""

    sensitivity: Sensitivity
    sigma_squared: Fraction

    @classmethod
    def calibrate(cls, sensitivity: Sensitivity, spend: Zcdp) -> SortedCounts:
        """The least noise whose cost is at most ``spend``. [SO1] sorting moves nothing apart."""
        return cls(sensitivity, gaussian_sigma_squared(sensitivity, spend))

    @property
    def event(self) -> GaussianNoise:
        """What the ledger records."""
        return GaussianNoise(self.sensitivity.l2_squared, self.sigma_squared)

    @property
    def sd(self) -> float:
        """The standard deviation of the noise, at most."""
        return math.sqrt(self.sigma_squared)

    def draw(
        self,
        query: Query[Runs],
        n_positions: int,
        chance: Chance,
    ) -> Iterator[NDArray[np.int64]]:
        """Noisy counts in falling order of the true ones, chunk by chunk.

        [SO2] exactly ``n_positions`` of them, whatever the table holds; [SO3] one draw each.
        """
        return self.again(query.answer(self.sensitivity), n_positions, chance)

    def again(self, runs: Runs, n_positions: int, chance: Chance) -> Iterator[NDArray[np.int64]]:
        """The same of any counts: of public ones, to see what the noise does to them."""
        counts, groups = runs
        if not 1 <= n_positions <= MAX_POSITIONS:
            raise UsageError(f"n_positions must be 1 to {MAX_POSITIONS}, not {n_positions}.")
        law = DiscreteGaussian(self.sigma_squared)
        falling = np.argsort(-counts, kind="stable")
        for chunk in chunks(counts[falling], groups[falling], n_positions):
            yield chance.noisy(chunk, law)
