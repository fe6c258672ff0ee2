"""Sample and threshold, as printed.

The inverted Lambert W, a hierarchy on one sample, one coin for several items, and Lemma 6 where
the contacted cohort can be seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

from headcount.audit.blackbox import audit_support
from headcount.audit.divergence import delta_at, off_support
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier

rng = np.random.default_rng()
HIDDEN = None


def group_law(n_users: int, p: float, threshold: int) -> Law:
    """The count of sampled users of one group, if it reaches the threshold."""
    counts = np.arange(threshold, n_users + 1)
    shares = stats.binom.pmf(counts, n_users, p)
    masses = {int(x): Fraction(float(share)) for x, share in zip(counts, shares, strict=True)}
    hidden = 1 - sum(masses.values(), Fraction(0))
    return Law({HIDDEN: max(hidden, Fraction(0)), **masses})


def worst_delta(p: float, threshold: int, epsilon: float) -> float:
    """The delta of one more user, over groups of all sizes that matter."""
    return max(
        delta_at(group_law(k + 1, p, threshold), group_law(k, p, threshold), epsilon).low
        for k in range(threshold - 1, 6 * threshold)
    )


def test_lambert_w_threshold(found: Any) -> None:
    """e W(ln(1 / (e delta)) / e) where e^(1 + W) is meant."""
    delta, epsilon = 1e-8, 1.0
    w = float(special.lambertw(math.log(1 / (math.e * delta)) / math.e).real)
    printed, corrected = math.e * w, math.exp(1 + w)
    assert printed == pytest.approx(4.00, abs=0.01)
    assert corrected == pytest.approx(11.84, abs=0.01)
    threshold = round(printed)
    p = (1 - math.exp(-epsilon)) / threshold
    subject = f"threshold {threshold}, p = {p:.3f}"
    finding = Finding(Tier.EXACT, subject, "delta", delta, worst_delta(p, threshold, epsilon))
    found(finding, 1.03e-3)


P, THRESHOLD, OTHERS = 0.1707, 16, 500


def hierarchy() -> np.ndarray:
    """Who counts in a parent and in one of its children; the last user is in the other child."""
    membership = np.ones((OTHERS + 1, 2), dtype=np.int64)
    membership[-1] = (1, 0)
    return membership


def several_items() -> np.ndarray:
    """Who holds items a and b: all others hold both, the last user holds a alone."""
    holds = [{"a", "b"}] * OTHERS + [{"a"}]
    return np.array([["a" in items, "b" in items] for items in holds], dtype=np.int64)


def views_of_one_sample(membership: np.ndarray, runs: int) -> np.ndarray:
    """One coin per user, whose result counts in every view the user is in."""
    coins = rng.random((runs, len(membership))) < P
    return coins @ membership


def two_views_law(with_user: bool) -> Law:
    """Both released counts; those below the threshold are hidden."""
    masses: dict[Any, Fraction] = {}
    coins = {1: P, 0: 1 - P} if with_user else {0: 1.0}
    for x, share in enumerate(stats.binom.pmf(np.arange(OTHERS + 1), OTHERS, P).tolist()):
        for coin, chance in coins.items():
            shown = tuple(c if c >= THRESHOLD else HIDDEN for c in (x + coin, x))
            mass = Fraction(share) * Fraction(chance)
            masses[shown] = masses.get(shown, Fraction(0)) + mass
    return Law(masses, max(1 - sum(masses.values(), Fraction(0)), Fraction(0)))


@pytest.mark.parametrize("views", [hierarchy, several_items])
def test_several_views_of_one_sample(views: Callable[[], np.ndarray], found: Any) -> None:
    """The difference of two released counts is the user's coin.

    Levels of a hierarchy and items of a user with one coin come to the same two numbers.
    """
    subject = views.__name__.replace("_", " ")
    exact = off_support(two_views_law(True), two_views_law(False)).low
    found(Finding(Tier.EXACT, subject, "delta", 1e-8, exact), 0.1707, 1e-3)
    counts = views_of_one_sample(views(), 2_000)
    hits = int(((counts[:, 0] != counts[:, 1]) & (counts >= THRESHOLD).all(axis=1)).sum())
    found(audit_support(hits, len(counts), delta=1e-2, subject=subject))


@pytest.mark.parametrize(
    ("sample", "given_contact", "reference"),
    [(1000, 0.013, 1.7e-5), (31606, 0.335, 1.1e-2), (100_000, 0.537, 5.5e-2)],
)
def test_lemma_6_with_a_visible_cohort(
    sample: int, given_contact: float, reference: float, found: Any
) -> None:
    """Who is contacted can be seen, and a contacted user takes part nearly always."""
    population, threshold, epsilon = 10**6, 20, 1.0
    contacted = sample + 10 * math.sqrt(sample)
    exact = worst_delta(sample / contacted, threshold, epsilon)
    found(Finding(Tier.EXACT, "a contacted user", "delta", 1e-8, exact), given_contact, 0.03)
    overall = exact * contacted / population
    found(Finding(Tier.EXACT, f"m = {sample}", "delta", 1e-8, overall), reference, 0.04)
