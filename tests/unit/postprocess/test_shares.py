"""Projection and shrinking: free, and they must not make things worse."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.postprocess.shrink import shrunk
from headcount.postprocess.simplex import onto_simplex


def test_shares_are_left_as_they_are() -> None:
    shares = np.array([0.5, 0.2, 0.3, 0.0])
    assert onto_simplex(shares) == pytest.approx(shares)


def test_the_nearest_shares() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(0.2, 0.3, 6)
    nearest = onto_simplex(values)
    assert nearest.sum() == pytest.approx(1)
    assert nearest.min() >= 0
    others = rng.dirichlet(np.ones(6), 5_000)
    assert ((others - values) ** 2).sum(axis=1).min() >= ((nearest - values) ** 2).sum() - 1e-12


def test_few_values_and_clear_ones_are_not_moved() -> None:
    few = np.array([0.1, -0.1, 0.3])
    assert shrunk(few, np.full(3, 0.1)) is few
    values = np.concatenate([np.full(100, 0.001), [5.0, 7.0]])
    assert shrunk(values, np.full(102, 0.01))[-2:].tolist() == [5.0, 7.0]


def test_small_shares_come_nearer_to_the_truth_than_by_cutting_at_zero() -> None:
    rng = np.random.default_rng(2)
    truth = 1 / np.arange(1, 2_001) ** 0.8
    truth /= truth.sum()
    sds = np.full(2_000, 4e-4)
    noisy = truth + rng.normal(0, 1, 2_000) * sds
    cut = np.abs(onto_simplex(noisy) - truth).sum()
    assert np.abs(onto_simplex(shrunk(noisy, sds)) - truth).sum() < 0.75 * cut


def test_groups_that_nobody_has_go_to_zero() -> None:
    rng = np.random.default_rng(3)
    noisy = rng.normal(0, 1e-3, 500)
    assert shrunk(noisy, np.full(500, 1e-3)).max() < 4e-4
