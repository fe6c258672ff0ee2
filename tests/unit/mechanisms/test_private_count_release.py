from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from headcount.accounting.compose import cost, total
from headcount.accounting.filter import Filter
from headcount.errors import UsageError
from headcount.mechanisms import private_count_release as pcr
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.private_count_release import (
    Measured,
    PrivateCountRelease,
    measurement_cost,
)
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given

ONE = Zcdp(1, "1e-6")


def zipf(n: int = 500, top: int = 20_000) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.floor(top / np.arange(1, n + 1)).astype(np.int64)


def drawn(mechanism: PrivateCountRelease, counts: NDArray[np.int64]) -> list[Measured]:
    return mechanism.draw(given(mechanism.sensitivity, counts), Drawn())


def test_large_counts_are_released_within_the_target() -> None:
    counts = zipf()
    released = drawn(PrivateCountRelease.calibrate(ONE, 0.1), counts)
    assert len(released) > 50
    assert len({row.position for row in released}) == len(released)
    good = [abs(row.estimate / counts[row.position] - 1) <= 0.1 for row in released]
    assert np.mean(good) > 0.75


def test_the_filter_is_never_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    spent: list[Zcdp] = []
    original = Filter.charge

    def charge(self: Filter, spend: Zcdp) -> None:
        original(self, spend)
        spent.append(spend)

    monkeypatch.setattr(Filter, "charge", charge)
    for limit in (Zcdp("0.01", "1e-6"), Zcdp("0.37", "1e-9")):
        spent.clear()
        drawn(PrivateCountRelease.calibrate(limit, 0.1), zipf())
        assert total(spent) <= limit
        assert total(spent).rho > limit.rho / 2, "a filter that stops early wastes the budget"


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 7), Fraction(2)])
@pytest.mark.parametrize("stride", [1, 3, 20])
def test_the_measurements_of_a_row_cost_no_more_than_their_share(
    epsilon: Fraction, stride: int
) -> None:
    top = pcr.highest_power(epsilon)
    powers = [None, *range(top - pcr.FIRST_STEP, top, stride), top]
    steps = itertools.pairwise(powers)
    costs = [measurement_cost(pcr.variance_between(last, power)) for last, power in steps]
    spent = total(costs).rho
    assert spent <= epsilon**2 / 8 + Fraction(len(costs), 1 << 60)
    assert spent > epsilon**2 / 13


def test_nothing_is_found_where_nothing_is_large() -> None:
    for counts in (np.zeros(0, np.int64), np.ones(5, np.int64), np.full(300, 3, np.int64)):
        assert drawn(PrivateCountRelease.calibrate(Zcdp("0.1", "1e-6"), 0.1), counts) == []


def test_the_boundary_is_that_of_the_whole_table() -> None:
    # Two rows may be candidates; the third is the boundary and as large as the second.
    mechanism = PrivateCountRelease(Zcdp(4, "1e-6"), 0.1, max_rows=2)
    counts = np.array([2000, 50, 50], np.int64)
    for _ in range(20):
        assert [row.position for row in drawn(mechanism, counts)] == [0]


def test_rounding_is_to_the_safe_side() -> None:
    mechanism = PrivateCountRelease.calibrate(ONE, 0.1)
    exact_margin = math.log(mechanism.max_rows / float(mechanism.delta_per_call))
    assert exact_margin <= mechanism.margin <= exact_margin + 1e-5
    assert mechanism.max_calls * mechanism.delta_per_call == ONE.delta
    assert cost(mechanism.event) == ONE


def test_it_needs_a_delta() -> None:
    with pytest.raises(UsageError):
        PrivateCountRelease.calibrate(Zcdp(1), 0.1)
