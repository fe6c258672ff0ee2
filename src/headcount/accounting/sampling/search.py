"""Searches for the best rate and threshold of a sample, by as few costs as can be.

A cost is what a rate and a threshold take, as a multiple of what may be taken: up to 1 they fit.
Nothing here has to be right for privacy: whoever asks certifies the answer as it will be used. A
search that goes astray gives groups that are larger than need be.

``threshold / rate`` falls and then rises with the threshold. So a threshold is better than the best
one so far exactly if the rate at which the two were equal fits: one cost tells most of them apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Cost = Callable[[float, int], float]

LEAST_RATE = 1e-7
LEAST_THRESHOLD = 2
COARSE, FINE = 4e-3, 5e-5
MAX_THRESHOLD = 2_000
MOST_STEPS = 24
MOST_COSTS = 60
LARGEST_STEP = 1.5
"""Of a logarithm of a rate, where nothing is known on the other side."""


def smallest_group(
    cost: Cost, first: int, near: float, most: Callable[[int], float]
) -> tuple[float, int] | None:
    """The rate and threshold of the least ``threshold / rate``; none if no rate fits at ``first``.

    ``near`` is a guess at the rate, and ``most`` a rate that the search need not pass.
    """
    threshold = first
    rate = largest_rate(cost, threshold, near, most(threshold), COARSE)
    if not rate:
        return None
    step = max(1, first // 4)
    for tolerance in (COARSE, FINE):
        rate = largest_rate(cost, threshold, rate, most(threshold), tolerance) or rate
        for _ in range(MOST_STEPS):
            size = threshold / rate
            for tried in (threshold + step, threshold - step):
                even = tried / size * (1 + tolerance / 2)
                if not _allowed(tried) or even > most(tried) or cost(even, tried) > 1:
                    continue
                rate = largest_rate(cost, tried, even, most(tried), tolerance) or even
                threshold = tried
                break
            else:
                step //= 2
                if not step:
                    break
        step = 1
    return rate, threshold


def _allowed(threshold: int) -> bool:
    return LEAST_THRESHOLD <= threshold <= MAX_THRESHOLD


def least_threshold(cost: Cost, rate: float) -> int | None:
    """The least threshold that fits at a rate, if there is one."""
    low, high = 1, LEAST_THRESHOLD
    while cost(rate, high) > 1:
        low, high = high, 2 * high
        if high > MAX_THRESHOLD:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if cost(rate, middle) <= 1 else (middle, high)
    return high


def largest_rate(cost: Cost, threshold: int, near: float, most: float, tolerance: float) -> float:
    """About the largest rate that fits, from one that is near it; 0 if none is found.

    A root of the cost's logarithm in that of the rate, which is at least about twice as steep. The
    search aims a little below it: at the first cost that is below 1 by less than the tolerance,
    the rate is too. By chords, and by halves where a cost is infinite or chords are slow.
    """
    low, high = math.nan, math.nan
    at_low, at_high = -math.inf, math.inf
    end, below = math.log(most), tolerance / 3
    at = min(math.log(near), end)
    for n in range(MOST_COSTS):
        value = cost(math.exp(at), threshold)
        if value <= 1:
            low, at_low = at, math.log(max(value, 1e-9))
            if low >= end or at_low >= -tolerance:
                break
        else:
            high, at_high = at, math.log(value)
            if at < math.log(LEAST_RATE):
                return 0.0
        if math.isnan(low):
            at = high - min(at_high / 2 + below, LARGEST_STEP)
        elif math.isnan(high):
            at = min(low + min(-at_low / 2 - below, LARGEST_STEP), end)
        elif high - low <= tolerance:
            break
        elif math.isinf(at_high) or n % 6 == 5:
            at = (low + high) / 2
        else:
            chord = low + (high - low) * at_low / (at_low - at_high)
            at = max(chord - below, (low + chord) / 2)
    return 0.0 if math.isnan(low) else math.exp(low)
