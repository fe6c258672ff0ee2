from __future__ import annotations

import math
from fractions import Fraction

import pytest

from headcount.accounting.calibrate import gaussian_sigma_squared, laplace_scale, round_scale_up
from headcount.accounting.compose import cost, cost_in_account, total
from headcount.accounting.convert import epsilon_at, rho_at, spend_of, stated_epsilon, zcdp_of
from headcount.accounting.filter import Filter
from headcount.accounting.gaussian import gaussian_delta, gaussian_noise_multiplier
from headcount.accounting.laplace import laplace_cost
from headcount.accounting.tail import each_of, upper_point, upper_tail
from headcount.errors import BudgetError, LedgerError, UsageError
from headcount.privacy.bounds import Bounds
from headcount.privacy.budget import Budget
from headcount.privacy.event import (
    Composed,
    GaussianNoise,
    GaussianThreshold,
    LaplaceNoise,
    Selection,
)
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

MILLIONTH = Fraction(1, 10**6)


def test_costs_of_events() -> None:
    assert cost(GaussianNoise(Fraction(20), Fraction(100))) == Zcdp(Fraction(1, 10))
    laplace = cost(LaplaceNoise(Fraction(1), Fraction(2)))
    assert Fraction("0.122459") < laplace.rho < Fraction("0.122460")
    assert cost(Selection(Fraction(1))) == Zcdp(Fraction(1, 8))
    threshold = GaussianThreshold(Fraction(2), Fraction(10), MILLIONTH)
    assert cost(threshold) == Zcdp(Fraction(1, 10), MILLIONTH)
    assert cost(Composed((threshold, threshold))) == total([cost(threshold)] * 2)


@pytest.mark.parametrize("rho", ["0.0001", "0.01", "0.1", "1", "8", "100"])
@pytest.mark.parametrize("delta", ["1e-3", "1e-6", "1e-12"])
def test_stated_epsilon_is_above_the_true_one_and_below_the_classic_bound(
    rho: str, delta: str
) -> None:
    number, chance = Fraction(rho), Fraction(delta)
    epsilon = float(epsilon_at(number, chance))
    # Gaussian noise of that rho truly needs this delta at the stated epsilon.
    assert gaussian_delta(epsilon, 1 / math.sqrt(2 * float(number))) <= float(chance)
    assert epsilon <= float(number) + 2 * math.sqrt(float(number) * math.log(1 / float(chance)))


@pytest.mark.parametrize("order", [1.5, 2.0, 7.0, 40.0])
def test_no_order_beats_the_stated_epsilon_and_the_search_finds_its_foot(order: float) -> None:
    rho, delta = 0.1, 1e-6
    at_order = rho * order + (
        math.log(1 / delta) + (order - 1) * math.log(1 - 1 / order) - math.log(order)
    ) / (order - 1)
    assert float(epsilon_at(Fraction("0.1"), MILLIONTH)) <= at_order + 1e-8


@pytest.mark.parametrize("epsilon", ["0.01", "0.25", "1", "3", "20"])
def test_rho_at_is_the_inverse_to_the_safe_side(epsilon: str) -> None:
    rho = rho_at(Fraction(epsilon), MILLIONTH)
    assert epsilon_at(rho, MILLIONTH) <= Fraction(epsilon)
    assert epsilon_at(rho * Fraction(1001, 1000), MILLIONTH) > Fraction(epsilon)


def test_a_budget_never_states_more_than_was_asked() -> None:
    limit = zcdp_of(Budget(epsilon=1, delta=1e-6))
    assert stated_epsilon(limit, MILLIONTH) <= 1
    assert limit.delta == MILLIONTH / 2
    assert zcdp_of(Budget(rho="0.5", delta=1e-6)).rho == Fraction(1, 2)
    with pytest.raises(UsageError):
        zcdp_of(Budget(epsilon=1, delta="1e-18"))
    with pytest.raises(UsageError):
        epsilon_at(Fraction(1), Fraction(0))
    with pytest.raises(UsageError):
        stated_epsilon(limit, limit.delta)
    assert stated_epsilon(Zcdp(0), MILLIONTH) == 0


