from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from headcount.accounting.compose import cost
from headcount.errors import UsageError
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.exponential_quantile import ExponentialQuantile, read_quantile
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.hierarchical_histogram import HierarchicalHistogram, sensitivity_of
from headcount.mechanisms.hierarchy import Hierarchy, best_shape, shapes
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given

SHAPES = [Hierarchy(10, 2, 3), Hierarchy(27, 3, 3), Hierarchy(30, 4, 2), Hierarchy(7, 2, 1)]


def design(shape: Hierarchy) -> np.ndarray:
    """Which cells each node counts, as a matrix."""
    every = np.arange(shape.n_padded)
    return np.array(
        [every // size == block for size in shape.sizes for block in range(shape.n_padded // size)],
        np.float64,
    )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_estimate_is_that_of_least_squares(shape: Hierarchy) -> None:
    matrix = design(shape)
    noisy = np.random.default_rng(3).integers(-5, 30, len(matrix))
    wanted, *_ = np.linalg.lstsq(matrix, noisy.astype(float))
    assert np.allclose(shape.estimate(noisy), wanted)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_covariances_are_those_of_the_inverted_matrix(shape: Hierarchy) -> None:
    matrix = design(shape)
    inverse = np.linalg.inv(matrix.T @ matrix)
    before = np.tri(shape.n_padded + 1, shape.n_padded, -1)
    every = np.arange(shape.n_padded + 1)
    found = shape.covariance(every[:, None], every[None, :])
    assert np.allclose(found, before @ inverse @ before.T)
    functional = before[: shape.n_cells + 1] - 0.3 * before[-1]
    wanted = np.einsum("ij,jk,ik->i", functional, inverse, functional)
    assert np.allclose(shape.rank_variance(0.3), wanted)
    ranges = [(0, 3), (2, shape.n_cells), (4, 5)]
    rows = np.array([before[end] - before[first] for first, end in ranges])
    assert np.allclose(shape.range_variance(ranges), np.diag(rows @ inverse @ rows.T))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_counts_and_estimates_agree_without_noise(shape: Hierarchy) -> None:
    true_cells = np.random.default_rng(1).integers(0, 9, shape.n_cells)
    found = shape.estimate(shape.counts(true_cells))
    assert np.allclose(found[: shape.n_cells], true_cells)
    assert np.allclose(found[shape.n_cells :], 0)
    n_nodes = sum(shape.n_padded // size for size in shape.sizes)
    assert len(shape.counts(true_cells)) == n_nodes


def test_levels_help_where_ranges_are_long() -> None:
    whole = [(0, end) for end in range(1, 257)]
    assert best_shape(256, lambda shape: shape.range_loss(whole)).n_levels > 3
    single = [(cell, cell + 1) for cell in range(256)]
    assert best_shape(256, lambda shape: shape.range_loss(single)).n_levels == 1
    assert best_shape(1, lambda shape: shape.range_loss([(0, 1)])).n_levels == 1
    losses = [shape.rank_loss([0.5]) for shape in shapes(1024)]
    assert best_shape(1024, lambda shape: shape.rank_loss([0.5])).rank_loss([0.5]) == min(losses)


def test_one_user_is_in_one_block_of_each_level() -> None:
    shape = Hierarchy(100, 3, 4)
    for cell in (0, 57, 99):
        moved = shape.counts(np.eye(100, dtype=np.int64)[cell])
        assert (moved**2).sum() == sensitivity_of(4).l2_squared == 4
        assert moved.max() == 1


def test_a_hierarchy_costs_what_it_was_given() -> None:
    mechanism = HierarchicalHistogram.calibrate(Hierarchy(64, 2, 6), Zcdp("0.1"))
    assert 0.0999 < cost(mechanism.event).rho <= Fraction(1, 10)
    assert mechanism.event.l2_squared == 6


def test_an_interval_says_nothing_where_there_is_nobody() -> None:
    mechanism = HierarchicalHistogram.calibrate(Hierarchy(64, 2, 6), Zcdp("0.1"))
    empty = given(mechanism.sensitivity, np.zeros(64, np.int64))
    drawn = [mechanism.draw(empty, Drawn()).quantile(0.5, 0.95)[1:] for _ in range(40)]
    # By chance, noisy cells seem to hold somebody in about one draw of eighty.
    assert sum(interval == (0, 63) for interval in drawn) >= 35


def test_a_quantile_is_exact_without_noise() -> None:
    shape = Hierarchy(16, 2, 4)
    quiet = HierarchicalHistogram(shape, Gaussian(sensitivity_of(4), Fraction(1, 10**6)))
    true_cells = np.array([0, 60, 0, 0, 40] + [0] * 11)
    found = quiet.draw(given(quiet.sensitivity, true_cells), Drawn())
    assert found.quantile(0.5, 0.95) == (1, 1, 1)
    assert found.quantile(0.7, 0.95) == (4, 4, 4)
    choice = ExponentialQuantile(Fraction(1, 2), Fraction(10))
    assert choice.draw(given(choice.sensitivity, true_cells), Drawn()) == 1


def test_scores_are_zero_where_the_rank_is_and_fall_with_users() -> None:
    scores = ExponentialQuantile(Fraction(1, 4), Fraction(1)).scores(np.array([1, 0, 6, 1, 0]))
    assert scores.tolist() == [-4, -4, 0, -20, -24]


def test_scores_do_not_overflow() -> None:
    huge = np.full(1 << 16, 1 << 40)
    scores = ExponentialQuantile(Fraction(9999, 10_000), Fraction(1)).scores(huge)
    assert scores.max() == 0
    assert -(1 << 62) < scores.min() < 0


@pytest.mark.parametrize("at", [0, 1, -0.1, "0.12345", float("nan"), "half"])
def test_quantiles_that_make_no_sense_are_refused(at: float | str) -> None:
    with pytest.raises(UsageError):
        read_quantile(at)
