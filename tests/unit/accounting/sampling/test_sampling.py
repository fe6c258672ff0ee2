"""The profile of a sample with a threshold: against brute force, formulas and the known table."""

from __future__ import annotations

import math
import random
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

from headcount.accounting.convert import zcdp_of
from headcount.accounting.sampling.composed import composed_delta, one_sample
from headcount.accounting.sampling.profile import sup_profile, sup_up
from headcount.accounting.sampling.solver import (
    RATE_UNIT,
    best,
    best_within,
    certified_rho,
    closed_form,
    delta_of,
    reach_of,
)
from headcount.accounting.sampling.zcdp import rho_of
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours

ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE

# (epsilon, delta, threshold, rate, size): the rates are rounded down to four digits.
ADD_REMOVE_ROWS = [
    (0.25, 1e-8, 24, "0.1034", 232),
    (0.5, 1e-6, 16, "0.1798", 89),
    (0.5, 1e-8, 23, "0.1756", 131),
    (1.0, 1e-6, 14, "0.2537", 55.3),
    (1.0, 1e-8, 19, "0.2402", 79.2),
    (2.0, 1e-8, 19, "0.3449", 55.2),
]
REPLACE_ROWS = [
    (0.25, 1e-8, 22, "0.0919"),
    (0.5, 1e-6, 16, "0.1748"),
    (0.5, 1e-8, 20, "0.1485"),
    (1.0, 1e-6, 14, "0.2479"),
    (1.0, 1e-8, 19, "0.2354"),
    (2.0, 1e-8, 19, "0.3441"),
]


def shown_law(size: int, rate: float, threshold: int, length: int) -> np.ndarray:
    masses = np.zeros(length + 1)
    for x in range(size + 1):
        mass = math.comb(size, x) * rate**x * (1 - rate) ** (size - x)
        masses[x if x >= threshold else length] += mass
    return masses


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(0.0, p - math.exp(epsilon) * q).sum())


def test_the_worst_size_against_brute_force() -> None:
    """Up and down, over all sizes one by one, at random rates, thresholds and epsilons."""
    chooser = random.Random(5)
    for _ in range(400):
        threshold, rate = chooser.randint(1, 7), chooser.uniform(0.1, 0.8)
        up = chooser.uniform(0, 3)
        # Of the largest epsilon that can cost anything, so that the worst size can be reached.
        down = chooser.uniform(0, 0.7) * -math.log1p(-rate)
        most = math.ceil(1.5 * threshold / (1 - (1 - rate) * math.exp(down))) + 6
        laws = [shown_law(size, rate, threshold, most + 1) for size in range(most + 1)]
        pairs = list(pairwise(laws))
        worst = [
            max(hockey_stick(large, small, up) for small, large in pairs),
            max(hockey_stick(small, large, down) for small, large in pairs),
        ]
        found = sup_profile(rate, threshold, np.array([up, -down if down else -1e-300]))
        assert found.tolist() == pytest.approx(worst, rel=1e-9, abs=1e-14)


def test_no_size_is_worse_than_the_worst() -> None:
    chooser = random.Random(6)
    for _ in range(60):
        threshold = chooser.randint(2, 12)
        rate, epsilon = chooser.uniform(0.05, 0.6), chooser.uniform(0.05, 1.5)
        bound = delta_of(Fraction(rate), threshold, epsilon, ADD_REMOVE)
        found = []
        for size in range(threshold - 1, 8 * threshold + 40):
            large = shown_law(size + 1, rate, threshold, size + 2)
            small = shown_law(size, rate, threshold, size + 2)
            found += [hockey_stick(large, small, epsilon), hockey_stick(small, large, epsilon)]
        assert max(found) <= bound
        if rate <= -math.expm1(-epsilon):
            assert bound <= max(found) * (1 + 1e-8)


def test_down_is_free_below_one_minus_exp_of_minus_epsilon() -> None:
    epsilon = 0.5
    rate = -math.expm1(-epsilon) * (1 - 1e-9)
    assert sup_profile(rate, 5, np.array([-epsilon]))[0] == 0
    assert sup_profile(rate * 1.2, 5, np.array([-epsilon]))[0] > 0


