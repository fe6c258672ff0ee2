"""Shares: what the engine sums, what is charged, and how rounds are put together."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from headcount.accounting.convert import rho_at
from headcount.accounting.filter import Filter
from headcount.contributions.distribution.rows import listed_counts
from headcount.contributions.distribution.shares import UserShares
from headcount.contributions.groups import group_rows
from headcount.contributions.store import Store
from headcount.errors import UsageError
from headcount.mechanisms.binomial_selection.mechanism import BinomialSelection
from headcount.mechanisms.binomial_selection.tournament import Tournament
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.distribution import reading
from headcount.mechanisms.distribution.mechanism import METHODS, Distribution
from headcount.mechanisms.radius import Radius
from headcount.privacy.lattice import KEPT_BITS, SHARE_BITS, WEIGHT_BITS, length_edges
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.tables import open_table
from headcount.trials.given import given

N_USERS, N_GROUPS = 120, 9
ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    rng = np.random.default_rng(3)
    shares = 1 / np.arange(1, N_GROUPS + 1)
    n_rows = rng.integers(1, 60, N_USERS)
    drawn: np.ndarray = np.array([rng.multinomial(n, shares / shares.sum()) for n in n_rows])
    return drawn


@pytest.fixture(scope="module")
def shares(counts: np.ndarray) -> Iterator[UserShares]:
    users, groups = np.nonzero(counts)
    n_each = counts[users, groups]
    table = pa.table({"user": np.repeat(users, n_each), "item": np.repeat(groups, n_each)})
    source = open_table(table, user="user")
    with Store(source.engine) as store:
        grouped = group_rows(source, "item", list(range(N_GROUPS)))
        yield UserShares(listed_counts(grouped), N_GROUPS, store)


def under(shares: UserShares, relation: Neighbours) -> UserShares:
    """The same table, asked under a relation."""
    other = copy(shares)
    other.neighbours = relation
    return other


def test_residuals_are_those_of_a_dense_table(counts: np.ndarray, shares: UserShares) -> None:
    """Against a table with one entry for every user and group, which headcount never makes."""
    rng = np.random.default_rng(4)
    weights = rng.integers(1 << 10, 1 << WEIGHT_BITS, N_GROUPS)
    centre = rng.integers(0, 1 << SHARE_BITS - 4, N_GROUPS)
    total = counts.sum(axis=1, keepdims=True)
    own = np.floor(counts * 2.0**SHARE_BITS / total + 0.5)
    dense = np.floor(own * weights / 2**WEIGHT_BITS + 0.5).astype(np.int64) - centre
    squares = (dense**2).sum(axis=1)
    residuals = shares.around(centre, weights)
    edges = np.array(length_edges())
    cells = np.bincount(np.searchsorted(edges, squares, side="right"), minlength=len(edges) + 1)
    assert residuals.users_by_length().ask().tolist() == cells.tolist()
    norm = int(np.median(squares))
    vectors = []
    for user, square in zip(dense, squares, strict=True):
        most = 2**KEPT_BITS
        kept = most if square <= norm else int(most * np.sqrt(norm / square) * (1 - 2.0**-49))
        vector = [kept * int(entry) for entry in user]
        assert sum(entry**2 for entry in vector) <= norm * 4**KEPT_BITS
        vectors.append(vector)
    assert residuals.clipped(norm).ask().tolist() == [
        sum(column) for column in zip(*vectors, strict=True)
    ]


def test_floored_shares_are_at_most_one_in_all(counts: np.ndarray, shares: UserShares) -> None:
    floored = counts * (1 << SHARE_BITS) // counts.sum(axis=1, keepdims=True)
    assert floored.sum(axis=1).max() <= 1 << SHARE_BITS
    assert shares.floored_totals().ask().tolist() == floored.sum(axis=0).tolist()


def test_scaled_counts_touch_no_more_groups_than_samples(
    counts: np.ndarray, shares: UserShares
) -> None:
    scaled = counts * 4 // counts.sum(axis=1, keepdims=True)
    assert (scaled > 0).sum(axis=1).max() <= 4
    by_group = shares.counts_by_group(4).ask()
    assert by_group[:, 0].tolist() == [0] * N_GROUPS
    assert by_group[:, 1:].sum(axis=1).tolist() == (scaled > 0).sum(axis=0).tolist()


def test_a_centre_that_is_too_long_is_refused(shares: UserShares) -> None:
    with pytest.raises(ValueError, match="centre"):
        shares.around(np.full(N_GROUPS, 1 << SHARE_BITS), None)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_the_limit_is_spent_and_not_passed(
    method: str,
    relation: Neighbours,
    shares: UserShares,
) -> None:
    made: list[Filter] = []

    class Watched(Drawn):
        def filter(self, limit: Zcdp) -> Filter:
            made.append(Filter(limit))
            return made[-1]

    plan = Distribution.calibrate(Zcdp(1), method, relation)
    learned = plan.draw(under(shares, relation), Watched())
    assert Fraction(99, 100) < made[0].spent.rho <= 1
    assert made[0].spent.delta == 0
    assert learned.shares.sum() == pytest.approx(1)
    assert (learned.shares >= 0).all()
    assert (learned.sds > 0).all()


def test_with_little_noise_the_mean_of_users_is_found(
    counts: np.ndarray, shares: UserShares
) -> None:
    truth = (counts / counts.sum(axis=1, keepdims=True)).mean(axis=0)
    for method in ("gaussian", "laplace"):
        plan = Distribution.calibrate(Zcdp(10**8), method, ADD, users=N_USERS)
        learned = plan.draw(shares, Drawn())
        assert learned.shares == pytest.approx(truth, abs=1e-4)


def test_replacement_costs_two_clips_around_a_centre_and_root_two_without(
    shares: UserShares,
) -> None:
    middle = np.full(N_GROUPS, 1 << SHARE_BITS - 4)
    for relation, centre, times in ((ADD, middle, 1), (REPLACE, middle, 4), (REPLACE, None, 2)):
        distance = under(shares, relation).around(centre, None).clipped(100).sensitivity
        assert distance.l2_squared == times * 100 * 4**KEPT_BITS
        assert distance.neighbours is relation


def test_found_groups_need_a_delta_and_add_remove() -> None:
    with pytest.raises(UsageError, match="delta"):
        Distribution.calibrate(Zcdp(1), "auto", ADD, found=True)
    with pytest.raises(UsageError, match="replacement"):
        Distribution.calibrate(Zcdp(1, Fraction(1, 10**6)), "auto", REPLACE, found=True)
    known = Distribution.calibrate(Zcdp(1, Fraction(1, 10**6)), "auto", ADD)
    assert known.event.delta == 0


def test_each_selection_gets_what_it_may_cost() -> None:
    """The printed epsilon per group is 24 times smaller at (1, 1e-6), for any number of groups."""
    rho = rho_at(Fraction(1), Fraction(1, 10**6))
    for n_groups in (10, 1_000):
        dense = BinomialSelection(rho, "dense", n_groups, 50, 100, ADD)
        assert n_groups * dense.epsilon**2 / 8 <= rho
        printed = 1 / (4 * np.sqrt(n_groups) * np.log(1e6))
        assert float(dense.epsilon) / printed == pytest.approx(24, rel=0.05)
    sparse = BinomialSelection(rho, "sparse", 1_000, 50, 100, ADD)
    assert sparse.touched == 50
    assert BinomialSelection(rho, "sparse", 1_000, 50, 100, REPLACE).touched == 100
    assert 50 * sparse.epsilon**2 / 8 <= rho / 2


@pytest.mark.parametrize("samples", [2, 7, 40])
def test_threshold_sets_are_scheffe_sets(samples: int) -> None:
    from scipy import stats

    game = Tournament.of(samples, 0.5)
    x = np.arange(samples + 1)
    laws = np.asarray(stats.binom.pmf(x[None, :], samples, game.chances[:, None]))
    for i in range(len(game.chances)):
        for j in range(len(game.chances)):
            if i == j:
                continue
            inside = x >= game.edge[i, j] if game.above[i, j] else x <= game.edge[i, j]
            better = laws[i] > laws[j] + 1e-12
            worse = laws[i] < laws[j] - 1e-12
            assert inside[better].all()
            assert not inside[worse].any()
            expected = laws[j][inside].sum() + 1.5 * 0.25 * 0.5
            assert game.expected[i, j] == pytest.approx(expected, abs=1e-9)


def test_users_who_are_not_there_count_as_zeros() -> None:
    few = BinomialSelection(Fraction(1), "dense", 1, 2, 50, ADD)
    row = np.array([0, 4, 2])
    assert few.scores(row).tolist() == few.scores(row + np.array([40, 0, 0])).tolist()
    assert few.tournament.chances[int(np.argmax(few.scores(row)))] < 0.25


def test_a_centre_is_used_where_it_saves_noise() -> None:
    centre, sds = np.array([0.5, 0.3, 0.2]), np.full(3, 0.01)
    assert reading.centre_helps(centre, sds, 0.4, ADD)
    assert reading.centre_helps(centre, sds, 0.4, REPLACE)
    assert not reading.centre_helps(centre, sds, 0.9, REPLACE)
    assert not reading.centre_helps(centre, np.full(3, 1.0), 0.4, ADD)


def test_weights_rise_as_groups_get_rare() -> None:
    weights = reading.weights_for(np.array([0.64, 0.05, 0.31, 0.0]))
    assert weights[3] == weights.max() == 1 << WEIGHT_BITS
    assert weights[0] < weights[2] < weights[1] < weights[3]
    assert weights[0] / weights[1] == pytest.approx((0.64 / 0.05) ** (-1 / 3), rel=0.01)


def test_the_median_of_users_who_are_all_in_one_cell() -> None:
    users = np.zeros(241, np.int64)
    users[90] = 2_000
    choice = Radius.calibrate(Zcdp(Fraction(1, 1000)), ADD)
    assert {choice.draw(given(choice.sensitivity, users), Drawn()) for _ in range(20)} == {90}
    spread = np.ones(241, np.int64)
    drawn = [choice.draw(given(choice.sensitivity, 50 * spread), Drawn()) for _ in range(20)]
    assert 110 < np.mean(drawn) < 130


def test_with_few_users_the_error_bar_owns_up() -> None:
    """Little of the sum is left when the length was chosen far too short."""
    lost = reading.from_shares(np.array([0.4, 0.1]), 0.01, 10.0)
    assert lost.sds.min() > 0.8
    whole = reading.from_shares(np.array([6.0, 3.0]), 0.09, 10.0)
    assert whole.shares.tolist() == pytest.approx([2 / 3, 1 / 3])
    assert whole.sds == pytest.approx(0.01)
    centre, sums = reading.Estimate(np.array([0.5, 0.5]), np.full(2, 0.2)), np.array([0.1, -0.1])
    few = reading.from_residuals(centre, sums, np.full(2, 0.01), (1.0, 40.0), 3.0)
    assert few.sds.min() >= 0.2
    many = reading.from_residuals(centre, sums, np.full(2, 0.01), (900.0, 5.0), 1_000.0)
    assert many.sds.max() < 0.002
