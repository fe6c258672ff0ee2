from __future__ import annotations

import math
from decimal import Decimal, getcontext
from fractions import Fraction
from typing import Any

import pytest

from headcount.errors import LedgerError, UsageError
from headcount.privacy.bounds import Bounds
from headcount.privacy.budget import Budget
from headcount.privacy.event import (
    Composed,
    Event,
    GaussianNoise,
    GaussianThreshold,
    LaplaceNoise,
    Selection,
    from_record,
    to_record,
)
from headcount.privacy.exact import exact, exp_bracket, round_down, round_up, sqrt_bracket
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp


def test_numbers_are_read_as_people_mean_them() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact("1e-6") == Fraction(1, 10**6)
    assert exact(Decimal("0.30")) == Fraction(3, 10)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), "x", None, True, "1/0"])
def test_what_is_not_a_number_is_refused(bad: object) -> None:
    with pytest.raises(UsageError):
        exact(bad)  # type: ignore[arg-type]


def test_rounding_goes_to_the_named_side() -> None:
    assert round_up(Fraction(1, 3), Fraction(1, 10)) == Fraction(4, 10)
    assert round_down(Fraction(1, 3), Fraction(1, 10)) == Fraction(3, 10)


@pytest.mark.parametrize("exponent", [Fraction(i * i, 173) for i in range(0, 150, 7)])
@pytest.mark.parametrize("bits", [8, 64, 200])
def test_exp_bracket_holds_the_value_and_is_narrow(exponent: Fraction, bits: int) -> None:
    getcontext().prec = 120
    value = (-Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp() * 2**bits
    low, high = exp_bracket(exponent, bits)
    assert low <= value <= high
    assert high - low <= 2


@pytest.mark.parametrize("value", [Fraction(2), Fraction(1, 3), Fraction(9, 4), Fraction(10**12)])
def test_sqrt_bracket_holds_the_value_and_is_narrow(value: Fraction) -> None:
    low, high = sqrt_bracket(value, 70)
    assert low * low <= value * 4**70 <= high * high
    assert high - low <= 1


@pytest.mark.parametrize("full", [1, 3, 20])
@pytest.mark.parametrize("bits", [0, 5, 12])
def test_weights_never_pass_the_declared_sensitivity(full: int, bits: int) -> None:
    bounds = Bounds(max_groups=500, full_groups=full, lattice_bits=bits)
    limit = bounds.sensitivity()
    for m in range(1, 501):
        weight = bounds.weight(m)
        assert m * weight**2 <= limit.l2_squared
        assert m * weight <= limit.l1
        assert weight <= limit.linf
        if m <= full:
            assert weight == 2**bits
        else:
            exact_weight = math.sqrt(full / m) * 2**bits
            assert exact_weight - 1.0001 < weight <= exact_weight + 1e-9


def test_replacing_a_user_moves_at_most_two_users_worth() -> None:
    one = Bounds(max_groups=4, full_groups=4).sensitivity()
    two = Bounds(max_groups=4, full_groups=4).sensitivity(Neighbours.REPLACE)
    assert [two.l0, two.l1, two.l2_squared, two.linf] == [Fraction(8)] * 3 + [Fraction(1)]
    assert two.replaced() is two
    assert one.neighbours is Neighbours.ADD_REMOVE


@pytest.mark.parametrize(
    "arguments", [{}, {"epsilon": 1, "rho": 1}, {"epsilon": 0}, {"epsilon": 1, "delta": 0}]
)
def test_a_budget_that_makes_no_sense_is_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        Budget(**arguments)


def test_spends_add_up_exactly() -> None:
    tenth = Zcdp("0.1", "1e-7")
    total = tenth + tenth + tenth
    assert total == Zcdp("0.3", "3e-7")
    assert total <= Zcdp("0.3", "3e-7")
    assert not total <= Zcdp("0.3", "2.9e-7")
    with pytest.raises(UsageError):
        Zcdp(-1)


EVENTS: list[Event] = [
    GaussianNoise(Fraction(20), Fraction(1, 3)),
    LaplaceNoise(Fraction(1), Fraction(7, 2)),
    Selection(Fraction(1, 10)),
    GaussianThreshold(Fraction(20), Fraction(400), Fraction(1, 10**6)),
    Composed((Selection(Fraction(1)), GaussianNoise(Fraction(1), Fraction(4)))),
]


@pytest.mark.parametrize("event", EVENTS)
def test_events_read_back_as_written(event: Event) -> None:
    assert from_record(to_record(event)) == event


def test_the_spelling_of_events_is_fixed_for_ever() -> None:
    # Ledgers of any age must stay readable: a change here is a break of the law of events.
    assert to_record(EVENTS[3]) == {
        "kind": "gaussian-threshold",
        "l2_squared": "20",
        "sigma_squared": "400",
        "delta": "1/1000000",
    }
    assert to_record(EVENTS[4])["events"][0] == {"kind": "selection", "epsilon": "1"}


@pytest.mark.parametrize(
    "record",
    [
        {"kind": "magic"},
        {"kind": "selection"},
        {"kind": "selection", "epsilon": "1", "more": "2"},
        {},
    ],
)
def test_unknown_events_are_refused(record: dict[str, str]) -> None:
    with pytest.raises(LedgerError):
        from_record(record)
