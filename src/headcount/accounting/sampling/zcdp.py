"""What samples cost in the ledger's currency: the least rho we can certify at a given delta.

Let ``P`` and ``Q`` be the pair of laws of :mod:`headcount.accounting.sampling.composed`. Outputs
whose loss is above a cap keep only ``exp(cap)`` times the other side's mass, in both directions;
the caps are the least at which no more than ``delta`` is cut from either side. What is left,
scaled to 1, is the pair ``P'``, ``Q'``; ``P`` is ``P'`` but for a chance of at most ``delta``, and
``Q`` is ``Q'`` likewise. So the release is ``delta``-approximate ``rho``-zCDP (Bun and Steinke
2016) as soon as ``D_a(P' || Q') <= rho * a`` and ``D_a(Q' || P') <= rho * a`` for all ``a > 1``.

``K(a) = (a - 1) D_a`` is convex and 0 at 1. Between two points of a grid of orders it is at most
its chord ``A + B a``, and the largest ``(A + B a) / (a (a - 1))`` between them has a formula. Up to
the first order ``D_a`` is at most its value there, and beyond the last at most the cap [ST8]. Where
that is loose the grid is made finer.

A typical loss is of the size of ``rate``, and only rare ones are near the cap: the rho is many
times below the ``epsilon**2 / 2`` of a pure guarantee of the same cap.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.sampling.composed import Losses
from headcount.accounting.sampling.profile import SLACK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FIRST = 1 / 256
RATIO = 1.6
N_ORDERS = 37
FINER = 6
LEVELS = 3
"""Orders less 1 are from ``FIRST`` to 80,000; twice, each step is divided where that helps."""

ENOUGH = 2e-4
"""A bound that is so little above what is attained is not made finer."""

ROUNDING = 1e-12
MOST_CAP = 600.0
"""Powers of larger caps do not fit into doubles; no release comes near it."""


def rho_of(pair: Losses, delta: float) -> float:
    """A rho at which the pair is ``delta``-approximate zCDP, rounded up; infinite if none is."""
    if max(pair.p_infinite, pair.q_infinite) >= delta:
        return math.inf
    goal = delta * (1 - SLACK)
    up = _least_cap(pair.p[::-1], pair.q[::-1], pair.p_infinite, goal)
    down = _least_cap(pair.q, pair.p, pair.q_infinite, goal)
    if max(up, down) > MOST_CAP:
        return math.inf
    losses = pair.losses
    kept_p = np.where(losses > up, math.exp(up) * pair.q, pair.p)
    kept_q = np.where(losses < -down, math.exp(down) * pair.p, pair.q)
    clipped, place = np.unique(np.clip(losses, -down, up), return_inverse=True)
    kept_p, kept_q = _added(kept_p, place), _added(kept_q, place)
    left = _Side(clipped, kept_q, float(kept_p.sum()), float(kept_q.sum()), up)
    right = _Side(-clipped, kept_p, float(kept_q.sum()), float(kept_p.sum()), down)
    return max(left.rho(), right.rho()) * (1 + SLACK) + ROUNDING


def _added(masses: Floats, place: NDArray[np.intp]) -> Floats:
    """Masses of one and the same loss, added up."""
    return np.asarray(np.bincount(place, masses), np.float64)


def _least_cap(left: Floats, right: Floats, infinite: float, delta: float) -> float:
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
        caps = np.log(excess[seen]) - np.log(against[seen])
    return max(0.0, float(caps.max()) * (1 + ROUNDING))


class _Side:
    """One direction of a capped pair: losses, and the masses of the side they are against."""

    def __init__(
        self,
        losses: Floats,
        masses: Floats,
        mass: float,
        other_mass: float,
        cap: float,
    ) -> None:
        seen = masses > 0
        self.losses, self.logs = losses[seen], np.log(masses[seen])
        self.log_mass, self.log_other = math.log(mass), math.log(other_mass)
        self.most = cap - self.log_mass + self.log_other

    def moments(self, orders: Floats) -> Floats:
        """``(a - 1) D_a`` for each order ``a``."""
        exponents = orders[:, None] * self.losses
        exponents += self.logs
        top = exponents.max(axis=1)
        exponents -= top[:, None]
        sums = top + np.log(np.exp(exponents, out=exponents).sum(axis=1))
        scaled = sums - orders * self.log_mass + (orders - 1) * self.log_other
        return np.asarray(np.clip(scaled, 0.0, (orders - 1) * self.most))

    def rho(self) -> float:
        """The largest ratio of divergence and order, at most [ST8]."""
        orders = 1 + FIRST * RATIO ** np.arange(N_ORDERS, dtype=np.float64)
        grid = (orders, self.moments(orders))
        largest = max(float(grid[1][0]) / FIRST, self.most / float(orders[-1]))
        lefts, rights = (grid[0][:-1], grid[1][:-1]), (grid[0][1:], grid[1][1:])
        seen = _attained(*grid)
        for _ in range(LEVELS - 1):
            bounds = np.minimum(_chords(*lefts, *rights), self.most / lefts[0])
            loose = bounds > seen * (1 + ENOUGH)
            largest = max(largest, float(bounds[~loose].max(initial=0.0)))
            orders = _between(lefts[0][loose], rights[0][loose])
            moments = self.moments(orders.ravel()).reshape(orders.shape)
            seen = max(seen, _attained(orders, moments))
            lefts = orders[:, :-1].ravel(), moments[:, :-1].ravel()
            rights = orders[:, 1:].ravel(), moments[:, 1:].ravel()
        bounds = np.minimum(_chords(*lefts, *rights), self.most / lefts[0])
        return max(largest, seen, float(bounds.max(initial=0.0)))


def _attained(orders: Floats, moments: Floats) -> float:
    return float((moments / (orders * (orders - 1))).max(initial=0.0))


def _between(lefts: Floats, rights: Floats) -> Floats:
    """Orders from left to right, both included, in equal ratios of what they are above 1."""
    ratios = ((rights - 1) / (lefts - 1))[:, None]
    return np.asarray(1 + (lefts - 1)[:, None] * ratios ** (np.arange(FINER + 1) / FINER))


def _chords(lefts: Floats, at_left: Floats, rights: Floats, at_right: Floats) -> Floats:
    """The largest ``chord(a) / (a (a - 1))`` between orders.

    The chord at 1 is at most 0, since the moments are convex and 0 there. So beyond 1 there is one
    extreme, a largest one, at the larger root of ``B a^2 + 2 A a - A``.
    """
    slope = (at_right - at_left) / (rights - lefts)
    start = np.minimum(at_left - slope * lefts, -slope)
    root = np.sqrt(np.maximum(start * (start + slope), 0.0)) - start
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.where(slope > 0, root / slope, lefts)
    order = np.clip(order, lefts, rights)
    chord = at_left + np.maximum(slope, 0.0) * (order - lefts)
    return np.asarray(chord / (order * (order - 1)))
