"""A few users who lose much: which cells are believed, and what follows from them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from headcount.mechanisms.equal_error import tuning
from headcount.mechanisms.equal_error.candidates import Candidates
from headcount.mechanisms.equal_error.heavy import Heavy, Hidden, edges_up_to, stepped_back

GUESS = np.geomspace(400, 40, 300)
CANDIDATES = Candidates.of(GUESS, np.arange(300), 0.1, Fraction(6, 10), tuning.USERS)
LAST = len(CANDIDATES.taus) - 1


def cells(*users: int) -> np.ndarray:
    return np.array(users, np.int64)


def test_a_cell_stands_out_by_itself_or_with_the_next() -> None:
    assert Heavy.of(cells(0, 14, -9, 10, 3, 0), 4.0).users.tolist() == []
    assert Heavy.of(cells(0, 15, -9, 0, 3, 0), 4.0).users.tolist() == [15]
    assert Heavy.of(cells(0, 10, 10, 0, 3, 0), 4.0).users.tolist() == [10, 10]
    both = Heavy.of(cells(20, 0, 0, 0, 0, 30), 4.0)
    assert both.losses.tolist() == pytest.approx([1.2 * 0.5, 1.2 * 2.0**1.5])
    assert both.lost == pytest.approx(20 * 0.6 + 30 * 1.2 * 2.0**1.5)


def test_noise_alone_hardly_ever_stands_out() -> None:
    chance = np.random.default_rng(3)
    n = len(tuning.LOSS_EDGES)
    noise = np.rint(chance.normal(scale=5.8, size=(4_000, n))).astype(np.int64)
    assert np.mean([Heavy.of(one, 5.8).lost > 0 for one in noise]) < 0.015


def test_edges_end_where_nobody_can_be() -> None:
    assert edges_up_to(0.1) == tuning.LOSS_EDGES[:1]
    assert edges_up_to(3.0)[-1] == pytest.approx(2.0**1.5)
    assert edges_up_to(1e9) == tuning.LOSS_EDGES


def test_what_is_hidden_is_put_where_it_is_seen() -> None:
    hidden = Hidden.of(Heavy.of(cells(0, 0, 0, 0, 50), 1.0), np.array([1.0, -2.0, 3.0]))
    assert hidden.of_classes.sum() == pytest.approx(50 * 1.2 * 2)
    assert hidden.of_classes[2] == pytest.approx(3 * hidden.of_classes[0], rel=1e-3)
    assert hidden.of_classes[1] == pytest.approx(0, abs=1e-3)
    assert 0.05 < hidden.unsure < 0.15
    nobody = Hidden.of(Heavy.of(cells(0, 1), 1.0), np.ones(2))
    assert nobody.of_classes.tolist() == [0, 0]
    assert nobody.unsure == 0


def lost_by(n_users: float, at: int) -> float:
    """What so many users of all groups lose at a candidate, by hand, over what is allowed."""
    n_rows, tau = int(CANDIDATES.n_rows[at]), float(CANDIDATES.taus[at])
    mine = GUESS[:n_rows]
    weights = tuning.taper(mine, mine[-1], tuning.USERS) / mine
    clip = tau * np.sqrt(2 * 0.6)
    kept = min(1.0, clip / np.linalg.norm(weights))
    allowed = 0.05 * (tau / (tuning.NOISE_SHARE * 0.1)) ** 2 * n_rows
    return n_users * (1 / mine).sum() * (1 - kept) / allowed


@pytest.mark.parametrize("n_users", [20, 60, 200])
def test_as_many_rows_as_heavy_users_allow(n_users: int) -> None:
    at = CANDIDATES.user_of_all(LAST)
    loses = at.total * (1 - at.kept) / at.cap
    heavy = Heavy(np.array([float(n_users)]), np.array([loses]), 1.0)
    chosen = stepped_back(CANDIDATES, LAST, heavy)
    assert lost_by(n_users, LAST) > 1
    assert lost_by(n_users, chosen) <= 1.01 < lost_by(n_users, chosen + 1) + 0.02


def test_who_loses_more_than_all_rows_have_has_many_rows_in_each() -> None:
    heavy = Heavy(np.array([30.0]), np.array([500.0]), 1.0)
    assert stepped_back(CANDIDATES, LAST, heavy) == 0


def test_nobody_heavy_changes_nothing() -> None:
    nobody = Heavy.of(cells(1, -2, 3), 2.0)
    assert [stepped_back(CANDIDATES, one, nobody) for one in (0, 40, LAST)] == [0, 40, LAST]
