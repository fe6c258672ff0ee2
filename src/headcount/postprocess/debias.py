"""Undo what a bound on rows takes away, where users are alike.

If every user's rows in a group were Poisson draws of one mean, the mean of ``min(rows, bound)``
would be a known increasing function of it. Its inverse turns the mean of bounded rows, which is
what was released, into the mean of all rows.

**Reference** Contribution bounding for user-level histograms (ICML 2023), Algorithm 5.

**Errata** The printed algorithm divides by the true number of users, which changes when a user is
added or removed, and inverts without a domain. Here the number is public or noisy, what is below 0
becomes 0, and means stop where the inverse would multiply noise by more than ``MAX_GAIN``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headcount.errors import UsageError

Floats = NDArray[np.float64]

MAX_BOUND = 1000
MAX_GAIN = 10.0
ROWS_AT_ONCE = 1024


def bounded_mean(means: Floats, bound: int) -> Floats:
    """The mean of ``min(rows, bound)`` when rows are Poisson: ``m P(X <= b-2) + b P(X >= b)``."""
    below = _at_most(means, bound - 2)
    return means * below + bound * (1 - below - _mass(means, bound - 1))


def slope(means: Floats, bound: int) -> Floats:
    """How fast that rises with the mean: the chance that a user is below the bound."""
    return _at_most(means, bound - 1)


def largest_mean(bound: int) -> float:
    """The mean up to which noise is multiplied by no more than ``MAX_GAIN``; public."""
    low, high = 0.0, 10.0 * bound + 10
    for _ in range(100):
        middle = (low + high) / 2
        steep = float(slope(np.array([middle]), bound)[0]) >= 1 / MAX_GAIN
        low, high = (middle, high) if steep else (low, middle)
    return low


def unbounded_mean(bounded_means: Floats, bound: int) -> Floats:
    """The inverse of :func:`bounded_mean`, from 0 to :func:`largest_mean`."""
    if not 1 <= bound <= MAX_BOUND:
        raise UsageError(f"A bound that is undone must be 1 to {MAX_BOUND} rows, not {bound}.")
    wanted = np.asarray(bounded_means, np.float64)
    parts = [
        _inverted(wanted[start : start + ROWS_AT_ONCE], bound)
        for start in range(0, len(wanted), ROWS_AT_ONCE)
    ]
    return np.concatenate([np.zeros(0), *parts])


def _inverted(wanted: Floats, bound: int) -> Floats:
    low, high = np.zeros_like(wanted), np.full_like(wanted, largest_mean(bound))
    for _ in range(64):
        middle = (low + high) / 2
        too_low = bounded_mean(middle, bound) < wanted
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return np.where(wanted <= 0, 0.0, high)


def _mass(means: Floats, rows: int) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(rows == 0, 0.0, rows * np.log(means)) - means - math.lgamma(rows + 1)
    return np.exp(logs)


def _at_most(means: Floats, rows: int) -> Floats:
    if rows < 0:
        return np.zeros_like(means)
    every = np.arange(rows + 1)
    factorials = np.array([math.lgamma(k + 1) for k in every])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = every * np.log(means)[:, None]
    logs[:, 0] = 0.0
    total: Floats = np.exp(logs - means[:, None] - factorials).sum(axis=1)
    return np.minimum(total, 1.0)
