"""The threshold for users who split one norm among groups in any way."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from headcount.accounting.compose import cost
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.mechanisms.laplace_threshold import LaplaceThreshold
from headcount.mechanisms.norm_threshold import unit_threshold
from headcount.privacy.bounds import NormBounds
from headcount.privacy.spend import Zcdp

CASES = [(1, 1.0, 1e-6), (3, 5.3, 1e-6), (100, 1.0, 1e-6), (8192, 2.0, 1e-9), (8192, 0.3, 1e-2)]


def equal_split(max_groups: int, sigma: float, delta: float) -> float:
    numbers = np.unique(np.geomspace(1, max_groups, 400).astype(np.int64))
    points = norm.isf(-np.expm1(np.log1p(-delta) / numbers))
    return float((1 / np.sqrt(numbers) + sigma * points).max())


@pytest.mark.parametrize(("max_groups", "sigma", "delta"), CASES)
def test_little_is_lost_to_the_equal_split(max_groups: int, sigma: float, delta: float) -> None:
    threshold = unit_threshold(max_groups, sigma, delta)
    assert 0.9999 < threshold / equal_split(max_groups, sigma, delta) < 1.02


@pytest.mark.parametrize(("max_groups", "sigma", "delta"), CASES)
def test_no_split_passes_more_often_than_delta(max_groups: int, sigma: float, delta: float) -> None:
    """One large value beside equal small ones, and random splits."""
    threshold = unit_threshold(max_groups, sigma, delta)
    chooser = np.random.default_rng(5)
    worst = 0.0
    for k in np.unique(np.geomspace(1, max_groups, 30).astype(np.int64)).tolist():
        squares = [np.full(k, 1 / k)]
        if k > 1:
            squares += [
                np.concatenate([[share], np.full(k - 1, (1 - share) / (k - 1))])
                for share in np.linspace(0, 1, 21)
            ]
            squares += list(chooser.dirichlet(np.full(k, 0.3), 10))
        for square in squares:
            tails = norm.sf((threshold - np.sqrt(square)) / sigma)
            worst = max(worst, -math.expm1(np.log1p(-tails).sum()))
    assert worst <= delta
    assert worst > 0.6 * delta


def test_every_norm_costs_the_same() -> None:
    unit = GaussianThreshold.calibrate(NormBounds(8192, 1), Zcdp("0.1", "1e-6"))
    for rows, bits in ((1, 12), (7, 12), (1 << 17, 12)):
        scaled = unit.with_norm(rows, bits)
        assert cost(scaled.event) == cost(unit.event)
        ratio = scaled.threshold / (rows << bits)
        assert math.isclose(ratio, unit_threshold(8192, unit.sd, 1e-6), rel_tol=1e-3)
    assert cost(unit.event).rho <= Fraction(1, 10)


@pytest.mark.parametrize("rho", ["0.001", "0.02", "0.1", "1"])
def test_gaussian_noise_is_less_at_every_usual_budget(rho: str) -> None:
    """In the ledger's currency Laplace noise loses even for users in one group, up to rho 2."""
    spend = Zcdp(rho, "1e-6")
    gaussian = GaussianThreshold.calibrate(NormBounds(1 << 13, 1 << 12, 12), spend)
    laplace = LaplaceThreshold.calibrate(1, spend)
    assert gaussian.sd / 4096 < laplace.sd
    assert gaussian.threshold / 4096 < laplace.threshold
