"""The likelihood of a distribution of true counts, and its Newton steps, for one or two noises.

The law of the noise, as a function of the distance of two counts, is the covariance of an
autoregressive process, whose inverse ``Q`` is banded: weights are ``Q m``, with ``m`` the mixture
at the grid's points, and a Newton step in ``m`` is one banded solve.

With one noise any rising grid will do, and it need only hold zero and the noisy counts that were
seen: between two of them the gradient is convex, so the best distribution has no weight there. Gaps
cost nothing then, and a largest count of a million costs no more than a small one.

Below zero there are no weights, so the mixture there follows from its values at the first points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
from scipy.linalg import solveh_banded

from headcount.postprocess.unbiased import reach_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


class Likelihood(Protocol):
    """Log-likelihood of weights on ``points``, per noisy count, minus the weights' sum."""

    @property
    def points(self) -> Integers:
        """Where weights may be."""
        ...

    def mixture(self, weights: Floats) -> Floats:
        """The law of a noisy count under these weights, up to a factor."""
        ...

    def gain(self, mixture: Floats) -> Floats:
        """What a weight at each point would add to the log-likelihood."""
        ...

    def newton(self, mixture: Floats, scale: Floats, push: Floats) -> tuple[Floats, Floats]:
        """The step of weights and mixture for ``gain - 1 + push``, curvature plus ``scale``."""
        ...


@dataclass(frozen=True, slots=True)
class Banded:
    """Weights and mixture on one grid, each a banded step from the other."""

    points: Integers
    precision: Floats
    """``Q``: row ``band + d`` holds the entries ``(i, i + d)``."""
    seen: Floats
    below: Floats
    """One row a noisy count below zero: its mixture from the first points of the grid."""
    seen_below: Floats

    @property
    def band(self) -> int:
        """How far from the diagonal ``Q`` reaches."""
        return len(self.precision) // 2

    def mixture(self, weights: Floats) -> Floats:
        """Solve ``Q m = weights``."""
        band, n = self.band, len(weights)
        upper = np.zeros((band + 1, n))
        for d in range(min(band, n - 1) + 1):
            upper[band - d, d:] = self.precision[band + d, : n - d]
        return _solve(upper, weights)

    def gain(self, mixture: Floats) -> Floats:
        """The law is symmetric, so this is the mixture of the slope."""
        return self.mixture(self._slope(mixture))

    def newton(self, mixture: Floats, scale: Floats, push: Floats) -> tuple[Floats, Floats]:
        """A step in the mixture, from which that of the weights follows."""
        right = self._slope(mixture) + self._weights(push - 1)
        moved = _solve(self._curvature(mixture, scale), right)
        return self._weights(moved), moved

    def _weights(self, mixture: Floats) -> Floats:
        band, n = self.band, len(mixture)
        weights = np.zeros(n)
        for d in range(-band, band + 1):
            low, high = max(0, -d), n - max(0, d)
            weights[low:high] += self.precision[band + d, low:high] * mixture[low + d : high + d]
        return weights

    def _slope(self, mixture: Floats) -> Floats:
        slope = self.seen / mixture
        if len(self.seen_below):
            below = self.below @ mixture[: self.band]
            slope[: self.band] += self.below.T @ (self.seen_below / below)
        return slope

    def _curvature(self, mixture: Floats, scale: Floats) -> Floats:
        """Of the log-likelihood, plus ``Q diag(scale) Q``: upper bands."""
        band, n = self.band, len(mixture)
        upper = np.zeros((2 * band + 1, n))
        upper[-1] = self.seen / mixture**2
        for left in range(-band, band + 1):
            for right in range(left, band + 1):
                low, high = max(0, -left), n - max(0, right)
                first = self.precision[band + left, low:high]
                second = self.precision[band + right, low:high]
                product = first * scale[low:high] * second
                upper[2 * band - (right - left), low + right : high + right] += product
        if len(self.seen_below):
            below = self.below @ mixture[:band]
            corner = (self.below.T * (self.seen_below / below**2)) @ self.below
            for i in range(band):
                for j in range(i, band):
                    upper[2 * band - (j - i), j] += corner[i, j]
        return upper


def _solve(upper: Floats, right: Floats) -> Floats:
    n = len(right)
    solution: Floats = solveh_banded(upper[max(0, len(upper) - n) :], right)
    return solution


def one_noise(counts: Integers, groups: Integers, ratio: float) -> Banded:
    """Zero and every positive noisy count; what is below zero says what zero says."""
    positive = counts > 0
    points = np.concatenate([np.zeros(1, np.int64), counts[positive]])
    seen = np.concatenate([[groups[~positive].sum()], groups[positive]]).astype(np.float64)
    gaps = np.log(ratio) * np.diff(points)
    inside = 1 / -np.expm1(2 * gaps)
    precision = np.zeros((3, len(points)))
    precision[1] = 1.0
    precision[1, :-1] += np.exp(2 * gaps) * inside
    precision[1, 1:] += np.exp(2 * gaps) * inside
    precision[2, :-1] = precision[0, 1:] = -np.exp(gaps) * inside
    return Banded(points, precision, seen / seen.sum(), np.zeros((0, 1)), np.zeros(0))


def two_noises(counts: Integers, groups: Integers, ratio: float) -> Banded:
    """Every integer near a noisy count; longer gaps are cut to where the law has faded."""
    positive = counts >= 0
    kept = np.unique(np.append(counts[positive], 0))
    steps = np.minimum(np.diff(kept), 2 * reach_of(ratio, 2, 1e-9))
    places = np.concatenate([np.zeros(1, np.int64), np.cumsum(steps)])
    n = max(int(places[-1]) + 1, 4)
    behind = np.searchsorted(places, np.arange(n), side="right") - 1
    seen = np.zeros(n)
    seen[places[np.searchsorted(kept, counts[positive])]] = groups[positive]
    total = float(groups.sum())
    return Banded(
        kept[behind] + np.arange(n) - places[behind],
        _precision(ratio, n),
        seen / total,
        _below(ratio, -counts[~positive]),
        groups[~positive] / total,
    )


def _precision(ratio: float, n: int) -> Floats:
    """Two noises: the inverse covariance of the process's first two values, then innovations."""
    polynomial = np.array([1.0, -2 * ratio, ratio**2])
    # The masses at distances 0, 1 and 2, up to a factor.
    distances = np.arange(3)
    masses = (distances + (1 + ratio**2) / (1 - ratio**2)) * ratio**distances
    # In the scale where an innovation has variance one.
    variances = masses[:2] / float(polynomial @ masses[:3])
    start = np.linalg.inv(variances[[[0, 1], [1, 0]]])
    precision = np.zeros((5, n))
    for i in range(2):
        for j in range(2):
            precision[2 + j - i, i] += start[i, j]
    for i, first in enumerate(polynomial):
        for j, second in enumerate(polynomial):
            # The innovation at t looks at t - i and t - j.
            precision[2 + i - j, 2 - i : n - i] += first * second
    return precision


def _below(ratio: float, distances: Integers) -> Floats:
    """At ``-d`` the mixture is ``ratio**d * ((1 + d) * m[0] - d * ratio * m[1])``."""
    faded = ratio ** distances.astype(np.float64)
    return np.stack([faded * (1 + distances), -faded * distances * ratio], axis=1)
