"""Groups that one user alone is in, under noise and a threshold: how likely one leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from headcount.audit.divergence import off_support
from headcount.audit.exact import read_words
from headcount.audit.law import Law
from headcount.mechanisms.chance import Chance, Drawn
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.mechanisms.laplace_threshold import LaplaceThreshold
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.noise.entropy import Entropy
from headcount.privacy.query import Query
from headcount.trials.given import given

Integers = npt.NDArray[np.int64]
Thresholded = GaussianThreshold | LaplaceThreshold
ABSENT = None
HIGH = 10_000
"""A count so far above any threshold that the group always leaves."""


@lru_cache(maxsize=256)
def law_of_group(mechanism: Thresholded, true_total: int) -> Law:
    """The law of one group: its noisy total, or absent."""

    def run(script: Entropy, n: int) -> list[int | None]:
        totals = np.full(n, true_total, dtype=np.int64)
        kept, noisy_totals = mechanism.draw(given(mechanism.sensitivity, totals), Drawn(script))
        left: list[int | None] = [ABSENT] * n
        for at, noisy_total in zip(kept.tolist(), noisy_totals.tolist(), strict=True):
            left[at] = noisy_total
        return left

    law = mechanism.law
    table = law.table() if isinstance(law, DiscreteGaussian) else law.tables()[0]
    return read_words(run, table.bounds)


def chance_to_leave(mechanism: Thresholded, true_totals: Iterable[int]) -> float:
    """The exact chance that any group leaves of those that one user alone gives these totals."""
    stays = 1.0
    for true_total, n in Counter(true_totals).items():
        law = law_of_group(mechanism, true_total)
        stays *= (1 - off_support(law, Law({ABSENT: Fraction(1)})).low) ** n
    return 1 - stays


def draw_at_least(
    mechanism: Thresholded, query: Query[Integers], chance: Chance
) -> tuple[npt.NDArray[np.intp], Integers]:
    """The shipped draw with ``>=`` in place of ``>``."""
    noisy_totals = chance.noisy(query.ask(), mechanism.law)
    kept = (noisy_totals >= mechanism.threshold).nonzero()[0]
    return kept, noisy_totals[kept]
