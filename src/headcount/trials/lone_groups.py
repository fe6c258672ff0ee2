"""Groups that one user alone is in, under noise and a threshold: how likely one leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from headcount.audit.divergence import off_support
from headcount.audit.exact import read_words
from headcount.audit.law import Law
from headcount.mechanisms.chance import Chance, Drawn
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.mechanisms.laplace_threshold import LaplaceThreshold
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.noise.entropy import Entropy
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.trials.given import given
from headcount.trials.seam import STEP, swapped

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


def least_shown(
    draw: Callable[[Query[Integers]], Any], claimed: Sensitivity, chance: Any
) -> tuple[int, Any]:
    """The least noisy total at which a group leaves, and the law of the noise on it.

    chance:  what ``draw`` draws from; for a while its noise comes out at what is tried
    """
    laws: list[Any] = []
    low, high = 0, STEP
    while high - low > 1:
        middle = (low + high) // 2

        def noisy(true_counts: Integers, law: Any, tried: int = middle) -> Integers:
            laws.append(law)
            return np.full(len(true_counts), tried, np.int64)

        with swapped(chance, "noisy", noisy):
            kept, _ = draw(given(claimed, np.zeros(1, np.int64)))
        low, high = (low, middle) if len(kept) else (middle, high)
    return high, laws[-1]


def shown_alone(claimed: Sensitivity, least: int, law: Any) -> float:
    """The chance, at the least, that a group leaves of a user who is alone in all of theirs.

    least:  the noisy total from which on a group leaves
    """
    n_groups = 2 ** np.arange(claimed.l0.bit_length())
    l1, l2 = float(claimed.l1), float(claimed.l2_squared) ** 0.5
    evenly = np.minimum(l1 / n_groups, l2 / np.sqrt(n_groups))
    beyond = least - np.floor(np.minimum(float(claimed.linf), evenly))
    if isinstance(law, DiscreteLaplace):
        ratio = np.exp(-1 / float(law.scale))
        tails = np.where(beyond > 0, ratio ** np.maximum(beyond, 0) / (1 + ratio), 0.5)
    else:
        tails = stats.norm.sf(beyond / float(law.sigma_squared) ** 0.5)
    return float((-np.expm1(n_groups * np.log1p(-tails))).max())


def highest_hidden(claimed: Sensitivity, law: Any, delta: float) -> int:
    """The highest noisy total at which no group may leave for this delta."""
    low, high = 0, STEP
    while high - low > 1:
        middle = (low + high) // 2
        is_shown = shown_alone(claimed, middle, law) > delta
        low, high = (middle, high) if is_shown else (low, middle)
    return low


def draw_at_least(
    mechanism: Thresholded, query: Query[Integers], chance: Chance
) -> tuple[npt.NDArray[np.intp], Integers]:
    """The shipped draw with ``>=`` in place of ``>``."""
    noisy_totals = chance.noisy(query.ask(), mechanism.law)
    kept = (noisy_totals >= mechanism.threshold).nonzero()[0]
    return kept, noisy_totals[kept]
