"""A threshold for users who may split one l2 norm among their groups in any way.

Public arithmetic: it sees a bound, a noise and a delta, and no data. [GT4] of
``gaussian_threshold.md`` says why the threshold is safe.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.tail import SLACK, upper_tail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEP = 1.01
PRECISION = 1e-5
ROUNDS = 60


def _cells(max_groups: int) -> tuple[Floats, Floats]:
    """Values from 0 to the norm of 1, in cells: where each begins, and where it ends."""
    first = 0.25 / math.sqrt(max_groups)
    n = math.ceil(math.log(1 / first) / math.log(STEP))
    ends = np.minimum(first * STEP ** np.arange(n + 1), 1.0)
    ends[-1] = 1.0
    return np.concatenate([[0.0], ends[:-1]]), ends


def chance_at_most(max_groups: int, sigma: float, threshold: float) -> float:
    """A bound on the chance that any of one user's own groups leaves.

    The tail at the end of a cell bounds the chance of every value in it. A line in the square of
    the value that is above all of them, ``slope * x**2 + level``, bounds the sum over one user's
    groups by ``slope + max_groups * level``, whatever the values are; the best such line is found
    by search, and any line found is safe.
    """
    begins, ends = _cells(max_groups)
    points = ((threshold - ends) / sigma).tolist()
    tails = np.array([upper_tail(point) for point in points]) * (1 + SLACK)
    squares = begins[1:] ** 2 * (1 - SLACK)

    def total(level: float) -> float:
        slope = float(np.max((tails[1:] - level) / squares, initial=0.0))
        return (slope + max_groups * level) * (1 + SLACK)

    low, high = float(tails[0]), float(tails[-1])
    # The total is convex in the level: as a maximum of lines plus a line.
    for _ in range(ROUNDS):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if total(left) <= total(right) else (left, high)
    return min(total(float(tails[0])), total(low), total(high))


@lru_cache(maxsize=64)
def unit_threshold(max_groups: int, sigma: float, delta: float) -> float:
    """The least threshold, nearly, for users of norm 1 and noise of standard deviation ``sigma``.

    Thresholds of other norms are this one times the norm, when the noise is.
    """
    low, high = 1.0, 2.0 + sigma
    while chance_at_most(max_groups, sigma, high) > delta:
        low, high = high, 2 * high
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        too_low = chance_at_most(max_groups, sigma, middle) > delta
        low, high = (middle, high) if too_low else (low, middle)
    return high
