"""From a noisy histogram to how many groups have each count.

The histogram has discrete Laplace noise on every bucket of a domain that was fixed before the data
were seen, empty ones included. Only how often each noisy count occurs is looked at, so memory does
not grow with the number of users or buckets.

**Reference** Anonymized histograms in intermediate privacy models (2022), Algorithm 1 (``"l1"``).

**Errata** At epsilon below about 0.3 the printed algorithm is often worse than no answer; the most
likely distribution (``"npmle"``, the default) has a smaller error throughout and states it. The
printed bound of the error, ``eps**-2.5``, is an upper bound and no prediction. Under REPLACE the
ratio of the noise is ``exp(-eps / 2)``; under ADD/REMOVE ``exp(-eps)``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from headcount.errors import UsageError
from headcount.postprocess.errors import group_sds, laplace_errors
from headcount.postprocess.frequencies import Frequencies, laplace_sd
from headcount.postprocess.hash_inverse import check_empty_share, unhashed
from headcount.postprocess.isotonic import non_increasing
from headcount.postprocess.npmle import most_likely
from headcount.postprocess.unbiased import at_least

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

METHODS = ("npmle", "l1", "l2")
MAX_NOISES = 3
"""Beyond so many noises the unbiased step has weights of hundreds, and only npmle is offered."""
FAR = 1e-3
"""The chance that the l2 variant allows for noise beyond its limits."""
STEP = 1e-3
"""Numbers of groups that differ by less than this are treated as equal before the l1 fit."""


def anonymized(
    values: Integers,
    multiplicities: Integers,
    *,
    ratio: float,
    n_noises: int = 1,
    buckets: int | None = None,
    n_events: int | None = None,
    method: str = "npmle",
) -> Frequencies:
    """How many groups have each count, from how many buckets have each noisy count.

    values:          the distinct noisy counts, rising
    multiplicities:  how many buckets have each, empty ones included
    ratio:           of the noise, whose mass is proportional to ``ratio ** abs(z)``
    n_noises:        how many such draws each count has
    buckets:         how many buckets groups were hashed into, when they were
    n_events:        the number of users or events, when it is public
    method:          ``"npmle"``, ``"l1"`` (the paper's), or ``"l2"`` (the paper's, with limits)
    """
    _check(values, multiplicities, ratio, n_noises, buckets, method)
    n_buckets = int(multiplicities.sum())
    most = n_buckets if n_events is None else min(n_buckets, n_events)
    if method == "npmle":
        counts, groups = most_likely(values, multiplicities, ratio, n_noises)
        counts, groups = counts[counts > 0], groups[counts > 0]
    else:
        counts, groups = algorithm_1(values, multiplicities, ratio, n_noises, most, method == "l2")
    stretch = 1.0
    if buckets is not None:
        stretch = 1 / (2 * check_empty_share(groups, buckets) - 1)
        counts, groups = _fitted(*unhashed(counts, groups, buckets), n_events)
    return Frequencies(
        counts=counts,
        groups=groups,
        sds=stretch * group_sds(counts, values, multiplicities, ratio, n_noises),
        errors=laplace_errors(counts, groups, n_buckets, ratio, n_noises, stretch),
        noise_sd=laplace_sd(ratio, n_noises),
    )


def algorithm_1(
    values: Integers,
    multiplicities: Integers,
    ratio: float,
    n_noises: int,
    most: int,
    limited: bool = False,
) -> tuple[Integers, Floats]:
    """The unbiased step, then the nearest falling integers.

    limited:  keep each number of groups within what the noise allows around the sorted noisy counts
    """
    largest = max(1, int(values[-1]))
    starts, targets = at_least(values, multiplicities, ratio, n_noises, largest)
    low = high = None
    if limited:
        far = math.ceil(math.log(2 * int(multiplicities.sum()) / FAR) / -math.log(ratio)) * n_noises
        edges = np.concatenate([starts, values - far + 1, values + far + 1])
        finer = np.unique(edges[(edges >= 1) & (edges <= largest)])
        targets = targets[np.searchsorted(starts, finer, side="right") - 1]
        starts = finer
        above = np.append(np.cumsum(multiplicities[::-1])[::-1], 0)
        low = np.minimum(above[np.searchsorted(values, starts + far)], most)
        high = np.minimum(above[np.searchsorted(values, starts - far)], most)
    ends = np.append(starts[1:], largest + 1) - 1
    fitted = non_increasing(ends - starts + 1, targets, most, low=low, high=high)
    return _steps(ends, fitted)


def _fitted(counts: Integers, groups: Floats, n_events: int | None) -> tuple[Integers, Floats]:
    """Falling whole numbers of groups at or above each count, nearest to signed ones."""
    if len(counts) == 0:
        return counts, groups
    targets = np.rint(np.cumsum(groups[::-1])[::-1] / STEP) * STEP
    ends = np.flatnonzero(np.append(np.diff(targets) != 0, True))
    lengths = np.diff(counts[ends], prepend=0)
    most = n_events if n_events is not None else max(0, math.ceil(float(targets.max())))
    return _steps(counts[ends], non_increasing(lengths, targets[ends], most))


def _steps(ends: Integers, fitted: Integers) -> tuple[Integers, Floats]:
    groups = fitted - np.append(fitted[1:], 0)
    return ends[groups > 0], groups[groups > 0].astype(np.float64)


def _check(
    values: Integers,
    multiplicities: Integers,
    ratio: float,
    n_noises: int,
    buckets: int | None,
    method: str,
) -> None:
    if method not in METHODS:
        raise UsageError(f"method must be one of {', '.join(METHODS)}, not {method!r}.")
    if not 0 < ratio < 1:
        raise UsageError(f"ratio must be above 0 and below 1, not {ratio}.")
    if n_noises < 1:
        raise UsageError(f"n_noises must be at least 1, not {n_noises}.")
    if n_noises > MAX_NOISES and method != "npmle":
        raise UsageError(
            f"method={method!r} cannot be used with {n_noises} draws of noise; use method='npmle', "
            "or merge fewer parts."
        )
    if len(values) == 0 or (np.diff(values) <= 0).any() or (multiplicities <= 0).any():
        raise UsageError("values must be distinct and rising, each with at least one bucket.")
    if buckets is not None and int(multiplicities.sum()) != buckets:
        raise UsageError(
            f"{int(multiplicities.sum()):,} noisy counts were given for {buckets:,} buckets. "
            "Empty buckets count too: without their noise the number of groups would be bare."
        )
