"""Pairs of laws of several samples: sound masses, exact alone, and above exact products."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy import stats

from headcount.accounting.sampling_composed import Losses, composed_delta, one_sample
from headcount.accounting.sampling_profile import sup_up
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
