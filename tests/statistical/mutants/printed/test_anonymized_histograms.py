"""Anonymized histograms, as printed: the shuffle claim without slack.

Every user sends +1 for their bucket, +1 and -1 noise whose difference is discrete Laplace, and a
flood of pairs. The analyst sees both counts of messages, not only their difference.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from scipy import signal, stats

from headcount.audit.divergence import delta_at
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier

EPSILON = 0.5
RATIO = float(np.exp(-EPSILON))


def view(flood: np.ndarray, shift: int) -> np.ndarray:
    """The joint law of (+1, -1) messages: the flood is in both, geometric noise in each."""
    both = np.diag(flood)
    for axis in (0, 1):
        both = signal.lfilter([1 - RATIO], [1, -RATIO], both, axis=axis)
    shifted = np.zeros_like(both)
    shifted[shift:] = both[: len(flood) - shift]
    return shifted


def smaller_and_side(joint: np.ndarray) -> Law:
    """The law of the smaller count and of which it is: a function of the view."""
    plus, minus = np.indices(joint.shape)
    masses: dict[Any, Fraction] = {}
    for side, chosen in (("+", plus > minus), ("-", plus <= minus)):
        sums = np.bincount(np.minimum(plus, minus)[chosen], joint[chosen], minlength=len(joint))
        masses |= {(side, k): Fraction(float(mass)) for k, mass in enumerate(sums)}
    return Law(masses, max(1 - sum(masses.values(), Fraction(0)), Fraction(0)))


def test_shuffle_without_slack(found: Any) -> None:
    """Claimed: epsilon with a negligible delta, for noise of exactly that epsilon."""
    flood = stats.nbinom.pmf(np.arange(1000), 60, 0.1)
    laws = [smaller_and_side(view(flood, shift)) for shift in (0, 1)]
    exact = delta_at(laws[0], laws[1], EPSILON).low
    found(Finding(Tier.EXACT, "flood NB(60, 0.9)", "delta", 1e-8, exact), 3.4e-3)


def test_slack_repairs_it() -> None:
    flood = stats.nbinom.pmf(np.arange(400), 60, 0.3)
    laws = [smaller_and_side(view(flood, shift)) for shift in (0, 1)]
    assert delta_at(laws[0], laws[1], EPSILON + 0.5).high < 1e-6
