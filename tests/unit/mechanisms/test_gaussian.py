from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from headcount.accounting.compose import cost
from headcount.errors import UsageError
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.gaussian_threshold import GaussianThreshold, threshold_for
from headcount.privacy.bounds import Bounds
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given

TENTH = Zcdp("0.1", "1e-6")


def test_gaussian_costs_what_it_was_given() -> None:
    mechanism = Gaussian.calibrate(Bounds(5, 5).sensitivity(), TENTH)
    spend = cost(mechanism.event)
    assert 0.0999 < spend.rho <= Fraction(1, 10)
    assert spend.delta == 0
    assert math.isclose(mechanism.sd, 5, rel_tol=1e-3)
    assert math.isclose(mechanism.error_bound(0.95), 1.96 * mechanism.sd, rel_tol=1e-3)


def test_replacement_takes_twice_the_variance() -> None:
    bounds = Bounds(5, 5)
    one = Gaussian.calibrate(bounds.sensitivity(), TENTH)
    two = Gaussian.calibrate(bounds.sensitivity(Neighbours.REPLACE), TENTH)
    assert math.isclose(two.sigma_squared / one.sigma_squared, 2, rel_tol=1e-6)


def test_every_entry_gets_noise_of_its_own() -> None:
    mechanism = Gaussian.calibrate(Bounds(5, 5).sensitivity(), TENTH)
    noisy = mechanism.draw(given(mechanism.sensitivity, np.zeros(10_000, np.int64)), Drawn())
    assert 4.5 < noisy.std() < 5.5
    assert abs(np.corrcoef(noisy[:-1], noisy[1:])[0, 1]) < 0.1
    assert not np.array_equal(
        noisy, mechanism.draw(given(mechanism.sensitivity, np.zeros(10_000, np.int64)), Drawn())
    )


@pytest.mark.parametrize("max_groups", [1, 2, 20, 10_000, 1_000_000])
@pytest.mark.parametrize("delta", ["1e-2", "1e-6", "5e-10"])
def test_the_threshold_holds_for_every_number_of_new_groups(max_groups: int, delta: str) -> None:
    bounds = Bounds(max_groups, min(20, max_groups), 12)
    sigma_squared = Fraction(4096**2 * 100)
    threshold = threshold_for(bounds, sigma_squared, Fraction(delta))
    numbers = np.unique(np.geomspace(1, max_groups, 200).astype(np.int64))
    weights = np.array([bounds.weight(int(k)) for k in numbers])
    tails = norm.sf((threshold - weights) / math.sqrt(sigma_squared))
    chance = -np.expm1(numbers * np.log1p(-tails))
    assert chance.max() <= float(delta)
    lower = norm.sf((threshold * 0.998 - weights) / math.sqrt(sigma_squared))
    assert (-np.expm1(numbers * np.log1p(-lower))).max() > float(delta)


def test_only_noisy_totals_above_the_threshold_leave() -> None:
    mechanism = GaussianThreshold.calibrate(Bounds(3, 3), TENTH)
    true_totals = np.array([0, 10**6, 0, mechanism.threshold * 3], np.int64)
    kept, noisy_totals = mechanism.draw(given(mechanism.sensitivity, true_totals), Drawn())
    assert set(kept.tolist()) == {1, 3}
    assert (noisy_totals > mechanism.threshold).all()
    empty_kept, empty_totals = mechanism.draw(
        given(mechanism.sensitivity, np.zeros(0, np.int64)), Drawn()
    )
    assert len(empty_kept) == len(empty_totals) == 0


def test_a_threshold_needs_a_delta() -> None:
    with pytest.raises(UsageError, match=r"groups=\[\.\.\.\]"):
        GaussianThreshold.calibrate(Bounds(3, 3), Zcdp("0.1"))


def test_a_total_equal_to_the_threshold_stays() -> None:
    mechanism = GaussianThreshold(Bounds(1, 1), Fraction(1, 10_000), 7, Fraction(1, 10))
    kept, noisy_totals = mechanism.draw(
        given(mechanism.sensitivity, np.array([6, 7, 8], np.int64)), Drawn()
    )
    assert kept.tolist() == [2]
    assert noisy_totals.tolist() == [8]
