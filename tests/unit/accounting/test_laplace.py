"""What discrete Laplace noise costs, beside its own law."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.accounting.calibrate import laplace_scale
from headcount.accounting.laplace import laplace_cost

ORDERS = (1.001, 1.01, 1.1, 1.5, 2, 3, 5, 10, 50, 500)
FINE = [(16, 16.0), (3, 100.0), (1, 5.0), (40, 1.0)]
COARSE = [(1, 1.0), (2, 2.0), (1, 0.3), (10, 3.0)]


def least_rho(steps: int, scale: float) -> float:
    """The largest Renyi divergence over its order, of the law moved by so many steps."""
    reach = math.ceil(60 * scale) + steps
    at = np.arange(-reach, reach + steps + 1)
    here, there = -np.abs(at) / scale, -np.abs(at - steps) / scale
    whole = np.logaddexp.reduce(here)
    divergences = [
        float(np.logaddexp.reduce(order * here + (1 - order) * there) - whole) / (order - 1)
        for order in ORDERS
    ]
    return max(one / order for one, order in zip(divergences, ORDERS, strict=True))


def kullback_leibler(steps: int, scale: float) -> float:
    step, epsilon = 1 / scale, steps / scale
    return epsilon + math.expm1(-epsilon) * step / math.sinh(step)


@pytest.mark.parametrize(("steps", "scale"), FINE + COARSE)
def test_no_order_costs_more_and_the_lowest_costs_as_much(steps: int, scale: float) -> None:
    charged = float(laplace_cost(Fraction(steps), Fraction(scale)))
    assert least_rho(steps, scale) * (1 - 1e-9) <= charged
    assert charged == pytest.approx(kullback_leibler(steps, scale), rel=1e-8)
    assert charged <= least_rho(steps, scale) * 1.01


@pytest.mark.parametrize(("steps", "scale"), COARSE)
def test_the_continuous_formula_would_charge_too_little(steps: int, scale: float) -> None:
    epsilon = steps / scale
    assert epsilon + math.expm1(-epsilon) < 0.995 * least_rho(steps, scale)


def test_it_costs_less_than_a_mechanism_of_that_epsilon_may() -> None:
    for steps, share in [(1, 0.9243), (4, 0.7489), (256, 0.7358)]:
        assert float(laplace_cost(Fraction(steps), Fraction(steps)) / Fraction(1, 2)) < share
    assert laplace_cost(Fraction(0), Fraction(1)) == 0


sizes = st.builds(Fraction, st.integers(1, 10**6), st.integers(1, 10**4))


@given(st.integers(1, 300), st.integers(1, 300), sizes)
def test_moving_one_entry_costs_most(first: int, second: int, scale: Fraction) -> None:
    apart = laplace_cost(Fraction(first), scale) + laplace_cost(Fraction(second), scale)
    assert apart <= laplace_cost(Fraction(first + second), scale) * (1 + Fraction(1, 2**20))


@given(st.integers(1, 300), sizes, st.integers(1, 50))
def test_longer_contributions_at_more_noise_cost_no_more(
    l1: int, scale: Fraction, factor: int
) -> None:
    alike = laplace_cost(Fraction(l1 * factor), scale * factor)
    assert alike <= laplace_cost(Fraction(l1), scale)


@given(sizes, sizes, sizes)
def test_it_grows_with_the_distance_and_falls_with_the_noise(
    l1: Fraction, scale: Fraction, more: Fraction
) -> None:
    costs = [
        laplace_cost(l1, scale + more),
        laplace_cost(l1, scale),
        laplace_cost(l1 + more, scale),
    ]
    assert all(low <= high for low, high in itertools.pairwise(costs))


@given(st.integers(1, 10**6), st.builds(Fraction, st.integers(1, 10**9), st.just(10**7)))
def test_the_scale_is_the_least_that_costs_no_more(l1: int, rho: Fraction) -> None:
    scale = laplace_scale(Fraction(l1), rho)
    assert laplace_cost(Fraction(l1), scale) <= rho
    assert laplace_cost(Fraction(l1), scale * (1 - Fraction(1, 2**21))) > rho * (
        1 - Fraction(1, 2**18)
    )
