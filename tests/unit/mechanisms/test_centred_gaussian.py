"""Listed groups without a bound: what it costs, and how much noise it saves."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from headcount.accounting.compose import cost
from headcount.mechanisms.centred_gaussian import CentredGaussian
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.gaussian import Gaussian
from headcount.privacy.bounds import Bounds
from headcount.privacy.spend import Zcdp
from headcount.releases.count_users.listed import MOST_GROUPS
from headcount.trials.given import given


@pytest.mark.parametrize("n_groups", [2, 7, 12, 20, 63])
@pytest.mark.parametrize("rho", ["0.001", "0.1", "3"])
def test_it_costs_what_was_asked_and_hardly_less(n_groups: int, rho: str) -> None:
    spend = Zcdp(Fraction(rho))
    spent = cost(CentredGaussian.calibrate(n_groups, spend).event)
    assert spent <= spend
    assert spent.rho > spend.rho * Fraction(999, 1000)


@pytest.mark.parametrize(("n_groups", "ratio"), [(2, 1.16), (7, 1.4), (12, 1.4), (20, 1.4)])
def test_noise_is_less_than_a_bound_needs(n_groups: int, ratio: float) -> None:
    spend = Zcdp(Fraction(1, 10))
    bound = min(n_groups, 20)
    before = Gaussian.calibrate(Bounds(bound, bound).sensitivity(), spend).sd
    assert before / CentredGaussian.calibrate(n_groups, spend).sd >= ratio


def test_beyond_so_many_groups_a_bound_of_twenty_needs_less() -> None:
    spend = Zcdp(Fraction(1, 1000))
    before = Gaussian.calibrate(Bounds(20, 20).sensitivity(), spend).sd
    assert CentredGaussian.calibrate(MOST_GROUPS, spend).sd < before
    assert CentredGaussian.calibrate(MOST_GROUPS + 1, spend).sd > 0.99 * before


def test_counts_differences_and_sums_are_as_noisy_as_is_said() -> None:
    n_groups, n = 5, 4000
    mechanism = CentredGaussian.calibrate(n_groups, Zcdp(Fraction(1, 50)))
    counts = np.empty((n, n_groups))
    for run in range(n):
        differences = given(mechanism.differences.sensitivity, np.full(n_groups, -10))
        twice, _ = mechanism.draw(
            differences, given(mechanism.users.sensitivity, np.array([50])), Drawn()
        )
        counts[run] = twice / 2
    near = pytest.approx(1, abs=0.08)
    assert abs(counts.mean() - 20) < 5 * mechanism.sd_of_sum(n_groups) / n_groups / math.sqrt(n)
    assert counts[:, 0].std() / mechanism.sd == near
    assert (counts[:, 0] - counts[:, 1]).std() / mechanism.sd_of_difference == near
    assert counts.sum(axis=1).std() / mechanism.sd_of_sum(n_groups) == near
