"""How far off the properties of a fit are, from the fit and the noise's law alone.

A property that adds ``g(count)`` over groups has an unbiased estimate that adds ``(K g)(noisy
count)``, with ``K`` the inverse of the noise; its variance, at the fitted counts, is what is stated
here. The most likely distribution does no worse, up to a bias that shrinks with the error itself.
Properties that are not sums go by their derivative. Unbiased estimates from several noises are far
worse than the most likely distribution; ``n`` noises are counted as one of the ``n``-th root of the
ratio, which is what their measured errors come to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from headcount.postprocess.frequencies import MAX_COVERAGE, Errors
from headcount.postprocess.unbiased import inverse_kernel, noise_masses, reach_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Property = Callable[[Floats], Floats]

ONE_NOISE = 3.1, 0.58
MORE_NOISES = 0.47, 0.74
OF_EPSILON = 1.47
"""Fitted to measured l1 errors: factor and power of users and buckets, power of 1 / epsilon."""
CHUNK = 2048
MAX_REACH = 5000
"""Noise that reaches further leaves nothing to state but that the error has no useful limit."""
USUAL_STRETCH = 4.7
"""What undoing collisions does in twice as many buckets as users, where the law was fitted."""


def expected_l1(total: float, n_buckets: int, ratio: float, n_noises: int) -> float:
    """The l1 error to expect, within a factor of about 1.5, and of 4 for very strong noise.

    In the law, epsilon is that of replacing one user, divided by the number of noises. With more
    than one, errors fall more slowly with size: their sum is smooth, and hides more.
    """
    factor, of_size = ONE_NOISE if n_noises == 1 else MORE_NOISES
    epsilon = -2 * math.log(ratio) / n_noises
    return float(factor * (total + n_buckets) ** of_size / epsilon**OF_EPSILON)


def laplace_errors(
    counts: Integers, groups: Floats, n_buckets: int, ratio: float, n_noises: int, stretch: float
) -> Errors:
    """The errors of a fit; ``stretch`` is what undoing hash collisions does to them at most."""
    total = float(counts @ groups)
    logs = np.log(counts.astype(np.float64)) if len(counts) else np.zeros(0)
    mean_log = float((counts * groups) @ logs) / max(total, 1.0)
    once, twice = (float(groups[counts == r].sum()) for r in (1, 2))
    ratio_once = once / twice if twice >= 1 else math.nan
    empty = max(0.0, n_buckets - float(groups.sum()))
    points = np.concatenate([np.zeros(1), counts])
    expected = np.concatenate([[empty], groups])

    def rmse(property_: Property) -> float:
        return stretch * linear_rmse(property_, points, expected, ratio ** (1 / n_noises))

    def entropy(r: Floats) -> Floats:
        # The derivative of log(total) - sum(r log r) / total.
        derivative: Floats = r * (1 + mean_log - np.log(np.maximum(r, 1.0))) / max(total, 1.0)
        return derivative

    def support(r: Floats) -> Floats:
        derivative: Floats = (r >= 1) + ratio_once * (r == 1) - ratio_once**2 / 2 * (r == 2)
        return derivative

    return Errors(
        l1=expected_l1(total, n_buckets, ratio, n_noises) * max(1.0, stretch / USUAL_STRETCH),
        distinct=rmse(lambda r: (r >= 1).astype(np.float64)),
        total=rmse(lambda r: r),
        entropy=rmse(entropy),
        coverage=rmse(lambda r: -np.power(-MAX_COVERAGE, np.minimum(r, 1000.0))),
        support_size=rmse(support) if twice >= 1 else math.nan,
    )


def linear_rmse(property_: Property, points: Floats, expected: Floats, ratio: float) -> float:
    """The sd of the unbiased estimate of ``sum(expected * property(points))``; 0 below count 1."""
    kernel = inverse_kernel(ratio, 1)
    reach = reach_of(ratio, 1, 1e-6)
    if reach > MAX_REACH:
        return math.inf
    masses = noise_masses(ratio, 1, reach)

    def value(r: Floats) -> Floats:
        return np.where(r >= 1, property_(np.maximum(r, 1.0)), 0.0)

    variance = 0.0
    around = np.arange(-reach - 1, reach + 2)
    for start in range(0, len(points), CHUNK):
        here = points[start : start + CHUNK, None]
        near = value(here + around)
        estimate = kernel[0] * near[:, :-2] + kernel[1] * near[:, 1:-1] + kernel[2] * near[:, 2:]
        squares = (estimate - value(here)) ** 2 @ masses
        variance += float(expected[start : start + CHUNK] @ squares)
    return math.sqrt(variance)


def group_sds(
    counts: Integers,
    noisy_counts: Integers,
    noisy_groups: Integers,
    ratio: float,
    n_noises: int,
) -> Floats:
    """The sd of the unbiased number of groups at each count, and no more than could be there."""
    squares = inverse_kernel(ratio, n_noises) ** 2
    variance = np.zeros(len(counts))
    for offset, weight in zip(range(-n_noises, n_noises + 1), squares, strict=True):
        variance += weight * _groups_in(noisy_counts, noisy_groups, counts, offset, offset)
    reach = reach_of(ratio, n_noises, 0.05)
    near = _groups_in(noisy_counts, noisy_groups, counts, -reach, reach)
    result: Floats = np.minimum(np.sqrt(variance), np.maximum(near, 1.0))
    return result


def _groups_in(
    noisy_counts: Integers, noisy_groups: Integers, counts: Integers, low: int, high: int
) -> Floats:
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(noisy_groups)])
    first = np.searchsorted(noisy_counts, counts + low, side="left")
    last = np.searchsorted(noisy_counts, counts + high, side="right")
    result: Floats = (sums[last] - sums[first]).astype(np.float64)
    return result
