"""Undoing a bound on rows: the function, its inverse, its ends, and when it helps."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

from headcount.errors import UsageError
from headcount.postprocess.debias import (
    MAX_GAIN,
    bounded_mean,
    largest_mean,
    slope,
    unbounded_mean,
)


@pytest.mark.parametrize("bound", [1, 2, 5, 100, 1000])
def test_against_incomplete_gamma_functions(bound: int) -> None:
    means = np.geomspace(1e-6, largest_mean(bound), 50)
    first = means * special.gammaincc(bound - 1, means) if bound > 1 else 0 * means
    wanted = first + bound * special.gammainc(bound, means)
    assert bounded_mean(means, bound) == pytest.approx(wanted, rel=1e-6)
    assert slope(means, bound) == pytest.approx(special.gammaincc(bound, means), abs=1e-12)
    assert unbounded_mean(wanted, bound) == pytest.approx(means, rel=1e-6)


def test_the_ends_are_closed() -> None:
    assert unbounded_mean(np.array([-5.0, 0.0]), 2).tolist() == [0.0, 0.0]
    assert unbounded_mean(np.array([2.0, 1e9]), 2) == pytest.approx([largest_mean(2)] * 2)
    assert slope(np.array([largest_mean(7)]), 7)[0] == pytest.approx(1 / MAX_GAIN)
    assert unbounded_mean(np.zeros(0), 2).tolist() == []


@pytest.mark.parametrize("bound", [0, 1001])
def test_bounds_that_cannot_be_undone(bound: int) -> None:
    with pytest.raises(UsageError):
        unbounded_mean(np.ones(1), bound)


def error(rows: np.ndarray, bound: int, undone: bool) -> float:
    """How far the estimate of the mean is off, as a share of it."""
    mean = np.array([np.minimum(rows, bound).mean()])
    estimate = unbounded_mean(mean, bound) if undone else mean
    return float(abs(estimate[0] / rows.mean() - 1))


def test_it_helps_where_users_are_alike_and_hardly_where_they_are_not() -> None:
    rng = np.random.default_rng(2)
    alike = rng.poisson(1.0, 200_000)
    assert error(alike, 2, undone=False) > 0.09
    assert error(alike, 2, undone=True) < 0.01
    some = rng.poisson(rng.gamma(2, 1 / 2, 200_000))
    assert error(some, 2, undone=True) > 0.08
    few = rng.poisson(rng.gamma(0.2, 5, 200_000))
    before, after = error(few, 2, undone=False), error(few, 2, undone=True)
    assert after > 0.45
    assert after > 0.9 * before
