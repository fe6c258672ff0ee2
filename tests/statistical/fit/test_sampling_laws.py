"""Pairs of laws of several samples: sound masses, exact alone, and above exact products."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy import special, stats

from headcount.accounting.sampling.composed import Losses, composed_delta, one_sample
from headcount.accounting.sampling.profile import sup_up
from headcount.accounting.sampling.zcdp import rho_of
from headcount.privacy.neighbours import Neighbours

ADD_REMOVE = Neighbours.ADD_REMOVE
N_SETS = 1_000


def test_masses_of_a_thousand_random_pairs() -> None:
    chooser = random.Random(3)
    for _ in range(N_SETS):
        threshold, reach = chooser.randint(2, 20), chooser.uniform(0.1, 3)
        rate = chooser.uniform(0.1, 0.95) * -math.expm1(-reach)
        neighbours = chooser.choice(list(Neighbours))
        pair = one_sample(rate, threshold, neighbours, reach)
        for masses, infinite in ((pair.p, pair.p_infinite), (pair.q, pair.q_infinite)):
            assert masses.min() >= 0
            assert infinite >= 0
            assert 1 - 1e-8 <= masses.sum() + infinite <= 1 + 1e-9
        assert 0 <= pair.delta(reach) <= 1
        if neighbours is ADD_REMOVE:
            exact = sup_up(rate, threshold, reach)
            # Seven digits, where the profile is not lost in what rounding may add.
            assert pair.delta(reach) == pytest.approx(exact, rel=1e-7, abs=1e-150)


def test_two_samples_are_above_the_exact_product() -> None:
    rate, threshold, epsilon = 0.2338, 20, 1.0
    found = 0.0
    sizes = range(threshold, 61, 2)
    for k1 in sizes:
        for k2 in (k for k in sizes if k >= k1):
            laws = [shown(k, rate, threshold, 70) for k in (k1 + 1, k2 + 1, k1, k2)]
            left, right = np.outer(laws[0], laws[1]), np.outer(laws[2], laws[3])
            found = max(found, float(np.maximum(0, left - math.exp(epsilon) * right).sum()))
    bound = composed_delta(rate, threshold, epsilon, ADD_REMOVE, 2)
    assert 4e-9 < found <= bound <= 1e-8


def shown(size: int, rate: float, threshold: int, length: int) -> np.ndarray:
    masses = stats.binom.pmf(np.arange(length), size, rate)
    masses[:threshold] = 0
    return np.append(masses, stats.binom.cdf(threshold - 1, size, rate))


def test_wrong_masses_are_refused() -> None:
    half, minus = np.array([0.5, 0.5]), np.array([1.5, -0.5])
    for p, q, infinite in (
        (minus, half, 0.0),
        (half, minus, 0.0),
        (half, half, 0.1),
        (half, half, -0.1),
    ):
        with pytest.raises(ArithmeticError):
            Losses(0.1, 0, p, q, infinite)


def test_composition_is_that_of_products() -> None:
    """Three copies against all triples of losses, one by one."""
    pair = one_sample(0.2, 4, ADD_REMOVE, 0.5)
    few = Losses(pair.step, pair.first, *thinned(pair), pair.p_infinite)
    losses, kept = few.losses, few.p > 0
    e = (losses[kept][:, None, None] + losses[kept][:, None]) + losses[kept]
    p = few.p[kept][:, None, None] * few.p[kept][:, None] * few.p[kept]
    for epsilon in (0.2, 0.5, 1.0):
        over = float((p * np.maximum(0, -np.expm1(epsilon - e))).sum())
        exact = over + 1 - (1 - few.p_infinite) ** 3
        assert few.times(3)._over(epsilon) == pytest.approx(exact, rel=1e-9)


def thinned(pair: Losses) -> tuple[np.ndarray, np.ndarray]:
    """Every fortieth mass, so that triples can be listed."""
    keep = np.arange(len(pair.p)) % 40 == 0
    return np.where(keep, pair.p, 0), np.where(keep, pair.q, 0)


@pytest.mark.parametrize("n", [180, 365])
def test_copies_of_which_nothing_finite_is_left(n: int) -> None:
    """At a large rate every output of so many copies tells the sides apart: delta is 1."""
    pair = one_sample(0.95, 2, Neighbours.REPLACE, 4.0)
    assert pair.times(n).delta(4.0) == pytest.approx(1)
    gone = Losses(0.1, 0, np.array([1e-30]), np.array([1e-30]), 1.0, 1.0)
    both = gone.plus(gone)
    assert (both.p_infinite, both.q_infinite) == (1.0, 1.0)
    assert math.isinf(rho_of(both, 1e-6))


def test_crumbs_never_lower_a_delta() -> None:
    chooser = random.Random(4)
    for _ in range(30):
        threshold, reach = chooser.randint(2, 12), chooser.uniform(0.1, 3)
        rate = chooser.uniform(0.1, 0.9) * -math.expm1(-reach)
        pair, n = one_sample(rate, threshold, ADD_REMOVE, reach), chooser.randint(2, 9)
        exact, cut = pair.times(n), pair.times(n, 1e-9)
        assert len(cut.p) < len(exact.p)
        for epsilon in (0.3 * reach, reach, 2 * reach):
            assert exact.delta(epsilon) * (1 - 1e-9) <= cut.delta(epsilon)
            assert cut.delta(epsilon) <= exact.delta(epsilon) + 1e-9 * 4 * n


def test_no_order_is_above_the_certified_rho() -> None:
    """Divergences of the capped pair at 1,000 orders, beside the bound by chords between few."""
    chooser = random.Random(9)
    orders = 1 + np.geomspace(1e-3, 1e4, 1_000)
    for _ in range(25):
        threshold, reach = chooser.randint(2, 20), math.exp(chooser.uniform(-4, 2))
        rate = chooser.uniform(0.1, 0.9) * -math.expm1(-reach)
        pair = one_sample(rate, threshold, chooser.choice(list(Neighbours)), reach)
        pair = pair.times(chooser.randint(1, 8))
        delta = max(1e-3, 2 * pair.p_infinite, 2 * pair.q_infinite)
        if delta >= 0.5:
            continue
        found, dense = rho_of(pair, delta), max(capped(pair, delta, orders))
        assert dense <= found <= dense * 1.006 + 1e-10


def capped(pair: Losses, delta: float, orders: np.ndarray) -> list[float]:
    """The largest divergence over order of both directions, after a cut by bisection."""
    caps = []
    for one in (pair, pair.swapped):
        low, high = 0.0, 100.0
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (low, middle) if one._over(middle) <= delta else (middle, high)
        caps.append(high)
    losses = pair.losses
    p = np.minimum(pair.p, np.exp(caps[0]) * pair.q)
    q = np.minimum(pair.q, np.exp(caps[1]) * pair.p)
    p, q, seen = p / p.sum(), q / q.sum(), (p > 0) & (q > 0)
    assert len(losses) == len(p)
    logs = np.log(p[seen]), np.log(q[seen])
    found = []
    for left, right in (logs, logs[::-1]):
        values = special.logsumexp(orders[:, None] * left + (1 - orders[:, None]) * right, axis=1)
        found.append(float((values / (orders * (orders - 1))).max()))
    return found
