"""Looks for large groups that a discovery does not see."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.equal_error.mechanism import EqualError
from headcount.mechanisms.equal_error.overlooked import Overlooked
from headcount.mechanisms.equal_error.reading import Crowd
from headcount.mechanisms.equal_error.tuning import MOST_OVERLOOKED, OVERLOOKED_ROWS
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given

LOOKS = Overlooked.calibrate(Zcdp("0.01", "1e-7"))


def counts(*largest: int) -> Any:
    padded = np.zeros(OVERLOOKED_ROWS + 1, np.int64)
    padded[: len(largest)] = largest
    return given(LOOKS.sensitivity, padded)


def test_a_look_costs_its_share_of_both() -> None:
    assert LOOKS.price.rho <= Fraction("0.01") < LOOKS.price.rho * Fraction(1001, 1000)
    assert LOOKS.price.delta * MOST_OVERLOOKED == Fraction("1e-7")


@pytest.mark.parametrize("spend", [Zcdp("0.0001", "1e-9"), Zcdp("0.01", "1e-7"), Zcdp(1, "0.01")])
def test_a_group_at_the_boundary_hardly_ever_leaves(spend: Zcdp) -> None:
    """All rows that may be candidates in one table alone, together, beside "none"."""
    looks = Overlooked.calibrate(spend)
    log_chance = math.log(OVERLOOKED_ROWS) - float(looks.epsilon) * looks.reach
    assert log_chance <= math.log(float(looks.delta))
    short = float(looks.epsilon) * (looks.reach - 1)
    assert math.log(OVERLOOKED_ROWS) - short > math.log(float(looks.delta)), "not far beyond"


def test_large_groups_are_seen_one_by_one() -> None:
    query = counts(5 * LOOKS.least, 4 * LOOKS.least, 3)
    gone: list[int] = []
    for _ in range(2):
        number = LOOKS.look(query, gone, Drawn())
        assert number is not None
        gone.append(number)
    assert sorted(gone) == [0, 1]
    assert LOOKS.look(query, gone, Drawn()) is None


def test_nobody_looks_where_discovery_sees_what_is_large() -> None:
    plan = EqualError.calibrate(Zcdp("0.1", "1e-6"), 0.1)
    few, many = (Crowd.of(np.array([1000] * n + [0] * (21 - n)), 5.0) for n in (3, 12))
    assert few.most_groups == pytest.approx(math.sqrt(12))
    assert round(many.most_groups) == 1449
    assert plan.overlooked(few) is None
    looks = plan.overlooked(many)
    assert looks is not None
    assert looks.least < plan.least_weight * many.most_groups**0.5
