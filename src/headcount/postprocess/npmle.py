"""The most likely distribution of true counts, given noisy ones (a nonparametric MLE).

The noisy counts are a mixture of shifted noise laws. The mixing distribution of highest likelihood
is found by an interior-point method: a few dozen Newton steps to convergence, and the answer does
not depend on where the search starts.

**Reference** Kiefer and Wolfowitz 1956 (the estimator); Lindsay 1983 (its support).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from headcount.postprocess.likelihood import Likelihood, one_noise, two_noises
from headcount.postprocess.likelihood_many import first_far, many_noises
from headcount.postprocess.runs import together
from headcount.postprocess.unbiased import reach_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

MAX_STEPS = 300
GAP = 1e-2
"""The search ends when the log-likelihood can gain no more than this."""
LEAST_GAP = 1e-9
"""The same per noisy count, where there are so many that doubles tell no more."""
NEGLIGIBLE = 1e-4
"""Fewer groups than this at one count are an artefact of where the search ends."""
FINEST = 20
"""The scale of the noise is at most about twice this many steps of the grid."""


def most_likely(
    noisy_counts: Integers, noisy_groups: Integers, ratio: float, n_noises: int
) -> tuple[Integers, Floats]:
    """True counts and how many groups have each, real-valued; the groups add up to all of them.

    ``noisy_counts`` are distinct and rising, ``noisy_groups`` says how many there are of each.
    """
    step = math.floor(-1 / math.log(ratio) / FINEST)
    if step > 1:
        # Noise this wide cannot tell neighbours apart, and doubles could not either.
        coarse = together([(np.rint(noisy_counts / step).astype(np.int64), noisy_groups)])
        points, found = most_likely(*coarse, ratio**step, n_noises)
        return points * step, found
    alone = _alone(noisy_counts, reach_of(ratio, n_noises, 1e-9))
    if n_noises > 2:
        alone |= noisy_counts >= first_far(noisy_counts, ratio, n_noises)
    counts, groups = noisy_counts[~alone], noisy_groups[~alone]
    points, found = noisy_counts[alone], noisy_groups[alone].astype(np.float64)
    if len(counts):
        likelihood = _likelihood(counts, groups, ratio, n_noises)
        n_groups = int(groups.sum())
        points = np.concatenate([likelihood.points, points])
        found = np.concatenate([_solved(likelihood, n_groups) * n_groups, found])
    order = np.argsort(points, kind="stable")
    points, found = points[order], found[order]
    kept = found > NEGLIGIBLE
    return points[kept], found[kept] * (int(noisy_groups.sum()) / found[kept].sum())


def _likelihood(counts: Integers, groups: Integers, ratio: float, n_noises: int) -> Likelihood:
    if n_noises == 1:
        return one_noise(counts, groups, ratio)
    if n_noises == 2:
        return two_noises(counts, groups, ratio)
    return many_noises(counts, groups, ratio, n_noises)


def _alone(counts: Integers, far: int) -> NDArray[np.bool_]:
    """Counts so far from all others that noise cannot have brought them together."""
    gaps = np.diff(counts) > far
    alone: NDArray[np.bool_] = np.append(True, gaps) & np.append(gaps, True) & (counts > far)
    return alone


def _solved(likelihood: Likelihood, n_groups: int) -> Floats:
    """Primal-dual Newton steps; weights that sum to one."""
    n = len(likelihood.points)
    weights = np.full(n, 1 / n)
    mixture = likelihood.mixture(weights)
    slack = np.ones(n)
    for _ in range(MAX_STEPS):
        gap = float(weights @ slack)
        unmet = float(np.abs(likelihood.gain(mixture) - 1 + slack).max())
        if gap < max(GAP / n_groups, LEAST_GAP) and unmet < 1e-6:
            break
        barrier = 0.1 * gap / n
        try:
            change, moved = likelihood.newton(mixture, slack / weights, barrier / weights)
        except np.linalg.LinAlgError:
            break  # as near as doubles get
        dual = (barrier - slack * change) / weights - slack
        step = min(_longest(weights, change), _longest(mixture, moved))
        mixture = mixture + step * moved
        weights = weights + step * change
        slack = slack + _longest(slack, dual) * dual
    result: Floats = weights / weights.sum()
    return result


def _longest(values: Floats, change: Floats) -> float:
    """The longest step that keeps all values positive, at most one."""
    falling = change < 0
    if not falling.any():
        return 1.0
    return min(1.0, 0.995 * float(np.min(values[falling] / -change[falling])))
