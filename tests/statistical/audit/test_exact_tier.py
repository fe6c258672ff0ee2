"""The exact tier against closed forms: twenty scales each, residual 1e-12, epsilon to six digits.

The closed forms are textbook ones in plain floats or SciPy; nothing here uses headcount's own
brackets to judge headcount.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from headcount.audit.divergence import delta_at, epsilon_at, pure_epsilon, range_epsilon, rho
from headcount.audit.law import Law
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.trials import discrete_gaussian, discrete_laplace, gaussian_threshold, selection
from headcount.trials.discrete_laplace import NARROW, table_law, walked_law, zero_twice_law

SIX_DIGITS = 1e-6


def least(law: Law) -> float:
    return max(1e7 * float(law.residual), 1e-12)


@pytest.mark.parametrize("scale", discrete_laplace.SCALES, ids=str)
@pytest.mark.parametrize("words", ["all coins", "64 bits"])
def test_discrete_laplace_epsilon(words: str, scale: Fraction) -> None:
    if words == "all coins":
        law = walked_law(DiscreteLaplace(scale).tables(NARROW)[0].draw)
    else:
        scale = 20 * scale
        law = table_law(DiscreteLaplace(scale).tables()[0])
    assert law.residual <= Fraction(1, 10**12)
    found = pure_epsilon(law.shifted(1), law, least(law))
    assert found.low == pytest.approx(1 / scale, rel=SIX_DIGITS)
    assert found.high == pytest.approx(1 / scale, rel=2e-6 * max(1.0, float(scale)))
    zero = math.tanh(1 / (2 * scale))
    assert float(law.masses[0]) == pytest.approx(zero, rel=1e-11)


@pytest.mark.parametrize("sigma", discrete_gaussian.SIGMAS, ids=str)
@pytest.mark.parametrize("words", ["all coins", "64 bits"])
def test_discrete_gaussian_epsilon(words: str, sigma: Fraction) -> None:
    if words == "all coins":
        law = walked_law(DiscreteGaussian(sigma**2).table(NARROW).draw)
    else:
        sigma = 20 * sigma
        law = table_law(DiscreteGaussian(sigma**2).table())
    assert law.residual <= Fraction(1, 10**12)
    values = np.arange(-math.ceil(40 * sigma), math.ceil(40 * sigma) + 1)
    weights = np.exp(-(values.astype(float) ** 2) / float(2 * sigma**2))
    referee = weights / weights.sum()
    for delta in (1e-2, 1e-3):
        found = epsilon_at(law.shifted(1), law, delta)
        shifted = np.concatenate([[0.0], referee[:-1]])
        over = np.maximum(0.0, referee - math.exp(found.low) * shifted).sum()
        back = np.maximum(0.0, shifted - math.exp(found.low) * referee).sum()
        if found.low > 0:
            assert max(over, back) == pytest.approx(delta, rel=SIX_DIGITS)
        assert found.high - found.low <= SIX_DIGITS * max(found.low, 1e-3)
    assert rho(law.shifted(1), law, (2.0, 3.0)) == pytest.approx(
        float(1 / (2 * sigma**2)), rel=1e-5 if sigma >= 1 else 1e-2
    )


@pytest.mark.parametrize("rate", selection.RATES, ids=str)
def test_exponential_mechanism_epsilon(rate: Fraction) -> None:
    laws = (
        selection.chosen_law(selection.WITH_USER, rate),
        selection.chosen_law(selection.WITHOUT_USER, rate),
    )
    assert max(law.residual for law in laws) <= Fraction(1, 10**12)
    found = range_epsilon(*laws, least(laws[0]))
    assert found.low == pytest.approx(2 * rate, rel=SIX_DIGITS)
    assert found.high == pytest.approx(2 * rate, rel=SIX_DIGITS)
    weights = np.exp(float(rate) * np.array(selection.WITH_USER))
    for i, share in enumerate(weights / weights.sum()):
        assert float(laws[0].masses[i]) == pytest.approx(share, abs=1e-11)


def test_there_are_twenty_of_each() -> None:
    for scales in (discrete_laplace.SCALES, discrete_gaussian.SIGMAS, selection.RATES):
        assert len(set(scales)) == 20


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1, 2), Fraction(2)], ids=str)
def test_zero_counted_twice_comes_out_at_its_exact_epsilon(scale: Fraction) -> None:
    law = zero_twice_law(scale)
    found = pure_epsilon(law.shifted(1), law, least(law))
    assert found.low == pytest.approx(1 / scale + math.log(2), abs=1e-6)
    if scale == 1:
        assert f"{found.low:.6f}" == "1.693147"


def test_five_percent_too_little_noise_comes_out_exactly() -> None:
    law = walked_law(DiscreteLaplace(Fraction(20, 21)).tables(NARROW)[0].draw)
    assert pure_epsilon(law.shifted(1), law, least(law)).low == pytest.approx(1.05, abs=1e-6)


@pytest.mark.parametrize("delta", [2e-2, 2e-3, 2e-6, 2e-9])
@pytest.mark.parametrize("n_groups", [1, 3])
def test_threshold_delta_is_the_exact_tail(delta: float, n_groups: int) -> None:
    mechanism = gaussian_threshold.calibrated(1.0, delta)
    found = gaussian_threshold.new_group_delta(
        gaussian_threshold.as_shipped(mechanism), n_groups
    ).found
    sigma_squared = float(mechanism.sigma_squared)
    values = np.arange(-4000, 4001)
    weights = np.exp(-(values.astype(float) ** 2) / (2 * sigma_squared))
    tail = weights[values > mechanism.threshold - 1].sum() / weights.sum()
    assert found == pytest.approx(-math.expm1(n_groups * math.log1p(-tail)), rel=1e-5)
    assert found <= float(mechanism.delta)


@pytest.mark.parametrize("delta", [2e-2, 2e-3, 2e-6])
def test_one_below_a_tight_threshold_is_refuted(delta: float) -> None:
    mechanism = gaussian_threshold.tight(gaussian_threshold.calibrated(1.0, delta))
    for broken in (gaussian_threshold.one_too_low, gaussian_threshold.at_least):
        found = gaussian_threshold.new_group_delta(broken(mechanism), 3)
        assert found.violated
        assert found.found < 2 * found.claimed


def test_gaussian_profile_is_close_to_the_continuous_one() -> None:
    """Another way to the same number: Balle and Wang 2018, for a sigma that is not small."""
    sigma, epsilon = 20.0, 0.1
    law = table_law(DiscreteGaussian(Fraction(400)).table())
    a, b = 1 / (2 * sigma), epsilon * sigma
    expected = stats.norm.cdf(a - b) - math.exp(epsilon) * stats.norm.cdf(-a - b)
    assert delta_at(law.shifted(1), law, epsilon).low == pytest.approx(float(expected), rel=0.02)
