"""From loads of hash buckets back to counts of groups, exactly but for the noise.

Groups thrown into ``B`` buckets by a hash add up where they collide. With ``g_t`` groups of count
``t`` the load of a bucket has the generating function ``P(z) = prod_t (1 + (z**t - 1) / B)**g_t``,
so the coefficients of ``log P`` are ``l_r = sum over t m = r of g_t (-1)**(m+1) / (m (B-1)**m)``:
one series logarithm and a triangular solve give ``g``.

With genuine probabilities and ``P_0 > 1/2`` the inverse stretches errors by at most
``1 / (2 P_0 - 1)``; with signed estimates, or with fewer empty buckets, nothing bounds them. So it
takes fitted loads only, and refuses when half of the buckets are in use.

**Errata** The anonymized histograms paper asks for more than ``4 n`` buckets and inverts by a
fixed-point argument; the logarithm is exact and needs ``P_0 > 1/2``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy.signal import fftconvolve

from headcount.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MAX_SERIES = 1 << 21
"""Loads beyond this are few and far apart: a collision moves them by less than a user or two."""
ECHOES = range(2, 9)
"""Further terms are below ``(B - 1)**-8``."""


def empty_share(groups: Floats, n_buckets: int) -> float:
    """The share of buckets that nothing was hashed into."""
    return 1 - float(groups.sum()) / n_buckets


def check_empty_share(groups: Floats, n_buckets: int) -> float:
    """Refuse loads that cannot be taken apart; the share of empty buckets otherwise."""
    share = empty_share(groups, n_buckets)
    if share <= 0.5:
        raise UsageError(
            f"{n_buckets:,} buckets are too few: at least half of them are in use, and collisions "
            "cannot be undone. Use more buckets, about two to four times as many as there are rows."
        )
    return share


def unhashed(
    counts: NDArray[np.int64], groups: Floats, n_buckets: int
) -> tuple[NDArray[np.int64], Floats]:
    """Counts of groups from loads of buckets; signed numbers, at every count up to the largest."""
    share = check_empty_share(groups, n_buckets)
    short = counts <= MAX_SERIES
    largest = int(counts[short].max(initial=0))
    series = np.zeros(largest + 1)
    series[0] = share
    series[counts[short]] = groups[short] / n_buckets
    logs = series_log(series)[1:]
    if largest:
        # The logarithm goes on beyond the largest load, mostly below zero. Its coefficients add up
        # to log P(1) - log P(0): what is cut off would be a surplus of large groups.
        logs[-1] += math.log(series.sum() / share) - logs.sum()
    found = (n_buckets - 1) * logs
    # An echo of t is at 2 t or beyond, so blocks that double see finished numbers only.
    start = 1
    while start <= largest:
        for m in ECHOES:
            echoed = np.arange(-(-start // m), min(2 * start - 1, largest) // m + 1)
            sign = 1 if m % 2 else -1
            found[m * echoed - 1] -= sign * found[echoed - 1] / (m * (n_buckets - 1.0) ** (m - 1))
        start *= 2
    everywhere = np.arange(1, largest + 1, dtype=np.int64)
    return (
        np.concatenate([everywhere, counts[~short]]),
        np.concatenate([found, groups[~short]]),
    )


def series_log(series: Floats) -> Floats:
    """The logarithm of a power series, in ``n log n`` steps."""
    n = len(series)
    if n == 1:
        return np.log(series)
    slope = series[1:] * np.arange(1, n)
    quotient = fftconvolve(slope, _series_inverse(series))[: n - 1]
    return np.concatenate([[math.log(series[0])], quotient / np.arange(1, n)])


def _series_inverse(series: Floats) -> Floats:
    """One over a power series, by Newton steps that double the number of right terms."""
    inverse = np.array([1 / series[0]])
    while len(inverse) < len(series):
        n = min(2 * len(inverse), len(series))
        error = -fftconvolve(series[:n], inverse)[:n]
        error[0] += 2
        inverse = fftconvolve(inverse, error)[:n]
    return inverse
