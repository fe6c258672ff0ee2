"""Several fresh samples together: one pair of laws that is at least as telling as any group.

The worst delta of all group sizes, as a function of ``exp(epsilon)``, is convex. Its values at the
points of a grid, joined by their lower convex hull, are nowhere below it: a convex function is
below its chords [ST6]. A convex function that starts at 1 and falls no faster than 1 is the profile
of a pair of discrete laws, whose masses are the changes of its slope: non-negative by construction,
and they are checked all the same. By Blackwell's theorem every group is post-processing of that
pair, so ``n`` samples, each chosen after the last was seen, are post-processing of ``n``
independent copies (Zhu, Dong and Wang 2022).

Copies are added up by plain convolution of non-negative numbers. Nothing cancels, so small deltas
keep their digits, which a Fourier transform would lose at about 1e-14. Mass that is cut off at the
ends, to keep arrays short, is not dropped: it counts as an infinite loss, on both sides [ST7].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.sampling.profile import SLACK, sup_profile
from headcount.errors import UsageError
from headcount.privacy.neighbours import Neighbours

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEPS = 160
TOP = 3
"""The grid: so many steps to the epsilon that matters, and so many times it in all."""

CRUMB = 1e-26
"""Mass this small at either end is given an infinite loss, unless more is allowed."""


@dataclass(frozen=True)
class Losses:
    """A pair of laws by its privacy loss: ``p`` and ``q`` at ``(first + i) * step``.

    Each side has some mass more where the other has nothing.
    """

    step: float
    first: int
    p: NDArray[np.float64]
    q: NDArray[np.float64]
    p_infinite: float
    q_infinite: float = 0.0

    def __post_init__(self) -> None:
        sides = ((self.p, self.p_infinite), (self.q, self.q_infinite))
        least = min(min(float(masses.min()), infinite) for masses, infinite in sides)
        most = max(float(masses.sum()) + infinite for masses, infinite in sides)
        if not (least >= 0 and most <= 1 + SLACK):
            raise ArithmeticError("the masses of a pair of laws must be 0 to 1 and add up to 1")

    @property
    def losses(self) -> NDArray[np.float64]:
        """The loss of every entry."""
        return np.arange(self.first, self.first + len(self.p), dtype=np.float64) * self.step

    @property
    def swapped(self) -> Losses:
        """The right side against the left."""
        first = -(self.first + len(self.p) - 1)
        return Losses(
            self.step, first, self.q[::-1], self.p[::-1], self.q_infinite, self.p_infinite
        )

    def plus(self, other: Losses, crumb: float = CRUMB) -> Losses:
        """Both, independently; up to ``crumb`` of mass at either end has an infinite loss [ST7]."""
        p, q = np.convolve(self.p, other.p), np.convolve(self.q, other.q)
        larger = np.maximum(p, q)
        before, beyond = np.cumsum(larger), np.cumsum(larger[::-1])[::-1]
        kept = np.flatnonzero((beyond >= crumb) & (before >= crumb))
        # Where next to nothing is left, one entry is kept, whatever it holds.
        low, high = (int(kept[0]), int(kept[-1]) + 1) if len(kept) else (0, 1)
        return Losses(
            self.step,
            self.first + other.first + low,
            p[low:high],
            q[low:high],
            _either(self.p_infinite, other.p_infinite) + float(p[:low].sum() + p[high:].sum()),
            _either(self.q_infinite, other.q_infinite) + float(q[:low].sum() + q[high:].sum()),
        )

    def times(self, n: int, crumb: float = CRUMB) -> Losses:
        """``n`` independent copies."""
        if n < 1:
            raise UsageError(f"There must be at least one sample, not {n}.")
        if n == 1:
            return self
        half = self.times(n // 2, crumb)
        both = half.plus(half, crumb)
        return both if n % 2 == 0 else both.plus(self, crumb)

    def delta(self, epsilon: float) -> float:
        """The larger delta of the two directions, rounded up."""
        return min(1.0, max(self._over(epsilon), self.swapped._over(epsilon)) * (1 + SLACK))

    def _over(self, epsilon: float) -> float:
        losses = self.losses
        above = losses > epsilon
        over = self.p[above] * -np.expm1(epsilon - losses[above])
        return float(np.sum(over)) + self.p_infinite


def _either(one: float, other: float) -> float:
    return one + other - one * other


@lru_cache(maxsize=64)
def one_sample(rate: float, threshold: int, neighbours: Neighbours, reach: float) -> Losses:
    """One fresh sample in which a user is in one group, on a grid with a point at ``reach``."""
    step = reach / STEPS
    lowest = math.floor(math.log1p(-rate) / step) - 1
    epsilons = np.arange(lowest, TOP * STEPS + 1, dtype=np.float64) * step
    worst = sup_profile(rate, threshold, epsilons)
    pair = Losses(step, lowest, *_masses(np.exp(epsilons), worst, -lowest))
    if neighbours is Neighbours.ADD_REMOVE:
        return pair
    return pair.plus(pair.swapped)


def _masses(points: Floats, worst: Floats, zero: int) -> tuple[Floats, Floats, float]:
    """Masses whose profile is the lower convex hull of bounds on a grid [ST6].

    Below a loss of 0, which is at index ``zero``, it is the hull of what the profile has more than
    ``1 - point``, which is all of it if the two sides never differ. So small numbers are never a
    difference of large ones.
    """
    below = np.minimum(points * worst, points)[: zero + 1]
    above = np.minimum(worst, 1.0)[zero:]
    q = np.zeros(len(points))
    corners, slopes = _hull(points[: zero + 1], below)
    rising = np.maximum(slopes, 0.0)
    q[corners[:-1]] = np.diff(rising, prepend=0.0)
    corners, slopes = _hull(points[zero:], above)
    falling = np.minimum(slopes, 0.0)
    q[zero + corners[1:]] = np.diff(falling, append=0.0)
    q[zero] = max(0.0, 1 + float(falling[0]) - float(rising[-1]))
    return points * q, q, float(above[-1])


def _hull(points: Floats, heights: Floats) -> tuple[NDArray[np.intp], Floats]:
    """The corners of the lower convex hull, the first and last point among them, and its slopes."""
    corners, slopes = [0], [-math.inf]
    x, y = points.tolist(), heights.tolist()
    for i in range(1, len(x)):
        slope = (y[i] - y[corners[-1]]) / (x[i] - x[corners[-1]])
        while slope <= slopes[-1]:
            corners.pop()
            slopes.pop()
            slope = (y[i] - y[corners[-1]]) / (x[i] - x[corners[-1]])
        corners.append(i)
        slopes.append(slope)
    return np.array(corners), np.array(slopes[1:])


def composed_delta(
    rate: float, threshold: int, epsilon: float, neighbours: Neighbours, n_samples: int
) -> float:
    """A delta that ``n_samples`` fresh samples do not exceed at ``epsilon``, rounded up."""
    return one_sample(rate, threshold, neighbours, epsilon).times(n_samples).delta(epsilon)