def test_the_analytic_gaussian_matches_published_figures() -> None:
    # epsilon 1, delta 1e-6: 4.2247; the classic formula would give 5.309.
    assert math.isclose(gaussian_noise_multiplier(Fraction(1), MILLIONTH), 4.2247, rel_tol=1e-4)
    assert gaussian_delta(1.0, float(gaussian_noise_multiplier(Fraction(1), MILLIONTH))) <= 1e-6
    assert gaussian_delta(800.0, 0.5) == 0.0


@pytest.mark.parametrize("value", [Fraction(1, 977), Fraction(22, 7), Fraction(10**9 + 1)])
def test_scales_are_rounded_up_and_barely(value: Fraction) -> None:
    rounded = round_scale_up(value)
    assert value <= rounded <= value * (1 + Fraction(1, 2**22))
    assert rounded.numerator.bit_length() <= 40 or rounded.denominator == 1


def test_calibrated_noise_costs_at_most_what_was_asked() -> None:
    bounds = Bounds(max_groups=7, full_groups=7)
    spend = Zcdp(Fraction(1, 37))
    variance = gaussian_sigma_squared(bounds.sensitivity(), spend)
    assert cost(GaussianNoise(Fraction(7), variance)).rho <= spend.rho
    scale = laplace_scale(Fraction(7), spend.rho)
    assert spend.rho * Fraction(999_999, 10**6) <= laplace_cost(Fraction(7), scale) <= spend.rho
    with pytest.raises(UsageError):
        gaussian_sigma_squared(bounds.sensitivity(), Zcdp(0))


def test_the_filter_admits_up_to_the_limit_and_not_one_step_more() -> None:
    gate = Filter(Zcdp("0.3", "2e-7"))
    for _ in range(3):
        gate.charge(Zcdp("0.1"))
    assert gate.spent == gate.limit or gate.spent == Zcdp("0.3")
    assert not gate.admits(Zcdp("1e-30"))
    with pytest.raises(BudgetError):
        gate.charge(Zcdp("1e-30"))
    gate.charge(Zcdp(0, "2e-7"))
    assert not gate.admits(Zcdp(0, "1e-30"))


def test_crossing_neighbour_relations() -> None:
    spend = Zcdp("0.1")
    add_remove, replace = Neighbours.ADD_REMOVE, Neighbours.REPLACE
    assert cost_in_account(spend, add_remove, add_remove) == spend
    assert cost_in_account(spend, add_remove, replace) == Zcdp("0.4")
    with pytest.raises(LedgerError):
        cost_in_account(spend, replace, add_remove)
    with pytest.raises(LedgerError):
        cost_in_account(Zcdp("0.1", "1e-9"), add_remove, replace)


@pytest.mark.parametrize("chance", [0.3, 1e-3, 1e-9, 1e-15])
def test_tails_are_to_the_safe_side_and_tight(chance: float) -> None:
    point = upper_point(chance)
    assert upper_tail(point) <= chance
    assert upper_tail(point * (1 - 1e-7)) > chance * (1 - 1e-5)
    each = each_of(chance, 1000)
    assert -math.expm1(1000 * math.log1p(-each)) <= chance


def test_a_spend_takes_its_share_of_an_account() -> None:
    limit = zcdp_of(Budget(epsilon=2, delta=1e-6))
    whole = spend_of(Budget(epsilon=2), limit, MILLIONTH)
    assert whole == limit
    quarter = spend_of(Budget(rho=limit.rho / 4), limit, MILLIONTH)
    assert float(quarter.delta) == pytest.approx(float(limit.delta / 4))
    assert spend_of(Budget(epsilon=1, delta=1e-8), limit, MILLIONTH).delta == Fraction(1, 2 * 10**8)
    assert epsilon_at(spend_of(Budget(epsilon=1), limit, MILLIONTH).rho, MILLIONTH / 2) <= 1
