"""Contribution bounding for user-level histograms (ICML 2023), as printed.

Algorithm 1 under replacement, Algorithm 2 without enforced sparsity and with the true number of
users, Algorithm 3 on the support before clipping, and public facts that were read from the data.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from headcount.audit.blackbox import audit_epsilon, audit_support
from headcount.audit.divergence import delta_at
from headcount.audit.greybox import Call, Declared, Recording, compare
from headcount.audit.law import Law, independent
from headcount.audit.verdict import Finding, Tier

rng = np.random.default_rng()


def algorithm_1_laplace(
    histograms: np.ndarray, clip: float, epsilon: float, runs: int
) -> np.ndarray:
    """Clip each user in l1, add up, add Lap(C / epsilon); claimed for replacement of a user."""
    norms = np.abs(histograms).sum(axis=1, keepdims=True)
    total = (histograms * np.minimum(1, clip / np.maximum(norms, 1e-300))).sum(axis=0)
    return total + rng.laplace(0, clip / epsilon, (runs, len(total)))


def printed_sigma(epsilon: float, delta: float) -> float:
    """Algorithm 1's noise per unit of clip."""
    return math.sqrt(2 * math.log(1.32 / delta)) / epsilon


def algorithm_2_centre(users: list[tuple[float, float]], noise: float, strength: float) -> float:
    """The minimiser of sum r (b - C)_+ + C noise + strength C^2 / 2, for users (b, r)."""

    def slope(c: float) -> float:
        return noise + strength * c - sum(r for b, r in users if b > c)

    low, high = 0.0, 1e6
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return low


def algorithm_3(items: int, clip: int, epsilon: float, delta: float, runs: int) -> np.ndarray:
    """How many of one user's own items leave: noise on all of them, though few are kept."""
    threshold = clip + clip / epsilon * math.log(clip / (2 * delta))
    true_counts = np.zeros(items)
    true_counts[:clip] = 1
    noisy = true_counts + rng.laplace(0, clip / epsilon, (runs, items))
    return (noisy > threshold).sum(axis=1)


@pytest.mark.parametrize(("epsilon", "reference"), [(1.0, 0.2418), (0.1, 0.0250)])
def test_algorithm_1_laplace_under_replacement(
    epsilon: float, reference: float, laplace_cells: Any, found: Any
) -> None:
    """One user moves from one item to the other, so both counts move."""
    edges = np.linspace(0, 1, 151)
    laws = [
        independent(
            [laplace_cells(one, 1 / epsilon, edges), laplace_cells(1 - one, 1 / epsilon, edges)]
        )
        for one in (0.0, 1.0)
    ]
    exact = delta_at(laws[0], laws[1], epsilon).low
    found(Finding(Tier.EXACT, f"epsilon {epsilon}", "delta", 0, exact), reference, 2e-3)


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_algorithm_1_laplace_under_replacement_from_outputs(epsilon: float, found: Any) -> None:
    n = 60_000 if epsilon < 1 else 20_000
    sides = []
    for user in ([[1.0, 0.0]], [[0.0, 1.0]]):
        table = np.array(user)
        y = algorithm_1_laplace(table, 1, epsilon, n)
        sides.append(np.rint(8 * (y.clip(0, 1) @ [1.0, -1.0])).astype(np.int64)[:, None])
    found(audit_epsilon(*sides, epsilon=epsilon, delta=0.0, subject="one user replaced"))


@pytest.mark.parametrize(
    ("epsilon", "delta", "reference"), [(1.0, 1e-6, 9.0e-6), (1.0, 1e-9, 165e-9)]
)
def test_algorithm_1_gaussian_under_replacement(
    epsilon: float, delta: float, reference: float, gaussian_cells: Any, found: Any
) -> None:
    """Two one-hot users are sqrt(2) clips apart; the noise is for one."""
    sigma = printed_sigma(epsilon, delta)
    edges = np.linspace(-9 * sigma, 9 * sigma, 4001)
    laws = [gaussian_cells(centre, sigma, edges) for centre in (0.0, math.sqrt(2))]
    exact = delta_at(laws[0], laws[1], epsilon).low
    found(Finding(Tier.EXACT, f"epsilon {epsilon}", "delta", delta, exact), reference)


def test_algorithm_1_gaussian_with_the_least_noise(gaussian_cells: Any, found: Any) -> None:
    def profile(sigma: float, distance: float) -> float:
        a, b = distance / (2 * sigma), sigma / distance
        return float(stats.norm.cdf(a - b) - math.e * stats.norm.cdf(-a - b))

    sigma = optimize.brentq(lambda s: profile(s, 1.0) - 1e-6, 1, 20)
    edges = np.linspace(-9 * sigma, 9 * sigma, 4001)
    laws = [gaussian_cells(centre, sigma, edges) for centre in (0.0, math.sqrt(2))]
    exact = delta_at(laws[0], laws[1], 1.0).low
    found(Finding(Tier.EXACT, "epsilon 1, tight sigma", "delta", 1e-6, exact), 218e-6)


