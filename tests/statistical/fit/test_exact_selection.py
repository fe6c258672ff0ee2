"""The exponential mechanism's law, enumerated over every coin it may toss."""

from __future__ import annotations

from bisect import bisect_right
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from headcount.noise.entropy import OsEntropy
from headcount.noise.selection import MARGIN, Selection, select, selection_law
from headcount.noise.uniform import LazyUniform

CASES = [
    ([7], "1"),
    ([0, 0], "1"),
    ([0, 1], "1/100"),
    ([0, 1], "1/2"),
    ([1, 0], "1/2"),
    ([0, 1], "1"),
    ([0, 1], "7"),
    ([0, 1], "20"),
    ([1, 0], "20"),
    ([3, 3, 3], "5"),
    ([3, 2, 3], "1/3"),
    ([0, 1, 2, 3], "1"),
    ([3, 2, 1, 0], "1/10"),
    ([-5, 5, 0, 5], "2/7"),
    ([10, 0, 10], "1"),
    ([0, 0, 0, 0, 0], "0"),
    ([100, 99, 50, 98], "1/4"),
    ([-1, -1, -2, -9, -1, -3], "1/2"),
    ([2**63 - 1, -(2**63), 2**63 - 1], "1/1000"),
    ([5, 4, 4, 3, 3, 3, 2, 2], "3/5"),
]


def decimal_law(scores: list[int], rate: Fraction) -> list[Decimal]:
    exponent = Decimal(rate.numerator) / Decimal(rate.denominator)
    weights = [((score - max(scores)) * exponent).exp() for score in scores]
    return [weight / sum(weights) for weight in weights]


def test_there_are_twenty_cases() -> None:
    assert len(CASES) == 20


@pytest.mark.parametrize(("scores", "rate"), CASES)
def test_coin_tree_is_the_law(scores: list[int], rate: str, tree_law: Any) -> None:
    choice = Selection(np.array(scores, dtype=np.int64), Fraction(rate), width=4)
    masses, open_mass = tree_law(lambda e: int(choice.draw(1, e)[0]), 4, 1e-12)
    assert open_mass < Fraction(1, 10**12)
    with localcontext(prec=60):
        for index, probability in enumerate(decimal_law(scores, Fraction(rate))):
            mass = masses.get(index, Fraction(0))
            decided = Decimal(mass.numerator) / Decimal(mass.denominator)
            slack = Decimal(open_mass.numerator) / Decimal(open_mass.denominator)
            assert decided <= probability + Decimal("1e-50")
            assert probability <= decided + slack + Decimal("1e-50")


@pytest.mark.parametrize(("scores", "rate"), CASES)
def test_law_is_bracketed(scores: list[int], rate: str) -> None:
    brackets = selection_law(np.array(scores, dtype=np.int64), Fraction(rate), 120)
    with localcontext(prec=80):
        for bracket, p in zip(brackets, decimal_law(scores, Fraction(rate)), strict=True):
            assert bracket[0] - Decimal("1e-20") <= p * 2**120 <= bracket[1] + Decimal("1e-20")
            assert bracket[1] - bracket[0] <= 4


@pytest.mark.parametrize("n", [2, 50, 3000])
def test_floats_agree_with_integers(n: int, script: type[Any]) -> None:
    entropy = OsEntropy()
    scores = (entropy.words(n) % np.uint64(300)).astype(np.int64)
    choice = Selection(scores, Fraction(1, 50))
    words = entropy.words(60)
    drawn = choice.draw(60, script(tuple(words.tolist())))
    exactly = [choice._draw_exactly(LazyUniform(entropy, head=int(word))) for word in words]
    assert drawn.tolist() == exactly


@pytest.mark.parametrize("rate", ["1/50", "1/3", "2"])
def test_words_next_to_a_share_fall_on_the_right_side(rate: str, script: type[Any]) -> None:
    """Just outside the margin floats decide, just inside integers do; both must be right."""
    scores = [(7 * i) % 23 for i in range(40)]
    choice = Selection(np.array(scores), Fraction(rate))
    with localcontext(prec=60):
        shares = list(accumulate(decimal_law(scores, Fraction(rate))))[:-1]
        thresholds = [int(share * 2**64) for share in shares]
    margin = int(MARGIN * len(scores) * 2**64)
    for offset in (1, margin // 2, margin * 5 // 4):
        near = [threshold + side for threshold in thresholds for side in (-offset, offset)]
        words = [word for word in near if 0 < word < 2**64 - 1 and word not in thresholds]
        assert len(words) > 20
        drawn = choice.draw(len(words), script(tuple(words)))
        assert drawn.tolist() == [bisect_right(thresholds, word) for word in words]


@pytest.mark.parametrize("first", [True, False])
def test_tiny_weight_is_reached_by_extended_words_only(first: bool, script: type[Any]) -> None:
    """A candidate of weight exp(-691), about 1e-300, or 2**-997, sits at one end of [0, 1)."""
    scores = np.array([0, 691] if first else [691, 0], dtype=np.int64)
    end = 0 if first else 2**64 - 1
    tiny, likely = (0, 1) if first else (1, 0)
    rate = Fraction(1)
    assert select(scores, rate, script((end,) * 16)) == tiny
    # One word of the sixteen off the end, and the other candidate wins.
    assert select(scores, rate, script((end,) * 14 + (2**63,) + (end,))) == likely
    low, high = selection_law(scores, rate, 1100)[tiny]
    with localcontext(prec=60):
        assert abs(Decimal(low) / 2**1100 / Decimal(-691).exp() - 1) < Decimal("1e-20")
    assert high - low <= 2


def test_selection_notices_a_wrong_rate(tree_law: Any) -> None:
    choice = Selection(np.array([0, 1, 2]), Fraction(1) + Fraction(1, 10**9), width=4)
    masses, _ = tree_law(lambda e: int(choice.draw(1, e)[0]), 4, 1e-12)
    with localcontext(prec=60):
        expected = decimal_law([0, 1, 2], Fraction(1))
        assert abs(float(masses[2]) - float(expected[2])) > 1e-12
