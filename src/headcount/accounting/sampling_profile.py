"""The exact trade of epsilon and delta when a sample's counts are shown from a threshold on.

Every user of a group is kept with chance ``rate``, by a coin of their own. The count of kept users
is shown if it is at least ``threshold``; otherwise the group is not. One more user turns a group of
``size`` into one of ``size + 1``:

* *up* compares the larger group with the smaller. Its loss at a shown count ``x`` is
  ``log((1 - rate) (size + 1) / (size + 1 - x))``, and below 0 where the group is not shown.
* *down* compares the smaller with the larger. Its loss is at most ``-log(1 - rate)``.

**Which sizes matter.** Without a threshold, a group of ``size`` is one of a smaller size with coins
of further users added, which is post-processing. So from any size on, showing everything at that
size is as bad as all larger sizes together [S1]. Up, where the loss exceeds ``epsilon`` only for
counts that the threshold shows anyway, the two are the same: the worst size is below
``threshold / q + 1`` with ``q = 1 - (1 - rate) exp(-epsilon)`` [S2].

**Rounding.** Sums of positive terms in doubles, from logarithms of factorials below 1e5: relative
errors stay below 1e-10, and every value that is handed out is raised by ``SLACK``.

**Reference** Sample and threshold differential privacy (2022), Theorem 1, of which this is the
exact form. **Errata** The printed bound is safe and 7 to 12 times too cautious; its threshold by
Lambert's W is inverted wrongly, and 100,000 times too weak at a delta of 1e-8.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import special

if TYPE_CHECKING:
    from numpy.typing import NDArray

SLACK = 1e-9
CANCELLED = 5e-13
"""What differences of two sums may be wrong by, as a share of the sums."""

WIDTH = 13.0
N_ROWS = 512


def q_of(rate: float, epsilon: float) -> float:
    """The share of a group that a count must pass for its loss to pass ``epsilon``."""
    return -math.expm1(math.log1p(-rate) - epsilon)


def relative_entropy(share: float, rate: float) -> float:
    """Of a coin of chance ``share`` from one of chance ``rate``."""
    if share >= 1:
        return -math.log(rate)
    rest = (1 - share) * (math.log1p(-share) - math.log1p(-rate))
    return share * math.log(share / rate) + rest


def closed_form(rate: float, threshold: int, epsilon: float) -> float:
    """A plain bound on :func:`sup_up` for all sizes, by Chernoff; several times too large."""
    q = q_of(rate, epsilon)
    return math.exp(-threshold / q * relative_entropy(q, rate))


def log_masses(
    counts: NDArray[np.float64], size: NDArray[np.float64] | float, rate: float
) -> NDArray[np.float64]:
    """Logarithms of the chances of counts among ``size`` coins; minus infinity off support."""
    left = size - counts
    inside = special.gammaln(size + 1) - special.gammaln(counts + 1)
    inside = inside - special.gammaln(np.maximum(left, 0) + 1)
    logs = inside + counts * math.log(rate) + left * math.log1p(-rate)
    return np.where(left >= 0, logs, -np.inf)


def delta_up(rate: float, threshold: int, epsilon: float, size: int) -> float:
    """The exact delta of one more user in a group of ``size``, for ``epsilon >= 0``."""
    counts = np.arange(threshold, size + 2, dtype=np.float64)
    masses = np.exp(log_masses(counts, float(size + 1), rate))
    inverse_ratio = (size + 1 - counts) / ((1 - rate) * (size + 1))
    return float(np.sum(masses * np.maximum(0.0, 1 - math.exp(epsilon) * inverse_ratio)))


def sup_up(rate: float, threshold: int, epsilon: float) -> float:
    """The exact delta of one more user in a group of any size [S2]."""
    last = math.ceil(threshold / q_of(rate, epsilon) * (1 + 1e-12))
    sizes = range(threshold - 1, max(last, threshold) + 1)
    return max(delta_up(rate, threshold, epsilon, size) for size in sizes)


def sup_down(rate: float, threshold: int, epsilon: float) -> float:
    """The delta of one less user, at most; 0 where ``rate <= 1 - exp(-epsilon)``."""
    if -math.log1p(-rate) <= epsilon * (1 - 1e-12):
        return 0.0
    most = _most_size(rate, threshold, 20)
    return float(sup_profile(rate, threshold, np.array([-epsilon]), most)[0])


def _most_size(rate: float, threshold: int, times: int) -> int:
    return math.ceil(times * threshold / rate) + 1


def sup_profile(
    rate: float, threshold: int, epsilons: NDArray[np.float64], most_size: int
) -> NDArray[np.float64]:
    """The worst delta of all sizes: of *up* at ``epsilon >= 0``, of *down* at ``-epsilon`` else.

    Sizes are taken one by one, up as far as [S2] asks, down to ``most_size`` and the rest by [S1].
    """
    best = np.zeros(len(epsilons))
    is_up = epsilons >= 0
    for chosen, most in ((is_up, math.ceil(threshold / rate) + 1), (~is_up, most_size)):
        if not chosen.any():
            continue
        worst = np.zeros(int(chosen.sum()))
        for first in range(threshold - 1, most, N_ROWS):
            sizes = np.arange(first, min(first + N_ROWS, most))
            np.maximum(worst, _largest(rate, threshold, epsilons[chosen], sizes), out=worst)
        last = _largest(rate, 0, epsilons[chosen], np.array([most]))
        best[chosen] = np.maximum(worst, last)
    return best


def _largest(
    rate: float, threshold: int, epsilons: NDArray[np.float64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The largest delta among these sizes, for each epsilon."""
    larger = (sizes + 1).astype(np.float64)[:, None]
    middle = float(larger[-1, 0]) * rate
    top = max(threshold, math.ceil(middle + WIDTH * math.sqrt(middle) + 40))
    top = min(top, int(larger[-1, 0]))
    counts = np.arange(threshold, top + 1, dtype=np.float64)
    # Counts above the top are taken to have an infinite loss, which only raises delta.
    above = np.where(
        larger > top, special.bdtrc(top, np.maximum(larger, top).astype(np.int64), rate), 0.0
    )
    p = np.exp(log_masses(counts, larger, rate))
    q = p * np.maximum(larger - counts, 0) / ((1 - rate) * larger)
    best = np.zeros(len(epsilons))
    is_up = epsilons >= 0
    rows = np.arange(len(sizes))[:, None]
    if is_up.any():
        p_up, q_up = _from_top(p, above), _from_top(q, 0 * above)
        share = -np.expm1(math.log1p(-rate) - epsilons[is_up])
        first = np.floor(larger * share).astype(np.int64) + 1 - threshold
        first = np.clip(first, 0, len(counts))
        p_sum, q_sum = p_up[rows, first], q_up[rows, first]
        best[is_up] = _difference(p_sum, q_sum, np.exp(epsilons[is_up]))
    if not is_up.all():
        # The hidden counts are one output, whose loss is above that of every shown one.
        p_down = _from_hidden(p, _hidden(threshold, larger, rate))
        q_down = _from_hidden(q, _hidden(threshold, larger - 1, rate))
        eta = -epsilons[~is_up]
        share = 1 - (1 - rate) * np.exp(eta)
        last = np.ceil(larger * share).astype(np.int64) - threshold
        last = np.clip(last, 0, len(counts))
        p_sum, q_sum = p_down[rows, last], q_down[rows, last]
        below = _difference(q_sum, p_sum, np.exp(eta))
        best[~is_up] = np.where(eta >= -math.log1p(-rate), 0.0, below)
    return best


def _hidden(threshold: int, sizes: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """The chance that a count stays below the threshold."""
    if threshold == 0:
        return np.zeros_like(sizes)
    chance = special.bdtr(threshold - 1, np.maximum(sizes, threshold).astype(np.int64), rate)
    return np.where(sizes >= threshold, chance, 1.0)


def _from_hidden(masses: NDArray[np.float64], hidden: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums from what is hidden to each count."""
    return np.asarray(np.cumsum(np.concatenate([hidden, masses], axis=1), axis=1))


def _from_top(masses: NDArray[np.float64], above: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums from each count to the top, and beyond it."""
    columns = np.concatenate([masses, above], axis=1)
    return np.cumsum(columns[:, ::-1], axis=1)[:, ::-1]


def _difference(
    left: NDArray[np.float64], right: NDArray[np.float64], factor: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The largest ``left - factor * right`` of each column, not rounded below the truth."""
    over = np.maximum(left - factor * right, 0.0) + CANCELLED * left
    return np.asarray(over.max(axis=0))
