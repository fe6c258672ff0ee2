"""Tails of the normal law, to the safe side."""

from __future__ import annotations

import math
from statistics import NormalDist

# erfc is good to a few units in the last place; a relative slack this wide covers it many times.
SLACK = 1e-9


def upper_tail(point: float) -> float:
    """The chance that a standard normal exceeds ``point``."""
    return 0.5 * math.erfc(point / math.sqrt(2))


def upper_point(chance: float) -> float:
    """A point that a standard normal exceeds with at most ``chance``, and barely less."""
    point = -NormalDist().inv_cdf(chance)
    while upper_tail(point) > chance * (1 - SLACK):
        point += max(abs(point), 1.0) * SLACK
    return point


def each_of(chance: float, n: int) -> float:
    """The chance each of ``n`` independent events may have, for any of them to have ``chance``."""
    return -math.expm1(math.log1p(-chance) / n) * (1 - SLACK)