def test_the_closed_form_is_never_below() -> None:
    chooser = random.Random(7)
    for _ in range(300):
        threshold = chooser.randint(2, 40)
        epsilon = chooser.uniform(0.02, 3)
        rate = Fraction(chooser.uniform(1e-3, 1) * -math.expm1(-epsilon))
        for neighbours in (ADD_REMOVE, REPLACE):
            if neighbours is REPLACE and chooser.random() < 0.9:
                continue
            exact = delta_of(rate, threshold, epsilon, neighbours)
            assert closed_form(rate, threshold, epsilon, neighbours) >= exact * (1 - 1e-8)
    # As in the text: exact, formula, and the paper's own bound of 3.4e-8.
    assert sup_up(0.0316, 20, 1.0) == pytest.approx(1.44e-24, rel=0.01)
    assert closed_form(Fraction("0.0316"), 20, 1, ADD_REMOVE) == pytest.approx(4.2e-22, rel=0.02)


def digits(rate: Fraction, threshold: int, epsilon: float) -> Decimal:
    """The worst delta of one more user, at 80 digits."""
    getcontext().prec = 80
    p = Decimal(rate.numerator) / Decimal(rate.denominator)
    power = Decimal(repr(epsilon)).exp()
    worst = Decimal(0)
    q = 1 - (1 - p) / power
    for size in range(threshold - 1, math.ceil(threshold / q) + 2):
        total = Decimal(0)
        for x in range(threshold, size + 2):
            mass = math.comb(size + 1, x) * p**x * (1 - p) ** (size + 1 - x)
            total += mass * max(Decimal(0), 1 - power * (size + 1 - x) / ((1 - p) * (size + 1)))
        worst = max(worst, total)
    return worst


@pytest.mark.parametrize(("epsilon", "delta", "threshold", "rate", "size"), ADD_REMOVE_ROWS)
def test_the_table_at_sixty_digits(
    epsilon: float, delta: float, threshold: int, rate: str, size: float
) -> None:
    exact = digits(Fraction(rate), threshold, epsilon)
    assert exact <= Decimal(repr(delta))
    certified = delta_of(Fraction(rate), threshold, epsilon, ADD_REMOVE)
    assert exact <= Decimal(certified) <= exact * (1 + Decimal("3e-9"))
    chosen = best(epsilon, delta, ADD_REMOVE)
    assert chosen.smallest_group <= size
    assert chosen.rate / RATE_UNIT == int(chosen.rate / RATE_UNIT)
    assert digits(chosen.rate, chosen.threshold, epsilon) <= Decimal(repr(delta))


def test_a_rate_rounded_to_nearest_is_refused() -> None:
    assert delta_of(Fraction("0.1035"), 24, 0.25, ADD_REMOVE) > 1e-8
    assert digits(Fraction("0.1035"), 24, 0.25) > Decimal("1e-8")


@pytest.mark.parametrize(("epsilon", "delta", "threshold", "rate"), REPLACE_ROWS)
def test_the_table_for_replacement(epsilon: float, delta: float, threshold: int, rate: str) -> None:
    assert delta_of(Fraction(rate), threshold, epsilon, REPLACE) <= delta


def test_replacement_against_brute_force() -> None:
    chooser = random.Random(8)
    for _ in range(40):
        threshold = chooser.randint(2, 5)
        epsilon = chooser.uniform(0.2, 2)
        rate = chooser.uniform(0.05, 0.9) * -math.expm1(-epsilon)
        bound = delta_of(Fraction(rate), threshold, epsilon, REPLACE)
        found = 0.0
        for k, j in product(range(threshold - 1, 4 * threshold + 6, 2), repeat=2):
            length = max(k, j) + 2
            laws = {n: shown_law(n, rate, threshold, length) for n in {k, k + 1, j, j + 1}}
            left, right = np.outer(laws[k + 1], laws[j]), np.outer(laws[k], laws[j + 1])
            found = max(found, hockey_stick(left, right, epsilon))
        assert found <= bound <= max(3 * found, 1e-6)


