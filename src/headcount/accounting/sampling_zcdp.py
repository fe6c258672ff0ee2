"""What samples cost in the ledger's currency: the least rho we can certify at a given delta.

Let ``P`` and ``Q`` be the pair of laws of :mod:`headcount.accounting.sampling_composed`. Outputs
whose loss is above a cap keep only ``exp(cap)`` times the other side's mass, in both directions;
the caps are the least at which no more than ``delta`` is cut from either side. What is left,
scaled to 1, is the pair ``P'``, ``Q'``; ``P`` is ``P'`` but for a chance of at most ``delta``, and
``Q`` is ``Q'`` likewise. So the release is ``delta``-approximate ``rho``-zCDP (Bun and Steinke
2016) as soon as ``D_a(P' || Q') <= rho * a`` and ``D_a(Q' || P') <= rho * a`` for all ``a > 1``.

``D_a`` never falls as ``a`` grows. Between two points of a grid of orders it is at most its value
at the right one, and ``rho * a`` at least its value at the left one; beyond the last, ``D_a`` is
at most the cap [Z1]. Where that is loose the grid is made finer.

A typical loss is of the size of ``rate``, and only rare ones are near the cap: the rho is many
times below the ``epsilon**2 / 2`` of a pure guarantee of the same cap.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.sampling_composed import Losses
from headcount.accounting.sampling_profile import SLACK

if TYPE_CHECKING:
    from numpy.typing import NDArray

RATIO = 1.25
N_ORDERS = 52
FINER = 6
LEVELS = 3
"""Orders up to 100,000; between neighbours the last grid has a step of 0.6 percent."""

ROUNDING = 1e-12


def rho_of(pair: Losses, delta: float) -> float:
    """A rho at which the pair is ``delta``-approximate zCDP, rounded up; infinite if none is."""
    if max(pair.p_infinite, pair.q_infinite) >= delta:
        return math.inf
    goal = delta * (1 - SLACK)
    up = _least_cap(pair.p[::-1], pair.q[::-1], pair.p_infinite, goal)
    down = _least_cap(pair.q, pair.p, pair.q_infinite, goal)
    losses = pair.losses
    kept_p = np.where(losses > up, math.exp(up) * pair.q, pair.p)
    kept_q = np.where(losses < -down, math.exp(down) * pair.p, pair.q)
    clipped, place = np.unique(np.clip(losses, -down, up), return_inverse=True)
    kept_p, kept_q = _added(kept_p, place), _added(kept_q, place)
    left = _Side(clipped, kept_q, float(kept_p.sum()), float(kept_q.sum()), up)
    right = _Side(-clipped, kept_p, float(kept_q.sum()), float(kept_p.sum()), down)
    return max(left.rho(), right.rho()) * (1 + SLACK) + ROUNDING


def _added(masses: NDArray[np.float64], place: NDArray[np.intp]) -> NDArray[np.float64]:
    """Masses of one and the same loss, added up."""
    return np.asarray(np.bincount(place, masses), np.float64)


def _least_cap(
    left: NDArray[np.float64], right: NDArray[np.float64], infinite: float, delta: float
) -> float:
    """The least loss above which no more than ``delta`` of the left side has to be cut.

    Both come with the largest loss first. Whatever set of outputs has the largest losses, its
    left mass may exceed ``exp(cap)`` times its right mass by ``delta`` at most.
    """
    excess = np.cumsum(left) + infinite - delta
    against = np.cumsum(right)
    seen = excess > 0
    if not seen.any():
        return 0.0
    with np.errstate(divide="ignore"):
        return max(0.0, float(np.log(excess[seen] / against[seen]).max()) * (1 + ROUNDING))


class _Side:
    """One direction of a capped pair: losses, and the masses of the side they are against."""

    def __init__(
        self,
        losses: NDArray[np.float64],
        masses: NDArray[np.float64],
        mass: float,
        other_mass: float,
        cap: float,
    ) -> None:
        seen = masses > 0
        self.losses, self.logs = losses[seen], np.log(masses[seen])
        self.log_mass, self.log_other = math.log(mass), math.log(other_mass)
        self.most = cap - self.log_mass + self.log_other

    def divergence(self, orders: NDArray[np.float64]) -> NDArray[np.float64]:
        """The Rényi divergence of each order, at most."""
        exponents = orders[:, None] * self.losses + self.logs
        top = exponents.max(axis=1)
        sums = top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))
        scaled = sums - orders * self.log_mass + (orders - 1) * self.log_other
        return np.asarray(np.clip(scaled / (orders - 1), 0.0, self.most))

    def rho(self) -> float:
        """The largest ratio of divergence and order, at most [Z1]."""
        lefts, ratio = RATIO ** np.arange(N_ORDERS, dtype=np.float64), RATIO
        seen, last = 0.0, 0.0
        largest = self.most / float(lefts[-1] * RATIO)
        for _ in range(LEVELS):
            rights = lefts * ratio
            values = self.divergence(rights)
            seen = max(seen, float((values / rights).max(initial=0.0)))
            bounds = values / lefts
            loose = bounds > seen
            largest = max(largest, float(bounds[~loose].max(initial=0.0)))
            last = float(bounds.max(initial=0.0))
            ratio = ratio ** (1 / FINER)
            lefts = (lefts[loose][:, None] * ratio ** np.arange(FINER)).ravel()
        return max(largest, last)
