"""Brackets hold the real numbers, also where they are coarse."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from headcount.noise.circle import pi_bracket
from headcount.noise.entropy import Words
from headcount.noise.uniform import LazyUniform
from headcount.noise.weights import Cumulative, RatioLaw, cumulative, total, weights

LAWS = [
    RatioLaw(Fraction(1, 20)),
    RatioLaw(Fraction(3)),
    RatioLaw(Fraction(1, 200), Fraction(1, 100)),
    RatioLaw(Fraction(5000), Fraction(10000)),
    RatioLaw(Fraction(1, 50), two_sided=False),
    RatioLaw(Fraction(1, 50), two_sided=False, count=30),
]


class NoWords:
    """An entropy nobody should ask."""

    def words(self, n: int) -> Words:
        raise AssertionError("no word should be drawn")


def real_weights(law: RatioLaw) -> list[Decimal]:
    first, step = (Decimal(x.numerator) / x.denominator for x in (law.first, law.step))
    listed: list[Decimal] = []
    for k in range(law.count or 10**5):
        listed.append((-(k * first + k * (k - 1) // 2 * step)).exp())
        if listed[-1] < Decimal("1e-60"):
            break
    return listed


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("bits", [40, 64, 150])
def test_weights_and_what_is_left_out(law: RatioLaw, bits: int) -> None:
    lows, highs, rest = weights(law, bits)
    with localcontext(prec=80):
        real = [weight * 2**bits for weight in real_weights(law)]
        for low, weight, high in zip(lows, real, highs, strict=False):
            assert low <= weight <= high
        left_out = sum(real[len(lows) :])
        assert left_out <= rest
        # At the coarse precision a good deal is left out, so the bound has something to hold.
        assert left_out > 1000 or bits > 40 or law.count or law.first > 1000


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("bits", [4, 16, 70])
def test_cumulative_and_total_hold_the_real_ones(law: RatioLaw, bits: int) -> None:
    with localcontext(prec=80):
        real = real_weights(law)
        everything = sum(real) * 2 - real[0] if law.two_sided else sum(real)
        low, high = total(law, bits)
        assert low <= everything * 2**bits <= high
        brackets = cumulative(law, bits)
        ordered = [*reversed(real[1:]), *real] if law.two_sided else real
        below = Decimal(0)
        for value, weight in enumerate(ordered, 1 - len(real) if law.two_sided else 0):
            below += weight
            at = value - brackets.start
            if 0 <= at < len(brackets.lows):
                slack = Decimal("1e-30")
                share = below / everything * 2**bits
                assert brackets.lows[at] - slack <= share <= brackets.highs[at] + slack
                assert brackets.highs[at] - brackets.lows[at] <= 2
        assert brackets.lows == sorted(brackets.lows)
        assert brackets.highs == sorted(brackets.highs)


def test_number_beyond_an_endless_list_stays_open() -> None:
    uniform = LazyUniform(NoWords(), width=4, head=9)
    assert Cumulative(0, [3], [3], endless=True).invert(uniform) is None
    assert Cumulative(0, [3], [3], endless=False).invert(uniform) == 1
    assert Cumulative(-2, [12], [12], endless=True).invert(uniform) is None


def test_number_inside_a_bracket_stays_open() -> None:
    uniform = LazyUniform(NoWords(), width=4, head=9)
    assert Cumulative(0, [9, 12], [10, 12], endless=True).invert(uniform) is None
    assert Cumulative(0, [9, 12], [9, 12], endless=True).invert(uniform) == 1
    assert uniform.below(10, 11) is True
    assert uniform.below(9, 9) is False
    assert uniform.below(9, 10) is None


def test_pi() -> None:
    digits = "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899"
    with localcontext(prec=80):
        for bits in (10, 64, 200):
            low, high = pi_bracket(bits)
            assert low <= Decimal(digits) * 2**bits <= high
            assert high - low <= 2
    assert np.isclose(pi_bracket(50)[0] / 2**50, np.pi)
