"""Discrete Laplace noise on every bucket of a public domain; only how many have each count leaves.

**Contract**

========== ==================================================================================
input      how many groups (or hash buckets) of a public domain have each count, as runs
output     how many have each noisy count
noise      discrete Laplace of the given scale, one draw per bucket, empty ones included
guarantee  pure ``l1 / scale``, of which ``accounting/laplace.md`` says the rho; delta 0
neighbours those of the ``Sensitivity`` it is built from
========== ==================================================================================

**Reference** Anonymized histograms in intermediate privacy models (2022), section 3.

**Errata** ``||n||_1 = n`` in the paper's Algorithm 2 needs a public number of users, which only
replacement with everyone taking part gives; nothing here uses it.

The proof is in ``laplace_histogram.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.calibrate import laplace_scale
from headcount.errors import UsageError
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.postprocess.runs import Runs, chunks, runs_of, together
from headcount.privacy.event import LaplaceNoise
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query

MAX_BUCKETS = 1 << 30


@dataclass(frozen=True, slots=True)
class LaplaceHistogram:
    """A noisy histogram without names; build with ``calibrate``."""

    sensitivity: Sensitivity
    scale: Fraction

    @classmethod
    def calibrate(cls, sensitivity: Sensitivity, spend: Zcdp) -> LaplaceHistogram:
        """The least noise whose cost is at most ``spend``; the scale is rounded up."""
        return cls(sensitivity, laplace_scale(sensitivity.l1, spend.rho))

    @property
    def event(self) -> LaplaceNoise:
        """What the ledger records."""
        return LaplaceNoise(self.sensitivity.l1, self.scale)

    @property
    def ratio(self) -> float:
        """The noise has mass proportional to ``ratio ** abs(z)``."""
        return math.exp(-1 / self.scale)

    @property
    def sd(self) -> float:
        """The standard deviation of the noise."""
        return math.sqrt(2 * self.ratio) / (1 - self.ratio)

    def draw(
        self,
        query: Query[Runs],
        n_buckets: int,
        chance: Chance,
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Noisy counts and how many buckets have each; ``n_buckets`` is public.

        [LH1] every bucket has a draw of its own, also those that nobody is in; [LH2] which bucket
        had which count does not leave.
        """
        if not 1 <= n_buckets <= MAX_BUCKETS:
            raise UsageError(f"There must be 1 to {MAX_BUCKETS} buckets, not {n_buckets}.")
        law = DiscreteLaplace(self.scale)
        return together(
            runs_of(chance.noisy(chunk, law))
            for chunk in chunks(*query.answer(self.sensitivity), n_buckets)
        )
