"""The length that a user's events may have: exact, public, and the same for both relations."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import pytest

from headcount.errors import UsageError
from headcount.mechanisms.clip_choice import candidates
from headcount.privacy.length import MAX_LENGTH, Length, Norm, unit_sensitivity
from headcount.privacy.neighbours import Neighbours


@pytest.mark.parametrize("value", [1, Fraction(21, 20), 2, 2.5, 1000, 12345.678, 10**9, MAX_LENGTH])
def test_a_length_has_24_bits_and_is_never_longer(value: object) -> None:
    length = Length.of(Norm.L2, value)  # type: ignore[arg-type]
    wanted = Fraction(str(value))
    assert wanted * (1 - Fraction(1, 1 << 23)) < length.value <= wanted
    assert 1 << 23 <= length.top < 1 << 24
    assert length.top * length.unit == length.value


def test_whole_sums_within_a_length() -> None:
    assert Length.of(Norm.L1, 2.5).most == 2
    assert Length.of(Norm.L2, 2.5).most == 6
    assert Length.of(Norm.L2, 2).most == 4


@pytest.mark.parametrize("value", [0, -1, 0.5, MAX_LENGTH + 1, float("nan")])
def test_what_is_not_a_length(value: float) -> None:
    with pytest.raises(UsageError):
        Length.of(Norm.L1, value)


def test_sensitivities_of_both_relations() -> None:
    length = Length.of(Norm.L2, 3)
    one = length.sensitivity(100)
    assert one.l2_squared == length.top**2
    assert one.l1 == 10 * length.top
    both = length.sensitivity(100, Neighbours.REPLACE)
    assert both.l2_squared == 2 * one.l2_squared
    assert both.neighbours is Neighbours.REPLACE
    assert unit_sensitivity(Norm.L1, 7, Neighbours.ADD_REMOVE).l1 == 1
    assert unit_sensitivity(Norm.L1, 7, Neighbours.REPLACE).l1 == 2


def test_candidates_are_public_and_grow_by_a_twentieth() -> None:
    for norm in Norm:
        lengths = candidates(norm)
        assert lengths[0].value == 1
        assert lengths[-1].value > 10**9
        for one, other in pairwise(lengths):
            assert 1.0499 < float(other.value / one.value) < 1.0501
