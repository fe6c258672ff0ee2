"""The nearest falling integers, against every possible answer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from headcount.postprocess.isotonic import non_increasing

N_INSTANCES = 2_000
Integers = npt.NDArray[np.int64]


def least_cost(
    weights: Integers,
    targets: npt.NDArray[np.float64],
    most: int,
    limits: tuple[Integers, Integers] | None,
) -> float:
    """By dynamic programming over all values, last entry first."""
    values = np.arange(most + 1)
    best = np.zeros(most + 1)
    for i in reversed(range(len(weights))):
        cost = weights[i] * np.abs(values - targets[i])
        if limits is not None:
            cost = np.where((values < limits[0][i]) | (values > limits[1][i]), np.inf, cost)
        best = cost + np.minimum.accumulate(best)
    return float(best.min())


def test_random_instances_match_brute_force() -> None:
    rng = np.random.default_rng()
    mismatches = 0
    for _ in range(N_INSTANCES):
        n, most = int(rng.integers(1, 9)), int(rng.integers(1, 12))
        weights = rng.integers(1, 9, n)
        targets = rng.uniform(-5, most + 5, n)
        if rng.random() < 0.3:
            targets = np.round(targets)
        limits = None
        if rng.random() < 0.5:
            low = np.sort(rng.integers(0, most + 1, n))[::-1]
            high = np.maximum(low, np.sort(rng.integers(0, most + 1, n))[::-1])
            limits = low, high
        low_limit, high_limit = limits if limits is not None else (None, None)
        fitted = non_increasing(weights, targets, most, low=low_limit, high=high_limit)
        assert (np.diff(fitted) <= 0).all()
        assert fitted.min() >= 0
        assert fitted.max() <= most
        if limits is not None:
            assert (fitted >= limits[0]).all()
            assert (fitted <= limits[1]).all()
        cost = float(weights @ np.abs(fitted - targets))
        mismatches += cost > least_cost(weights, targets, most, limits) + 1e-6
    assert mismatches == 0


@pytest.mark.parametrize("targets", [[3.0, 3.0, 1.0], [9.0, 0.0, 0.0]])
def test_what_falls_already_stays(targets: list[float]) -> None:
    fitted = non_increasing(np.array([1, 5, 2]), np.array(targets), 10)
    assert fitted.tolist() == targets


def test_a_long_segment_outweighs_a_short_one() -> None:
    short_first = non_increasing(np.array([1, 100]), np.array([0.0, 7.0]), 10)
    assert short_first.tolist() == [7, 7]
