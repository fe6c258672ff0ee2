"""The choice of a bound: exact, public in all but the losses, and good where users are many."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise

import pytest

from headcount.accounting.compose import cost
from headcount.errors import UsageError
from headcount.mechanisms.bound_choice import SCORE_BITS, BoundChoice
from headcount.mechanisms.chance import Drawn
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.releases.count_events.found import MAX_BOUND, candidate_bounds
from headcount.trials.given import given

BOUNDS = candidate_bounds()


def test_a_choice_costs_what_it_was_given() -> None:
    spend = cost(BoundChoice.calibrate(Zcdp("0.005")).event)
    assert Fraction(4999, 10**6) < spend.rho <= Fraction(5, 1000)
    with pytest.raises(UsageError):
        BoundChoice.calibrate(Zcdp(0))


def test_no_score_moves_by_more_than_a_unit() -> None:
    chooser = random.Random(3)
    choice = BoundChoice(Fraction(1, 10))
    distances = [2 * bound for bound in BOUNDS]
    for _ in range(100):
        losses = [chooser.randrange(10**9) for _ in BOUNDS]
        moved = [
            loss + chooser.choice([-1, 1]) * chooser.choice([0, distance // 2, distance])
            for loss, distance in zip(losses, distances, strict=True)
        ]
        before, after = choice.scores(losses, distances), choice.scores(moved, distances)
        assert max(abs(a - b) for a, b in zip(before, after, strict=True)) <= 1 << SCORE_BITS


def test_the_best_candidate_wins_where_it_is_clear() -> None:
    choice = BoundChoice(Fraction(1))
    losses = [10**6 + 10**4 * abs(i - 12) * bound for i, bound in enumerate(BOUNDS)]
    queries = [
        given(Sensitivity.of_sum(2 * bound), loss)
        for bound, loss in zip(BOUNDS, losses, strict=True)
    ]
    assert {choice.draw(queries, Drawn()) for _ in range(20)} == {12}


def test_candidates_are_public_and_grow_to_their_end() -> None:
    assert BOUNDS[:6] == (1, 2, 3, 4, 5, 6)
    assert BOUNDS[-1] == MAX_BOUND
    assert all(a < b <= max(a + 1, 1.34 * a) for a, b in pairwise(BOUNDS))
