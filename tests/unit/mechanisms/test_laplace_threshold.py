"""The threshold for sampled rows is the least safe integer, whatever a user does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from headcount.accounting.compose import cost
from headcount.errors import UsageError
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.laplace_threshold import LaplaceThreshold, threshold_for
from headcount.privacy.event import from_record, to_record
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given

MILLIONTH = Fraction(1, 10**6)


def partitions(total: int, largest: int) -> Iterator[tuple[int, ...]]:
    if total == 0:
        yield ()
    for first in range(min(total, largest), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


def chance(split: tuple[int, ...], scale: Fraction, threshold: int) -> Decimal:
    """That any group leaves which one user alone gives these rows to, with 50 digits."""
    with localcontext() as digits:
        digits.prec = 50
        rate = Decimal(scale.denominator) / scale.numerator
        q = (-rate).exp()
        stays = Decimal(1)
        for rows in split:
            stays *= 1 - (-rate * (threshold + 1 - rows)).exp() / (1 + q)
        return 1 - stays


@pytest.mark.parametrize("max_rows", range(1, 13))
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1, "1e-6"), (Fraction(1, 10), "1e-3"), (3, "1e-2")]
)
def test_brute_force_over_all_partitions_agrees(
    max_rows: int, epsilon: Fraction, delta: str
) -> None:
    scale = max_rows / Fraction(epsilon)
    every = [split for n in range(1, max_rows + 1) for split in partitions(n, n)]
    threshold = threshold_for(max_rows, scale, Fraction(delta))
    worst = max(chance(split, scale, threshold) for split in every)
    assert worst <= Decimal(delta)
    lower = max(chance(split, scale, threshold - 1) for split in every)
    assert lower > Decimal(delta) or threshold == max_rows


@pytest.mark.parametrize(("max_rows", "threshold"), [(1, 14), (10, 155), (12, 188), (100, 1774)])
def test_the_printed_threshold_is_loose(max_rows: int, threshold: int) -> None:
    """By ``max_rows - 1``, give or take the rounding to an integer."""
    assert threshold_for(max_rows, Fraction(max_rows), MILLIONTH) == threshold
    printed = max_rows + max_rows * math.log(max_rows / (2 * float(MILLIONTH)))
    if max_rows > 1:
        assert max_rows - 2.5 < printed - threshold < max_rows + 0.5


def test_large_bounds_are_solved_too() -> None:
    scale = Fraction(1 << 20)
    threshold = threshold_for(1 << 20, scale, MILLIONTH)
    for split in ((1 << 20,), (1,) * 4):
        assert chance(split, scale, threshold) <= Decimal("1e-6")
    one = chance((1,), scale, threshold)
    assert -math.expm1((1 << 20) * math.log1p(-float(one))) <= 1e-6


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_no_bound_costs_more_than_one_row(neighbours: Neighbours) -> None:
    unit = LaplaceThreshold.calibrate(1, Zcdp("0.02", "1e-6"), neighbours)
    spend = cost(unit.event)
    assert Fraction(2, 100) * Fraction(999, 1000) < spend.rho <= Fraction(2, 100)
    assert spend.delta == MILLIONTH
    for rows in (2, 7, 1000):
        scaled = unit.with_rows(rows)
        assert Fraction(9, 10) * spend.rho < cost(scaled.event).rho <= spend.rho
        assert scaled == LaplaceThreshold.calibrate(rows, Zcdp("0.02", "1e-6"), neighbours)
    with pytest.raises(ValueError, match="would cost more"):
        unit.with_rows(7).with_rows(6)
    assert from_record(to_record(unit.event)) == unit.event


def test_replacement_takes_nearly_twice_the_scale() -> None:
    spend = Zcdp("0.5", "1e-6")
    one = LaplaceThreshold.calibrate(5, spend)
    two = LaplaceThreshold.calibrate(5, spend, Neighbours.REPLACE)
    assert Fraction(18, 10) * one.scale < two.scale < 2 * one.scale
    assert two.sensitivity.l1 == 2 * one.sensitivity.l1
    assert two.threshold == threshold_for(5, two.scale, MILLIONTH)


def test_only_noisy_counts_above_the_threshold_leave() -> None:
    mechanism = LaplaceThreshold(1, Fraction(1, 1000), 7, Fraction(1, 10))
    kept, noisy_totals = mechanism.draw(
        given(mechanism.sensitivity, np.array([6, 7, 8], np.int64)), Drawn()
    )
    assert kept.tolist() == [2]
    assert noisy_totals.tolist() == [8]


def test_the_error_bound_holds_the_noise() -> None:
    mechanism = LaplaceThreshold(5, Fraction(50), 0, MILLIONTH)
    _, noisy_totals = mechanism.draw(
        given(mechanism.sensitivity, np.full(20_000, 10**6, np.int64)), Drawn()
    )
    noise = noisy_totals - 10**6
    assert 0.94 < (np.abs(noise) < mechanism.error_bound(0.95)).mean() < 0.96
    assert 0.95 < noise.std() / mechanism.sd < 1.05


@pytest.mark.parametrize(
    ("rows", "spend"), [(0, Zcdp(1, "1e-6")), (1, Zcdp(1)), (1, Zcdp(0, "1e-6"))]
)
def test_what_makes_no_sense_is_refused(rows: int, spend: Zcdp) -> None:
    with pytest.raises(UsageError):
        LaplaceThreshold.calibrate(rows, spend)
