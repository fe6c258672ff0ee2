"""Clopper-Pearson bounds on a probability, from the tail of the binomial law.

**Contract.** With ``k`` successes in ``n`` independent trials, ``lower(k, n, alpha)`` is above the
true probability with chance at most ``alpha``, and ``upper`` is below it with at most that.

**Reference.** Clopper, Pearson 1934. The tail is a regularised incomplete beta function, computed
by its continued fraction (Lentz's method); the bound is found by bisection and returned at the
outer end, so the search never makes it tighter than it is.
"""

from __future__ import annotations

import math

STEPS = 200
TINY = 1e-300
PRECISION = 1e-15


def lower(k: int, n: int, alpha: float) -> float:
    """A probability that the true one is below with chance at most ``alpha``."""
    if k == 0:
        return 0.0
    low, high = 0.0, k / n
    for _ in range(STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if upper_tail(k, n, middle) <= alpha else (low, middle)
    return low


def upper(k: int, n: int, alpha: float) -> float:
    """A probability that the true one is above with chance at most ``alpha``."""
    return 1.0 if k == n else 1.0 - lower(n - k, n, alpha)


def upper_tail(k: int, n: int, p: float) -> float:
    """``Pr[Bin(n, p) >= k]``."""
    if k <= 0:
        return 1.0
    if p <= 0.0 or p >= 1.0:
        return float(p >= 1.0)
    return incomplete_beta(k, n - k + 1, p)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function ``I_x(a, b)``."""
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    # The fraction converges fast on one side of the mean; the other side is its complement.
    if x < (a + 1) / (a + b + 2):
        return math.exp(log_front) * _fraction(a, b, x) / a
    return 1.0 - math.exp(log_front) * _fraction(b, a, 1.0 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1.0 / _not_zero(1.0 - (a + b) * x / (a + 1.0))
    value = d
    for m in range(1, 200_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1.0 / _not_zero(1.0 + even * d)
        c = _not_zero(1.0 + even / c)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1.0 / _not_zero(1.0 + odd * d)
        c = _not_zero(1.0 + odd / c)
        step = d * c
        value *= step
        if abs(step - 1.0) < PRECISION:
            return value
    raise ArithmeticError("the continued fraction of the beta function does not converge")


def _not_zero(value: float) -> float:
    return value if abs(value) > TINY else TINY
