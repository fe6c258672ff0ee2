"""Every table is the law it says, value by value, to a residual below 1e-12.

The judge is ``decimal`` at 50 digits: it sums the weights themselves and knows nothing of how the
tables are made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.noise.discrete_laplace import BASE, DiscreteLaplace, geometric_digits
from headcount.noise.entropy import OsEntropy
from headcount.noise.table import InversionTable, table_for
from headcount.noise.weights import RatioLaw

SCALES_TEXT = "1/100 1/20 1/10 1/5 1/3 1/2 7/10 1 3/2 2 22/7 5 10 20 100/3 50 100 200 1234/5 500"
SCALES = [Fraction(text) for text in SCALES_TEXT.split()]
DIGITS = [
    law
    for scale in (600, 5000, 123456, Fraction(10**9, 7), 10**9)
    for law in geometric_digits(Fraction(scale), BASE, 512)
]
RESIDUAL = Fraction(1, 10**12)


def decimal_law(weights: Iterable[Decimal], two_sided: bool) -> dict[int, Decimal]:
    law = {}
    for k, weight in enumerate(weights):
        law[k] = weight
        if weight < Decimal("1e-45"):
            break
    total = sum(law.values())
    if two_sided:
        total = 2 * total - law[0]
        law |= {-k: law[k] for k in law}
    return {k: weight / total for k, weight in law.items()}


def geometric(rate: Decimal, count: int | None = None) -> Iterator[Decimal]:
    ratio, weight = (-rate).exp(), Decimal(1)
    for _ in range(count or 10**6):
        yield weight
        weight *= ratio


def gaussian(rate: Decimal) -> Iterator[Decimal]:
    return ((-k * k * rate).exp() for k in range(10**6))


def as_decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def assert_table_is(table: InversionTable, law: dict[int, Decimal]) -> None:
    masses, open_mass = table.table_law()
    unit = Decimal(2) ** -table.width
    assert Fraction(open_mass, 1 << table.width) < RESIDUAL
    assert set(masses) <= set(law)
    assert sum(masses.values()) + open_mass == 1 << table.width
    for value, probability in law.items():
        decided = masses.get(value, 0) * unit
        # A value loses at most the two words at its ends, and never gains any.
        assert decided <= probability <= decided + 2 * unit, value


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_laplace_table_is_the_law(scale: Fraction) -> None:
    with localcontext(prec=60):
        law = decimal_law(geometric(as_decimal(1 / scale)), two_sided=True)
        (table,) = DiscreteLaplace(scale).tables()
        assert_table_is(table, law)


@pytest.mark.parametrize("sigma", SCALES, ids=str)
def test_gaussian_table_is_the_law(sigma: Fraction) -> None:
    with localcontext(prec=60):
        law = decimal_law(gaussian(as_decimal(1 / (2 * sigma**2))), two_sided=True)
        assert_table_is(DiscreteGaussian(sigma**2).table(), law)


@pytest.mark.parametrize("digit", DIGITS, ids=lambda d: f"{float(d.first):.3g}-{d.count}")
def test_digits_of_wide_laplace_are_truncated_geometric(digit: RatioLaw) -> None:
    with localcontext(prec=60):
        law = decimal_law(geometric(as_decimal(digit.first), digit.count), two_sided=False)
        assert_table_is(table_for(digit), law)


def test_a_wrong_table_is_noticed() -> None:
    with localcontext(prec=60):
        law = decimal_law(geometric(1 / Decimal(20)), two_sided=True)
        (table,) = DiscreteLaplace(Fraction(20) + Fraction(1, 10**15)).tables()
        with pytest.raises(AssertionError):
            assert_table_is(table, law)


@pytest.mark.parametrize(
    "law",
    [
        DiscreteLaplace(Fraction(1, 100)).laws()[0],
        DiscreteLaplace(Fraction(3, 10)).laws()[0],
        DiscreteLaplace(Fraction(20)).laws()[0],
        DiscreteLaplace(Fraction(500)).laws()[0],
        DiscreteGaussian(Fraction(1000**2)).law(),
        DIGITS[0],
        DIGITS[1],
    ],
    ids=str,
)
def test_draw_gives_what_the_table_says(law: RatioLaw, script: type[Any]) -> None:
    table = table_for(law)
    bounds, one = table.bounds, np.uint64(1)
    cells = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    words = np.concatenate(
        [bounds - one, bounds + one, cells, cells - one, OsEntropy().words(20_000)]
    )
    words = words[~np.isin(words, bounds)]
    drawn = table.draw(len(words), script(tuple(words.tolist())))
    assert np.array_equal(drawn, table.start + np.searchsorted(bounds, words, side="left"))


@pytest.mark.parametrize(("scale", "width"), [("1/3", 4), ("1", 4), ("5/2", 4), ("1/2", 8)])
@pytest.mark.parametrize("family", ["laplace", "gaussian", "digit", "geometric"])
def test_whole_coin_tree_of_narrow_words(
    family: str, scale: str, width: int, tree_law: Any
) -> None:
    rate = 1 / Fraction(scale)
    law = {
        "laplace": RatioLaw(rate),
        "gaussian": RatioLaw(rate**2 / 2, rate**2),
        "digit": RatioLaw(rate, two_sided=False, count=5),
        "geometric": RatioLaw(rate, two_sided=False),
    }[family]
    table = InversionTable(law, width)
    masses, open_mass = tree_law(lambda e: int(table.draw(1, e)[0]), width, 1e-12)
    assert open_mass < RESIDUAL
    with localcontext(prec=60):
        decay = as_decimal(law.first)
        listed = gaussian(decay) if family == "gaussian" else geometric(decay, law.count)
        expected = decimal_law(listed, law.two_sided)
        for value, probability in expected.items():
            mass = as_decimal(masses.get(value, Fraction(0)))
            assert mass <= probability <= mass + as_decimal(open_mass) + Decimal("1e-40")
        assert set(masses) <= set(expected)