def test_the_numbers_of_replacement_in_the_text() -> None:
    pair, apart = (
        composed_delta(0.1707, 16, 1.0, REPLACE, 1),
        sup_up(0.1707, 16, 1 + math.log1p(-0.1707)),
    )
    assert pair == pytest.approx(1.71e-9, rel=0.01)
    assert apart == pytest.approx(9.98e-9, rel=0.01)
    assert delta_of(Fraction("0.1707"), 16, 1, REPLACE) == pair


@pytest.mark.parametrize(
    ("n", "threshold", "rate"),
    [(2, 20, 0.2338), (5, 18, 0.1851), (10, 16, 0.1439), (20, 14, 0.1059)],
)
def test_fresh_samples_of_the_table(n: int, threshold: int, rate: float) -> None:
    assert composed_delta(rate, threshold, 1.0, ADD_REMOVE, n) <= 1e-8


@pytest.mark.parametrize(
    ("n", "threshold", "rate"),
    [(2, 20, 0.2276), (5, 16, 0.1553), (10, 14, 0.1159), (20, 14, 0.0926)],
)
def test_fresh_samples_of_the_table_for_replacement(n: int, threshold: int, rate: float) -> None:
    assert composed_delta(rate, threshold, 1.0, REPLACE, n) <= 1e-8


@pytest.mark.parametrize("n_samples", [1, 3])
def test_a_cost_in_zcdp_implies_the_profile(n_samples: int) -> None:
    """delta-approximate rho-zCDP gives a delta at every epsilon; the exact one is below it."""
    limit = zcdp_of(Budget(epsilon=1, delta=1e-6))
    chosen = best_within(limit, ADD_REMOVE, n_samples=n_samples)
    rho = certified_rho(
        chosen.rate, chosen.threshold, n_samples, limit.delta, ADD_REMOVE, reach_of(limit)
    )
    assert 0.98 * limit.rho < rho <= limit.rho
    orders = np.arange(1.01, 60, 0.01)
    for epsilon in (0.1, 0.3, 0.6, 1.0, 1.3):
        shape = np.exp((orders - 1) * (orders * float(rho) - epsilon)) / (orders - 1)
        allowed = float(limit.delta) + float((shape * (1 - 1 / orders) ** orders).min())
        assert (
            composed_delta(float(chosen.rate), chosen.threshold, epsilon, ADD_REMOVE, n_samples)
            <= allowed
        )


def test_a_cost_in_zcdp_against_capped_laws() -> None:
    """Cut at most delta from a group's law: its Rényi divergences are within the certified rho."""
    rate, threshold, delta = 0.25, 10, 1e-4
    rho = rho_of(one_sample(rate, threshold, ADD_REMOVE, 1.0), delta)
    for size in range(threshold - 1, 90, 3):
        p = shown_law(size + 1, rate, threshold, size + 2)
        q = shown_law(size, rate, threshold, size + 2)
        caps = np.linspace(0, 3, 3001)
        cut = np.array([np.maximum(0, p - math.exp(cap) * q).sum() for cap in caps])
        if not (cut <= delta).any():
            pytest.fail("no cap is enough")
        kept = np.minimum(p, math.exp(caps[cut <= delta][0]) * q)
        kept /= kept.sum()
        seen = (kept > 0) & (q > 0)
        losses = np.log(kept[seen]) - np.log(q[seen])
        for order in (1.1, 2, 5, 10, 20, 50, 200):
            up = math.log((q[seen] * np.exp(order * losses)).sum()) / (order - 1)
            down = math.log((kept[seen] * np.exp(-order * losses)).sum()) / (order - 1)
            assert max(up, down) <= rho * order
    assert rho < 0.5**2 / 2


def test_a_cost_needs_a_delta_above_what_is_off_support() -> None:
    assert math.isinf(rho_of(one_sample(0.5, 3, ADD_REMOVE, 1.0), 1e-9))
