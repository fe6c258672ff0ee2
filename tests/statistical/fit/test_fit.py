"""A million draws fit the law they name, and the same test rejects 0.9 and 1.1 times the scale."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from headcount.noise import single
from headcount.noise.discrete_gaussian import DiscreteGaussian, draw_by_rejection
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.noise.entropy import OsEntropy
from headcount.noise.selection import Selection
from headcount.noise.single import draw_one

N = 1_000_000
PASS = 1e-6
SCALES = ["1/2", "1", "20", "500", "5000", "1000000000"]
FACTORS = [Fraction(9, 10), Fraction(1), Fraction(11, 10)]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def laplace_cdf(x: Integers, scale: float) -> Floats:
    below = np.exp(-np.abs(np.where(x < 0, x, -x - 1)) / scale) / (1 + np.exp(-1 / scale))
    return np.asarray(np.where(x < 0, below, 1 - below))


def gaussian_cdf(x: Integers, sigma: float) -> Floats:
    if sigma > 1000:  # Euler-Maclaurin: off by less than 1 / (24 sigma^2)
        return np.asarray(stats.norm.cdf((x + 0.5) / sigma))
    values = np.arange(-int(40 * sigma) - 2, int(40 * sigma) + 3)
    weights = np.exp(-(values**2) / (2 * sigma**2))
    return np.asarray(np.cumsum(weights)[x - values[0]] / weights.sum())


@pytest.mark.parametrize("factor", FACTORS, ids=str)
@pytest.mark.parametrize("scale", SCALES)
def test_laplace(scale: str, factor: Fraction, entropy: OsEntropy, fit_p_value: Any) -> None:
    named = Fraction(scale)
    drawn = DiscreteLaplace(named * factor).draw(N, entropy)
    p_value = fit_p_value(drawn, lambda x: laplace_cdf(x, float(named)), float(named))
    assert (p_value > PASS) == (factor == 1), p_value


@pytest.mark.parametrize("factor", FACTORS, ids=str)
@pytest.mark.parametrize("sigma", SCALES)
def test_gaussian(sigma: str, factor: Fraction, entropy: OsEntropy, fit_p_value: Any) -> None:
    named = Fraction(sigma)
    drawn = DiscreteGaussian((named * factor) ** 2).draw(N, entropy)
    p_value = fit_p_value(drawn, lambda x: gaussian_cdf(x, float(named)), float(named))
    assert (p_value > PASS) == (factor == 1), p_value


@pytest.mark.parametrize("factor", FACTORS, ids=str)
@pytest.mark.parametrize("sigma", ["1/2", "7/3", "30"])
def test_rejection_where_a_table_would_serve(
    sigma: str, factor: Fraction, entropy: OsEntropy, fit_p_value: Any
) -> None:
    """The wide path at narrow sigma, where a wrong centre or tail could not hide."""
    named = Fraction(sigma)
    drawn = draw_by_rejection((named * factor) ** 2, N, entropy)
    p_value = fit_p_value(drawn, lambda x: gaussian_cdf(x, float(named)), float(named))
    assert (p_value > PASS) == (factor == 1), p_value


@pytest.mark.parametrize("factor", FACTORS, ids=str)
def test_selection(factor: Fraction, entropy: OsEntropy) -> None:
    scores = (entropy.words(200) % np.uint64(60)).astype(np.int64)
    drawn = Selection(scores, Fraction(1, 20) * factor).draw(N, entropy)
    weights = np.exp(scores / 20)
    counts = np.bincount(drawn, minlength=len(scores))
    p_value = stats.chisquare(counts, N * weights / weights.sum()).pvalue
    assert (p_value > PASS) == (factor == 1), p_value


@pytest.mark.parametrize("scale", ["20", "5000"])
def test_neighbouring_draws_are_independent(scale: str, entropy: OsEntropy) -> None:
    for law in (DiscreteLaplace(Fraction(scale)), DiscreteGaussian(Fraction(scale) ** 2)):
        drawn = law.draw(N, entropy)
        quarter = np.digitize(drawn / float(scale), [-0.7, 0, 0.7])
        for lag in (1, 2, 1 << 16):
            table = np.bincount(4 * quarter[lag:] + quarter[:-lag], minlength=16).reshape(4, 4)
            assert stats.chi2_contingency(table).pvalue > PASS


@pytest.mark.parametrize("factor", FACTORS, ids=str)
@pytest.mark.parametrize("sigma", ["1/2", "7/3", "30", "5000", "1000000000"])
def test_single_draws(sigma: str, factor: Fraction, entropy: OsEntropy, fit_p_value: Any) -> None:
    named = Fraction(sigma)
    variance = (named * factor) ** 2
    drawn = np.array([draw_one(variance, entropy) for _ in range(8_000)])
    p_value = fit_p_value(drawn, lambda x: gaussian_cdf(x, float(named)), float(named))
    assert (p_value > PASS) == (factor == 1), p_value


def test_single_draws_where_every_coin_goes_on_exactly(
    entropy: OsEntropy, fit_p_value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single, "MARGIN", 2.0)
    drawn = np.array([draw_one(Fraction(9), entropy) for _ in range(4_000)])
    assert fit_p_value(drawn, lambda x: gaussian_cdf(x, 3.0), 3.0) > PASS
    assert fit_p_value(drawn, lambda x: gaussian_cdf(x, 2.4), 2.4) <= PASS