def test_algorithm_2_without_enforced_sparsity(laplace_cells: Any, found: Any) -> None:
    """Sparsity 4 is assumed; a user with 400 items moves the centre by 20, not by 8."""
    sparsity, strength = 4, 10.0
    declared = 4 * math.sqrt(sparsity) / strength
    others = [(1000.0, 2.0)] * 500
    victim = (20.0, math.sqrt(400))
    centres = [
        algorithm_2_centre(users, noise=999.0, strength=strength)
        for users in (others, [*others, victim])
    ]
    moved = abs(centres[1] - centres[0])
    without, with_user = (Recording((Call({}, {"C": round(1e6 * c)}),), {}) for c in centres)
    (grey,) = [
        f
        for f in compare(
            with_user, without, [Declared({}, l1=1e6 * declared)], "one user of 400 items"
        )
        if f.measure == "l1"
    ]
    found(grey, 2.5 * 1e6 * declared)
    edges = np.linspace(0, moved, 2001)
    laws = [laplace_cells(centre, declared, edges) for centre in (0.0, moved)]
    exact = delta_at(laws[0], laws[1], 1.0).low
    found(Finding(Tier.EXACT, "one user of 400 items", "delta", 0, exact), 0.528)


@pytest.mark.parametrize(("clip", "reference"), [(1, 368.4e-6), (10, 367.9e-6), (100, 367.8e-6)])
def test_algorithm_3_on_the_support_before_clipping(
    clip: int, reference: float, laplace_cells: Any, found: Any
) -> None:
    """A user with 1000 C items of their own: nearly all of them are noise, and may leave."""
    epsilon, delta = 1.0, 1e-6
    threshold = clip + clip / epsilon * math.log(clip / (2 * delta))
    stays = 1.0
    for true_count, items in ((1.0, clip), (0.0, 999 * clip)):
        leaves = float(stats.laplace.sf(threshold, loc=true_count, scale=clip / epsilon))
        stays *= math.exp(items * math.log1p(-leaves))
    found(
        Finding(Tier.EXACT, f"{1000 * clip} items, C = {clip}", "delta", delta, 1 - stays),
        reference,
    )


@pytest.mark.parametrize("delta", [1e-2, 1e-3])
def test_algorithm_3_on_the_support_before_clipping_from_outputs(delta: float, found: Any) -> None:
    runs = 500
    hits = int((algorithm_3(1000, 1, 1.0, delta, runs) > 0).sum())
    found(audit_support(hits, runs, delta=delta, subject="1000 items, C = 1"))


def algorithm_2_scale(n_users: int, longest: float, epsilon: float, choice: float) -> float:
    """Delta / eps': lambda = 2 sqrt(2 s) / (C_m sqrt(n eps)), Delta = 4 sqrt(s) / (lambda n)."""
    return math.sqrt(2) * longest * math.sqrt(epsilon / n_users) / choice


@pytest.mark.parametrize(("n_users", "reference"), [(44, 3.54), (1000, 0.745)])
def test_algorithm_2_noise_that_depends_on_the_number_of_users(
    n_users: int, reference: float, found: Any
) -> None:
    """One user more and the noise is narrower: far out the ratio of tails has no bound."""
    choice, far = 0.1, 1e5
    scales = [algorithm_2_scale(n, 150.0, 1.0, choice) for n in (n_users, n_users + 1)]
    # The tail of Laplace noise beyond x is exp(-x / scale) / 2: too small for floats, not for logs.
    loss = far / scales[1] - far / scales[0]
    found(Finding(Tier.EXACT, f"{n_users} users", "epsilon", choice, loss), reference)


def test_the_largest_bound_from_the_data(found: Any) -> None:
    """Candidates up to the longest user: the last one cannot be chosen without that user."""
    n_with, n_without = 20, 10
    laws = [Law({c: Fraction(1, n) for c in range(1, n + 1)}) for n in (n_with, n_without)]
    exact = delta_at(laws[0], laws[1], 0.1).low
    finding = Finding(Tier.EXACT, "one user twice as long as all others", "delta", 0, exact)
    found(finding, 0.5, 0.01)


def test_the_most_frequent_groups_of_the_data_as_if_they_were_public(found: Any) -> None:
    """The experiments' protocol: one user decides which of two tied groups is counted at all."""
    base = {"a": 900, "b": 500, "c": 500}
    lists = []
    for more in ({"c": 1}, {}):
        counts = {group: n + more.get(group, 0) for group, n in base.items()}
        lists.append(tuple(sorted(counts, key=lambda group: (-counts[group], group))[:2]))
    laws = [Law({groups: Fraction(1)}) for groups in lists]
    exact = delta_at(laws[0], laws[1], 1.0).low
    found(Finding(Tier.EXACT, "the top two of three groups", "delta", 1e-6, exact), 1.0)
