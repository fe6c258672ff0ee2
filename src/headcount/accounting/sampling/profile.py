"""The exact trade of epsilon and delta when a sample's counts are shown from a threshold on.

Every user of a group is kept with chance ``rate``, by a coin of their own. The count of kept users
is shown if it is at least ``threshold``; otherwise the group is not. One more user turns a group of
``size`` into one of ``size + 1``:

* *up* compares the larger group with the smaller. Its loss at a shown count ``x`` is
  ``log((1 - rate) (size + 1) / (size + 1 - x))``, and below 0 where the group is not shown.
* *down* compares the smaller with the larger. Its loss is at most ``-log(1 - rate)``.

**The worst size.** Put ``q = 1 - (1 - rate) exp(-epsilon)``, with a negative ``epsilon`` for
*down*. The worst size of all is ``floor((threshold - 1) / q)``, for both directions [ST5]: up to it
delta grows with the size, and from it on the threshold hides nothing that matters, so that a larger
group is post-processing of a smaller one [ST4]. With ``q <= 0`` *down* costs nothing. The proof is
step 2 of ``mechanisms/sample_threshold.md``.

**Rounding.** Sums of positive terms, each from the last by one product; the first from logarithms
that are summed to less than 1e3. What is left of a sum is bounded by a geometric series. Relative
errors stay below 1e-12; whoever adds values up or hands them out raises the result by ``SLACK``.

**Reference** Sample and threshold differential privacy (2022), Theorem 1, of which this is the
exact form. **Errata** The printed bound is safe and 7 to 12 times too cautious; its threshold by
Lambert's W is inverted wrongly, and 100,000 times too weak at a delta of 1e-8.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

SLACK = 1e-9
CRUMB = 1e-17
"""A sum ends when what is left is this share of it, and that is added."""

LEAST = 1e-290
"""Added to everything, for terms that are too small for doubles."""


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


def sup_up(rate: float, threshold: int, epsilon: float) -> float:
    """The delta of one more user in a group of any size, for ``epsilon >= 0``."""
    return float(sup_profile(rate, threshold, np.array([abs(epsilon)]))[0])


def sup_down(rate: float, threshold: int, epsilon: float) -> float:
    """The delta of one less user; 0 where ``rate <= 1 - exp(-epsilon)``."""
    return float(sup_profile(rate, threshold, np.array([-epsilon]))[0])


def sup_profile(rate: float, threshold: int, epsilons: Floats) -> Floats:
    """The worst delta of all sizes: of *up* at ``epsilon >= 0``, of *down* at ``-epsilon`` else."""
    q = -np.expm1(math.log1p(-rate) - epsilons)
    worst = np.zeros(len(epsilons))
    up, down = epsilons >= 0, (epsilons < 0) & (q > 0)
    # (1 - rate) exp(-epsilon) on its own: where it is small, 1 - q would have no digits.
    rest = (1 - rate) * np.exp(-epsilons[up])
    worst[up] = _up(rate, threshold, q[up], rest) + LEAST
    worst[down] = _down(rate, threshold, q[down]) + LEAST
    return worst


def _worst_size(threshold: int, q: Floats) -> Floats:
    """The size, without the user who makes the difference, at which delta is largest [ST5]."""
    return np.floor((threshold - 1) / q)


def _up(rate: float, threshold: int, q: Floats, rest: Floats) -> Floats:
    """The sum over counts from the threshold on of ``Bin(size + 1) - exp(epsilon) Bin(size)``."""
    larger = _worst_size(threshold, q) + 1
    masses = _binomial(larger, threshold, rate)
    total = np.zeros(len(q))
    for count in range(threshold, 1 << 30):
        # Both are one number; each loses its digits where the other does not.
        by_q = (count - q * larger) / (rest * larger)
        by_rest = 1 - (larger - count) / (rest * larger)
        total += masses * np.maximum(np.where(q < 0.5, by_q, by_rest), 0.0)
        ratios = np.maximum(larger - count, 0) / (count + 1) * (rate / (1 - rate))
        left = _after(masses, ratios)
        if np.all(left <= CRUMB * total):
            break
        masses = masses * ratios
    return total + left


def _down(rate: float, threshold: int, q: Floats) -> Floats:
    """The sum over the hidden counts of ``Bin(size) - exp(-epsilon) Bin(size + 1)``."""
    size = _worst_size(threshold, q)
    masses = _binomial(size, threshold - 1, rate)
    total, left = np.zeros(len(q)), np.zeros(len(q))
    for count in range(threshold - 1, -1, -1):
        total += masses * np.maximum((size + 1) * q - count, 0.0) / (size + 1 - count)
        ratios = count / (size + 1 - count) * ((1 - rate) / rate)
        left = _after(masses, ratios)
        if np.all(left <= CRUMB * total):
            break
        masses = masses * ratios
    return total + left


def _after(masses: Floats, ratios: Floats) -> Floats:
    """At most what is left of a sum whose terms fall by these ratios or faster."""
    return np.asarray(masses * ratios / np.maximum(1 - ratios, 1e-9))


def _binomial(size: Floats, count: int, rate: float) -> Floats:
    """The chances of a count among ``size`` coins, which are at least as many."""
    steps = np.arange(count, dtype=np.float64)
    logs = np.log((size[:, None] - steps) / (count - steps) * rate).sum(axis=1)
    return np.asarray(np.exp(logs + (size - count) * math.log1p(-rate)))
