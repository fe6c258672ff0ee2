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

COARSE = 1.05
FINE = 24
MOST_ORDER = 1e5
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
    clipped = np.clip(losses, -down, up)
    left = _Side(clipped, kept_q, float(kept_p.sum()), float(kept_q.sum()), up)
    right = _Side(-clipped[::-1], kept_p[::-1], float(kept_q.sum()), float(kept_p.sum()), down)
    return max(left.rho(), right.rho()) * (1 + SLACK) + ROUNDING


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
        self.cap = cap

    def divergence(self, orders: NDArray[np.float64]) -> NDArray[np.float64]:
        """The Rényi divergence of each order, at most."""
        found = []
        for part in np.array_split(orders, max(1, len(orders) * len(self.losses) // 2_000_000)):
            exponents = part[:, None] * self.losses + self.logs
            top = exponents.max(axis=1)
            sums = top + np.log(np.exp(exponents - top[:, None]).sum(axis=1))
            scaled = sums - part * self.log_mass + (part - 1) * self.log_other
            found.append(scaled / (part - 1))
        most = self.cap - self.log_mass + self.log_other
        return np.asarray(np.clip(np.concatenate(found), 0.0, most))

    def rho(self) -> float:
        """The largest ratio of divergence and order, at most [Z1]."""
        n = math.ceil(math.log(MOST_ORDER) / math.log(COARSE))
        orders = np.asarray(COARSE ** np.arange(n + 1), np.float64)
        values = self.divergence(orders[1:])
        seen = float((values / orders[1:]).max())
        bounds = values / orders[:-1]
        largest: float = (self.cap - self.log_mass + self.log_other) / orders[-1]
        loose = np.flatnonzero(bounds > seen)
        largest = max(largest, float(np.delete(bounds, loose).max(initial=0.0)))
        inner = np.asarray(COARSE ** (np.arange(FINE + 1) / FINE), np.float64)
        finer = orders[loose][:, None] * inner
        values = self.divergence(finer[:, 1:].ravel()).reshape(len(loose), FINE)
        return max(largest, float((values / finer[:, :-1]).max(initial=0.0)))
