"""The paths beyond a table: their pieces are exact and put together as the proof says."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from headcount.noise.discrete_gaussian import (
    MARGIN,
    DiscreteGaussian,
    keep,
    keep_exactly,
    total_by_poisson,
)
from headcount.noise.discrete_laplace import BASE, DiscreteLaplace, geometric_digits
from headcount.noise.entropy import OsEntropy
from headcount.noise.weights import total

WIDE_TEXT = (
    "1025 1100 1500 2000 9999/4 3000 5000 7777 10000 20000 50000 100000 300000 524289 "
    "1000000 12345678 100000000 500000000 1000000000 3000000000/7"
)
WIDE = [Fraction(text) for text in WIDE_TEXT.split()]
ONE = 1 << 64


def as_decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@pytest.mark.parametrize("scale", WIDE, ids=str)
def test_digit_laws_multiply_to_the_geometric_law(scale: Fraction) -> None:
    laws = geometric_digits(scale, BASE, 512)
    place = 1
    for law in laws:
        # Ratio q ** (BASE ** i): with that the product over the digits of g is q ** g.
        assert law.first == place / scale
        assert law.step == 0
        assert not law.two_sided
        place *= BASE
    assert [law.count for law in laws] == [BASE] * (len(laws) - 1) + [None]


def test_geometric_is_put_together_from_its_digits(script: type[Any]) -> None:
    law = DiscreteLaplace(Fraction(10**9))
    tables = law.tables()
    words = OsEntropy().words(2 * 3 * len(tables))
    drawn = law.draw(3, script(tuple(words.tolist())))
    parts = [
        tables[-1 - i % len(tables)].draw(3, script(tuple(words[3 * i : 3 * i + 3].tolist())))
        for i in range(2 * len(tables))
    ]
    values = []
    for side in (parts[: len(tables)], parts[len(tables) :]):
        top_first = [part.tolist() for part in side]
        values.append(
            [
                sum(digits[j] * BASE ** (len(tables) - 1 - i) for i, digits in enumerate(top_first))
                for j in range(3)
            ]
        )
    assert drawn.tolist() == [a - b for a, b in zip(*values, strict=True)]


@pytest.mark.parametrize("sigma", WIDE, ids=str)
def test_kept_proposals_are_the_gaussian_law(sigma: Fraction) -> None:
    """P(proposal) * chance of keeping it / P(Gaussian) is one constant, to 1e-12."""
    scale = Fraction(int(sigma) + 1)
    laplace, gaussian = DiscreteLaplace(scale), DiscreteGaussian(sigma**2)
    bits = 160
    with localcontext(prec=60):
        ratios = []
        for multiple in (0, Fraction(1, 7), 1, 2, 3, 5, 7):
            y = int(multiple * sigma)
            exponent = (y - sigma**2 / scale) ** 2 / (2 * sigma**2)
            proposal = Decimal(sum(laplace.probability_bracket(y, bits))) / 2
            target = Decimal(sum(gaussian.probability_bracket(y, bits))) / 2
            ratios.append(proposal * (-as_decimal(exponent)).exp() / target)
        for ratio in ratios:
            assert abs(ratio / ratios[0] - 1) < Decimal("1e-12")
        assert Decimal("0.6") < ratios[0] < 1


@pytest.mark.parametrize("sigma", WIDE[::4], ids=str)
@pytest.mark.parametrize("multiple", [Fraction(0), Fraction(1, 3), Fraction(2), Fraction(-5)])
def test_coin_is_exact_at_its_threshold(
    sigma: Fraction, multiple: Fraction, script: type[Any]
) -> None:
    scale, y = Fraction(int(sigma) + 1), int(multiple * sigma)
    with localcontext(prec=80):
        exponent = as_decimal((abs(y) - sigma**2 / scale) ** 2 / (2 * sigma**2))
        chance = (-exponent).exp() * ONE
        threshold, rest = int(chance), chance - int(chance)
        second = int(rest * ONE)

    def kept(*words: int) -> bool:
        return bool(keep(np.array([y]), sigma**2, scale, script(words))[0])

    far = int(MARGIN * ONE) * 2
    for word in (threshold - 1, max(0, threshold - far), 0):
        assert kept(word)
    for word in (threshold + 1, min(threshold + far, ONE - 1), ONE - 1):
        assert not kept(word)
    # The word equal to the threshold goes on to a second one, which decides.
    assert kept(threshold, second - 1)
    assert not kept(threshold, second + 1)


@pytest.mark.parametrize("sigma", [Fraction(1025), Fraction(10**9)], ids=str)
def test_floats_agree_with_integers(sigma: Fraction, script: type[Any]) -> None:
    entropy = OsEntropy()
    scale = Fraction(int(sigma) + 1)
    proposed = DiscreteLaplace(scale).draw(1500, entropy)
    words = entropy.words(1500)
    kept = keep(proposed, sigma**2, scale, script(tuple(words.tolist())))
    exactly = [
        keep_exactly(int(y), sigma**2, scale, words[i : i + 1], entropy)
        for i, y in enumerate(proposed)
    ]
    assert kept.tolist() == exactly


def test_far_proposals_keep_their_tiny_chance(script: type[Any]) -> None:
    sigma, scale = Fraction(2000), Fraction(2001)
    far = np.array([2000 * 40])
    assert not keep(far, sigma**2, scale, script((1,)))[0]
    # exp(-E) for E near 760 is about 2**-1098: a first word of zero does not decide it.
    assert keep(far, sigma**2, scale, script((0,) * 18))[0]


@pytest.mark.parametrize("sigma", [1, 3, 30, 1024])
def test_two_ways_to_the_total_agree(sigma: int) -> None:
    summed = total(DiscreteGaussian(Fraction(sigma**2)).law(), 200)
    dual = total_by_poisson(Fraction(sigma**2), 200)
    assert max(summed[0], dual[0]) <= min(summed[1], dual[1])
    if sigma > 5:
        assert dual[1] - dual[0] < 1 << 24


@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(3, 7), Fraction(20)], ids=str)
def test_probability_brackets_hold_the_probability(scale: Fraction) -> None:
    with localcontext(prec=120):
        rate = 1 / as_decimal(scale)
        for x in (0, 1, -3, 7):
            laplace = (-abs(x) * rate).exp() * (1 - (-rate).exp()) / (1 + (-rate).exp())
            weights = [(-k * k * rate * rate / 2).exp() for k in range(800)]
            gaussian = weights[abs(x)] / (2 * sum(weights) - 1)
            for law, probability in (
                (DiscreteLaplace(scale), laplace),
                (DiscreteGaussian(scale**2), gaussian),
            ):
                low, high = law.probability_bracket(x, 300)
                assert low <= probability * Decimal(2) ** 300 <= high
                assert high - low <= 3
