"""Clopper-Pearson bounds, against SciPy and against what they promise."""

from __future__ import annotations

import pytest
from scipy import special, stats

from headcount.audit.binomial import incomplete_beta, lower, upper, upper_tail

CASES = [
    (0, 10),
    (1, 10),
    (5, 10),
    (10, 10),
    (3, 1000),
    (999, 1000),
    (20_000, 50_000),
    (7, 500_000),
]


@pytest.mark.parametrize(("k", "n"), CASES)
@pytest.mark.parametrize("alpha", [0.05, 1e-6, 5e-7])
def test_bounds_are_those_of_scipy(k: int, n: int, alpha: float) -> None:
    low = 0.0 if k == 0 else float(stats.beta.ppf(alpha, k, n - k + 1))
    high = 1.0 if k == n else float(stats.beta.ppf(1 - alpha, k + 1, n - k))
    assert lower(k, n, alpha) == pytest.approx(low, rel=1e-7, abs=1e-15)
    assert upper(k, n, alpha) == pytest.approx(high, rel=1e-7, abs=1e-15)


@pytest.mark.parametrize("a", [1, 2.5, 40, 25_000])
@pytest.mark.parametrize("b", [1, 3, 600, 25_001])
@pytest.mark.parametrize("x", [1e-9, 0.01, 0.3, 0.5, 0.9, 0.999])
def test_incomplete_beta_is_that_of_scipy(a: float, b: float, x: float) -> None:
    assert incomplete_beta(a, b, x) == pytest.approx(
        float(special.betainc(a, b, x)), rel=1e-7, abs=1e-14
    )


@pytest.mark.parametrize("p", [0.1, 0.5, 0.93])
@pytest.mark.parametrize("n", [7, 60])
def test_bounds_cover(p: float, n: int) -> None:
    """Over all outcomes of Bin(n, p), a bound is on the wrong side at most alpha of the time."""
    alpha = 0.05
    too_high = sum(stats.binom.pmf(k, n, p) for k in range(n + 1) if lower(k, n, alpha) > p)
    too_low = sum(stats.binom.pmf(k, n, p) for k in range(n + 1) if upper(k, n, alpha) < p)
    assert too_high <= alpha
    assert too_low <= alpha
    assert n < 60 or min(too_high, too_low) > alpha / 10


def test_tail_at_the_ends() -> None:
    assert upper_tail(0, 5, 0.3) == 1
    assert upper_tail(1, 5, 0.0) == 0
    assert upper_tail(1, 5, 1.0) == 1
