"""How far two output laws are apart, as brackets that hold wherever the residual lies.

The lower ends refute claims; the upper ends say how much the residual leaves open.

**Reference.** Hockey-stick divergence: Barthe, Olmedo 2013. Bounded range: Durfee, Rogers 2019.
Concentrated differential privacy by Rényi divergences: Bun, Steinke 2016.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from headcount.audit.law import Floats, Law, aligned

STEPS = 200
ROUNDING = 2.0**-44
"""More than the error of a logarithm of masses above 1e-300, per unit of the order."""

ORDERS = (1.0001, 1.5, 2.0, 3.0, 4.0, 8.0, 16.0, 64.0)


@dataclass(frozen=True, slots=True)
class Bracket:
    """A number that is at least ``low`` and, as far as was looked, at most ``high``."""

    low: float
    high: float


def _hockey_stick(p: Floats, q: Floats, p_open: float, q_open: float, epsilon: float) -> Bracket:
    """The least delta with ``p(S) <= exp(epsilon) q(S) + delta`` for all sets ``S``."""
    over = float(np.maximum(0.0, p - math.exp(epsilon) * q).sum())
    return Bracket(max(0.0, over - math.exp(epsilon) * q_open), min(1.0, over + p_open))


def delta_at(left: Law, right: Law, epsilon: float) -> Bracket:
    """The delta at ``epsilon`` of two neighbours: the larger of both directions."""
    return _profile(left, right)(epsilon)


def _profile(left: Law, right: Law) -> Callable[[float], Bracket]:
    p, q = aligned(left, right)
    p_open, q_open = float(left.residual), float(right.residual)

    def profile(epsilon: float) -> Bracket:
        one = _hockey_stick(p, q, p_open, q_open, epsilon)
        other = _hockey_stick(q, p, q_open, p_open, epsilon)
        return Bracket(max(one.low, other.low), max(one.high, other.high))

    return profile


def epsilon_at(left: Law, right: Law, delta: float) -> Bracket:
    """The least epsilon at ``delta``; infinite where ``delta`` is below what is off support."""
    profile = _profile(left, right)
    return Bracket(
        _least_epsilon(lambda epsilon: profile(epsilon).low, delta),
        _least_epsilon(lambda epsilon: profile(epsilon).high, delta),
    )


def _least_epsilon(profile: Callable[[float], float], delta: float) -> float:
    low, high = 0.0, 1.0
    if profile(0.0) <= delta:
        return 0.0
    while profile(high) > delta:
        low, high = high, 2 * high
        if high > 600:
            return math.inf
    for _ in range(STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if profile(middle) > delta else (low, middle)
    return low


def pure_epsilon(left: Law, right: Law, least: float) -> Bracket:
    """The largest log-likelihood ratio over outputs of mass at least ``least`` on either side."""
    ratios = [_log_ratios(left, right, least), _log_ratios(right, left, least)]
    return Bracket(max(r[0] for r in ratios), max(r[1] for r in ratios))


def _log_ratios(left: Law, right: Law, least: float) -> tuple[float, float]:
    p, q = aligned(left, right)
    with np.errstate(divide="ignore"):
        low = np.log(p) - np.log(q + float(right.residual))
        high = np.log(p + float(left.residual)) - np.log(q)
    # What the residual leaves open says something only where neither side is about as small.
    seen = np.minimum(p, q) >= least
    return float(low[p >= least].max()), float(high[seen].max(initial=0.0))


def range_epsilon(left: Law, right: Law, least: float) -> Bracket:
    """The largest less the smallest log-likelihood ratio: what a bounded-range claim bounds."""
    forward, backward = _log_ratios(left, right, least), _log_ratios(right, left, least)
    return Bracket(forward[0] + backward[0], forward[1] + backward[1])


def rho(left: Law, right: Law, orders: Sequence[float] = ORDERS) -> float:
    """At least the rho of zero-concentrated privacy: the largest ``D_a / a`` over some orders."""
    return max(
        _renyi(one, other, order) / order
        for one, other in ((left, right), (right, left))
        for order in orders
    )


def _renyi(left: Law, right: Law, order: float) -> float:
    # Masses too low on the left and too high on the right only lower the sum.
    p, q = aligned(left, right)
    q = q + float(right.residual)
    chosen = p > 0
    if np.any(q[chosen] == 0):
        return math.inf
    exponents = order * np.log(p[chosen]) - (order - 1) * np.log(q[chosen])
    top = float(exponents.max())
    log_sum = top + math.log(float(np.exp(exponents - top).sum()))
    return (log_sum - ROUNDING * order) / (order - 1)


def rho_beyond(left: Law, right: Law, delta: float, orders: Sequence[float] = ORDERS) -> float:
    """At least the rho of zero-concentrated privacy that holds but for a chance of ``delta``."""
    return max(
        (_renyi_beyond(one, other, delta, order) + math.log1p(-delta)) / order
        for one, other in ((left, right), (right, left))
        for order in orders
    )


def _renyi_beyond(left: Law, right: Law, delta: float, order: float) -> float:
    """The divergence of what is left, whatever is left out of either side, but for a logarithm.

    What is left has masses of at most ``1 / (1 - delta)`` times the law's, on either side. Of all
    such masses on the left those are least apart whose ratio to the right is cut at one height.
    """
    p, q = aligned(left, right)
    p, q = p / (1 - delta), q + float(right.residual)
    most = 1 - float(left.residual) / (1 - delta)
    with np.errstate(divide="ignore"):
        falling = np.argsort(-(p / q))
    p, q = p[falling], q[falling]
    # What the smaller ratios leave of the whole, so many of the largest ones have to make up.
    left_over, below = most - (p.sum() - np.cumsum(p)), np.cumsum(q)
    if np.any(left_over[below == 0] > ROUNDING):
        return math.inf
    height = max(0.0, float((left_over[below > 0] / below[below > 0]).max()))
    kept = np.minimum(p, height * q)
    chosen = kept > 0
    exponents = order * np.log(kept[chosen]) - (order - 1) * np.log(q[chosen])
    top = float(exponents.max())
    log_sum = top + math.log(float(np.exp(exponents - top).sum()))
    return (log_sum - ROUNDING * order) / (order - 1)


def off_support(left: Law, right: Law) -> Bracket:
    """The mass of outputs that one side has and the other cannot have, where nothing is open."""
    one = sum(float(m) for y, m in left.masses.items() if y not in right.masses)
    other = sum(float(m) for y, m in right.masses.items() if y not in left.masses)
    low = max(one - float(right.residual), other - float(left.residual))
    return Bracket(max(0.0, low), max(one + float(left.residual), other + float(right.residual)))
