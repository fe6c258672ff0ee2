"""Bounds on epsilon and delta from outputs alone.

**Contract.** Outputs of two neighbouring tables, each turned into a row of integers (features),
all rows independent. One half of them chooses a feature and a set of its values; the other half,
untouched until then, counts how often each side falls in that set, and two Clopper-Pearson bounds
give an epsilon that the mechanism exceeds with confidence ``1 - alpha``. However the set was
chosen, the bound holds; a good choice only makes it larger.

**Reference.** Ding and others 2018 (StatDP), Bichsel and others 2021 (DP-Sniper) for the approach.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headcount.audit.binomial import lower, upper
from headcount.audit.verdict import Finding, Tier

ALPHA = 1e-6
"""The chance that a correct mechanism is flagged, per finding."""

MAX_CUTS = 400
DEVIATIONS = 5.0

Rows = npt.NDArray[np.int64]
Sample = Callable[[int], Rows]
"""``sample(n)``: n independent outputs, one row of features each."""


@dataclass(frozen=True, slots=True)
class Event:
    """A set of values of one feature, likelier on the left than on the right."""

    feature: int
    values: npt.NDArray[np.int64]
    swapped: bool
    score: float

    def count(self, rows: Rows) -> int:
        """How many rows are in the set."""
        return int(np.isin(rows[:, self.feature], self.values).sum())


def epsilon_bound(with_user: Rows, without_user: Rows, delta: float, alpha: float = ALPHA) -> float:
    """An epsilon that the two sides exceed at ``delta``, with confidence ``1 - alpha``."""
    half_with, half_without = len(with_user) // 2, len(without_user) // 2
    chosen = max(
        _choose(with_user[:half_with], without_user[:half_without], delta, swapped=False),
        _choose(without_user[:half_without], with_user[:half_with], delta, swapped=True),
        key=lambda event: event.score,
    )
    left, right = with_user[half_with:], without_user[half_without:]
    if chosen.swapped:
        left, right = right, left
    least = lower(chosen.count(left), len(left), alpha / 2) - delta
    most = upper(chosen.count(right), len(right), alpha / 2)
    return math.log(least / most) if least > 0 else -math.inf


def audit_epsilon(
    with_user: Rows,
    without_user: Rows,
    *,
    epsilon: float,
    delta: float,
    subject: str,
    alpha: float = ALPHA,
) -> Finding:
    """Hold outputs of two neighbours against a claim of epsilon at delta."""
    found = epsilon_bound(with_user, without_user, delta, alpha)
    return Finding(Tier.BLACK_BOX, subject, f"epsilon at delta {delta:g}", epsilon, max(0.0, found))


def audit_support(
    hits: int, n: int, *, delta: float, subject: str, alpha: float = ALPHA
) -> Finding:
    """Hold an event against delta that is impossible without the user and was seen ``hits`` times.

    Whatever epsilon is, delta is at least the chance of such an event.
    """
    return Finding(Tier.BLACK_BOX, subject, "delta", delta, lower(hits, n, alpha))


def _choose(left: Rows, right: Rows, delta: float, *, swapped: bool) -> Event:
    best = Event(0, np.zeros(0, np.int64), swapped, -math.inf)
    for feature in range(left.shape[1]):
        values, places = np.unique(
            np.concatenate([left[:, feature], right[:, feature]]), return_inverse=True
        )
        n_left = np.bincount(places[: len(left)], minlength=len(values))
        n_right = np.bincount(places[len(left) :], minlength=len(values))
        order = np.argsort(-(n_left + 0.5) / (n_right + 0.5), kind="stable")
        sums_left, sums_right = np.cumsum(n_left[order]), np.cumsum(n_right[order])
        cuts = np.arange(len(values))
        if len(cuts) > MAX_CUTS:
            marks = np.linspace(0, len(left), MAX_CUTS)
            cuts = np.unique(np.searchsorted(sums_left, marks).clip(0, len(values) - 1))
        least = _score_interval(sums_left[cuts], len(left), -DEVIATIONS) - delta
        most = _score_interval(sums_right[cuts], len(right), DEVIATIONS)
        scores = np.full(len(cuts), -math.inf)
        possible = least > 0
        scores[possible] = np.log(least[possible] / most[possible])
        at = int(np.argmax(scores))
        if scores[at] > best.score:
            best = Event(feature, values[order[: cuts[at] + 1]], swapped, float(scores[at]))
    return best


def _score_interval(
    counts: npt.NDArray[np.int64], n: int, deviations: float
) -> npt.NDArray[np.float64]:
    """One end of the Wilson interval: good enough to choose by, never used as a bound."""
    share, square = counts / n, deviations**2
    middle = share + square / (2 * n)
    spread = deviations * np.sqrt(share * (1 - share) / n + square / (4 * n * n))
    end: npt.NDArray[np.float64] = np.maximum((middle + spread) / (1 + square / n), 1e-12)
    return end
