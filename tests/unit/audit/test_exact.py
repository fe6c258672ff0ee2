"""Walks of coins, laws and divergences, on laws small enough to know by heart."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from headcount.audit.composition import composed_delta
from headcount.audit.divergence import (
    delta_at,
    epsilon_at,
    off_support,
    pure_epsilon,
    range_epsilon,
    rho,
    rho_beyond,
)
from headcount.audit.exact import Script, read_words, walk
from headcount.audit.law import Law, aligned, independent

HALF = Fraction(1, 2)


def coin(p: Fraction, residual: Fraction = Fraction(0)) -> Law:
    return Law({1: p, 0: 1 - p - residual}, residual)


def third(script: Script) -> int:
    """One third, by rejecting one of four."""
    while (word := int(script.words(1)[0]) >> 62) == 3:
        pass
    return word


def test_a_walk_finds_the_law_of_a_rejection_loop() -> None:
    law = walk(third, width=2, residual=1e-12)
    assert law.residual <= Fraction(1, 10**12)
    for value in range(3):
        assert 0 <= Fraction(1, 3) - law.masses[value] <= law.residual


def test_a_walk_takes_code_that_asks_for_several_words() -> None:
    law = walk(lambda script: int(script.words(2).sum() >> np.uint64(62)), width=2, residual=0)
    assert law.residual == 0
    assert sum(law.masses.values()) == 1


def test_a_walk_that_grows_too_large_is_refused() -> None:
    with pytest.raises(ValueError, match="narrower"):
        walk(lambda script: int(script.words(30)[0]), width=4, residual=1e-12, max_runs=10_000)


def below(edge: int) -> Law:
    def run(script: Script, n: int) -> list[int]:
        return [int(word < edge) for word in script.words(n).tolist()]

    return read_words(run, [edge])


def test_reading_words_finds_the_law_between_edges() -> None:
    law = below(1 << 62)
    assert law.residual == Fraction(1, 1 << 64)
    assert law.masses[1] == Fraction(1, 4)
    assert law.masses[0] == Fraction(3, 4) - Fraction(1, 1 << 64)


def test_reading_words_notices_an_edge_that_was_not_named() -> None:
    def run(script: Script, n: int) -> list[int]:
        return [int(word < 1 << 62) for word in script.words(n).tolist()]

    with pytest.raises(ValueError, match="named"):
        read_words(run, [1 << 61])


def test_reading_words_notices_a_change_inside() -> None:
    def run(script: Script, n: int) -> list[int]:
        return [int(1 << 62 < word < 1 << 63) for word in script.words(n).tolist()]

    with pytest.raises(ValueError, match="named"):
        read_words(run, [5])


def test_delta_of_coins() -> None:
    left, right = coin(Fraction(3, 4)), coin(Fraction(1, 4))
    assert delta_at(left, right, 0).low == pytest.approx(0.5)
    assert delta_at(left, right, math.log(3)).low == pytest.approx(0, abs=1e-15)
    assert delta_at(left, right, math.log(2)).low == pytest.approx(0.25)
    assert pure_epsilon(left, right, 0).low == pytest.approx(math.log(3))
    assert range_epsilon(left, right, 0).low == pytest.approx(2 * math.log(3))
    assert epsilon_at(left, right, 0.25).low == pytest.approx(math.log(2))
    assert epsilon_at(left, right, 0.6).low == 0


def test_residual_widens_brackets_both_ways() -> None:
    left = coin(Fraction(3, 4), Fraction(1, 100))
    right = coin(Fraction(1, 4), Fraction(1, 100))
    exact = delta_at(coin(Fraction(3, 4)), coin(Fraction(1, 4)), 0.5).low
    bracket = delta_at(left, right, 0.5)
    assert bracket.low < exact < bracket.high
    pure = pure_epsilon(left, right, 0)
    assert pure.low < math.log(3) < pure.high


def test_rho_of_a_shifted_discrete_gaussian() -> None:
    values = range(-60, 61)
    weights = [math.exp(-(x * x) / 18) for x in values]
    masses = {x: Fraction(w / sum(weights)) for x, w in zip(values, weights, strict=True)}
    law = Law(masses, residual=Fraction(1, 10**30))
    assert rho(law.shifted(1), law, (2.0, 3.0)) == pytest.approx(1 / 18, rel=1e-9)


def test_rho_is_infinite_off_support() -> None:
    assert math.isinf(rho(Law({0: HALF, 1: HALF}), Law({0: Fraction(1)})))


def test_rho_beyond_a_chance_leaves_out_what_is_likeliest_to_tell() -> None:
    left, right = coin(Fraction(3, 4)), coin(Fraction(1, 4))
    assert rho_beyond(left, right, 0.0) == pytest.approx(rho(left, right))
    assert rho_beyond(left, right, 0.1) < rho(left, right)
    # A mark in one of a hundred outputs: all of it may be left out, and less may not.
    marked = Law({0: Fraction(99, 100), "mark": Fraction(1, 100)})
    assert rho_beyond(marked, Law({0: Fraction(1)}), 0.01) <= 1e-9
    assert math.isinf(rho_beyond(marked, Law({0: Fraction(1)}), 0.009))


def test_rho_beyond_a_chance_is_no_more_than_that_of_what_is_left() -> None:
    """Two laws that are rho apart but for a tenth of each, which is quite different."""
    left, right = coin(Fraction(6, 10)), coin(HALF)
    tenth = Fraction(1, 10)
    mixed = [
        Law({**{y: m * (1 - tenth) for y, m in law.masses.items()}, mark: tenth})
        for law, mark in ((left, "one"), (right, "other"))
    ]
    found = rho_beyond(mixed[0], mixed[1], 0.1)
    assert 0.1 * rho(left, right) < found <= rho(left, right)


def test_off_support() -> None:
    assert off_support(Law({0: HALF, 1: HALF}), Law({0: Fraction(1)})).low == 0.5
    assert off_support(coin(HALF), coin(Fraction(1, 4))).low == 0


def test_independent_laws_multiply() -> None:
    law = independent([coin(HALF), coin(Fraction(1, 4))])
    assert law.masses[1, 1] == Fraction(1, 8)
    assert law.mapped(sum).masses[1] == HALF * Fraction(3, 4) + HALF * Fraction(1, 4)


def test_a_law_that_does_not_add_up_is_refused() -> None:
    with pytest.raises(ValueError, match="add up"):
        Law({0: HALF})
    with pytest.raises(ValueError, match="negative"):
        Law({0: Fraction(3, 2), 1: -HALF})


@pytest.mark.parametrize("n", [1, 2, 6])
def test_composed_delta_is_just_below_the_product_law(n: int) -> None:
    left, right = coin(Fraction(6, 10)), coin(HALF)
    p, q = aligned(independent([left] * n), independent([right] * n))
    exact = float(np.maximum(0, p - math.exp(0.1) * q).sum())
    found = composed_delta(left, right, n, 0.1, size=1 << 16)
    assert found == pytest.approx(exact, rel=1e-2)
    assert found <= exact


def test_composed_delta_counts_what_is_off_support() -> None:
    assert composed_delta(Law({0: HALF, 1: HALF}), Law({0: Fraction(1)}), 2, 1) == 0.75
