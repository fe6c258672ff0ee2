"""Samplers at their edges: extremes, refusals, extension of words, independence of draws."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from headcount.errors import UsageError
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.noise.entropy import OsEntropy, Words
from headcount.noise.uniform import LazyUniform

Law = DiscreteLaplace | DiscreteGaussian
TOP = 2**64 - 1


class Played:
    """An entropy that plays given words and counts what was taken."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def words(self, n: int) -> Words:
        taken, self.left = self.left[:n], self.left[n:]
        assert len(taken) == n, "more words were asked for than expected"
        return np.array(taken, dtype=np.uint64)


class Stuck:
    """A broken entropy: always the same word."""

    def words(self, n: int) -> Words:
        return np.zeros(n, dtype=np.uint64)


def both(scale: Fraction | int) -> list[Law]:
    return [DiscreteLaplace(Fraction(scale)), DiscreteGaussian(Fraction(scale) ** 2)]


@pytest.mark.parametrize("scale", [Fraction(1, 100), 1, 512, 513, 1024, 1025, 10**9])
def test_draws_are_int64_of_the_right_size(scale: Fraction | int) -> None:
    entropy = OsEntropy()
    for law in both(scale):
        for n in (0, 1, 1000):
            drawn = law.draw(n, entropy)
            assert drawn.dtype == np.int64
            assert drawn.shape == (n,)
        assert np.abs(law.draw(2000, entropy)).max() <= 64 * scale


def test_smallest_scale_is_silent_in_practice() -> None:
    # exp(-100) and exp(-5000): nobody will ever see another value than 0.
    for law in both(Fraction(1, 100)):
        assert not law.draw(100_000, OsEntropy()).any()


@pytest.mark.parametrize("scale", [10**9, 2**40 - 1])
def test_largest_scales_do_not_overflow(scale: int) -> None:
    for law in both(scale):
        drawn = law.draw(100_000, OsEntropy())
        assert abs(float(drawn.mean())) < scale / 20
        assert 0.9 * scale < float(np.abs(drawn).mean()) / (1 if law == both(scale)[0] else 0.798)
        assert (drawn < 0).any()
        assert (drawn > 0).any()


def test_rarest_words_stay_far_from_the_end_of_int64() -> None:
    law = DiscreteLaplace(Fraction(2**40 - 1))
    digits = len(law.tables())
    # The highest geometric a word and its extension give, less the lowest.
    entropy = Played(TOP, 2**63, *[TOP] * (digits - 1), *[0] * digits)
    drawn = law.draw(1, entropy)
    assert not entropy.left
    assert 2**45 < int(drawn[0]) < 2**47


def test_two_draws_differ() -> None:
    entropy = OsEntropy()
    for law in both(20):
        assert not np.array_equal(law.draw(100, entropy), law.draw(100, entropy))
        seen = {law.draw(30, entropy).tobytes() for _ in range(200)}
        assert len(seen) == 200


@pytest.mark.parametrize("bad", [0, -1, Fraction(-1, 2)])
def test_scale_must_be_positive(bad: Fraction) -> None:
    for law in (DiscreteLaplace, DiscreteGaussian):
        with pytest.raises(UsageError, match="greater than 0"):
            law(Fraction(bad))


def test_scale_that_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="64-bit"):
        DiscreteLaplace(Fraction(2**40 + 1))
    with pytest.raises(UsageError, match="64-bit"):
        DiscreteGaussian(Fraction(2**80))


def test_laws_are_values() -> None:
    assert DiscreteLaplace(Fraction(2)) == DiscreteLaplace(Fraction(4, 2))
    with pytest.raises(AttributeError):
        DiscreteLaplace(Fraction(2)).scale = Fraction(3)  # type: ignore[misc]


@pytest.mark.parametrize("law", both(20))
def test_word_on_a_bound_takes_one_more(law: Law) -> None:
    table = law.tables()[0] if isinstance(law, DiscreteLaplace) else law.table()
    for i in (len(table.bounds) // 3, len(table.bounds) // 2, len(table.bounds) * 3 // 5):
        bound = int(table.bounds[i])
        low, high = Played(bound, 0), Played(bound, TOP)
        # The real threshold lies inside the word: its lower part is one value, its upper the next.
        assert table.draw(1, low)[0] == table.start + i
        assert table.draw(1, high)[0] == table.start + i + 1
        assert not low.left
        assert not high.left


@pytest.mark.parametrize("law", both(20))
def test_tail_beyond_the_table_is_reachable(law: Law) -> None:
    table = law.tables()[0] if isinstance(law, DiscreteLaplace) else law.table()
    last = table.start + len(table.bounds) - 1
    # Words of nothing but ones, twice: a probability below 2**-127.
    assert table.draw(1, Played(TOP, TOP, 5))[0] > last
    assert table.draw(1, Played(0, 0, 2**63))[0] < table.start


def test_extension_keeps_the_draw_in_its_place() -> None:
    law = DiscreteLaplace(Fraction(20))
    (table,) = law.tables()
    tie = int(table.bounds[len(table.bounds) // 2])
    plain = law.draw(3, Played(2**62, 2**63 + 2**61, 2**61))
    mixed = law.draw(3, Played(2**62, tie, 2**61, 0))
    assert mixed[0] == plain[0]
    assert mixed[2] == plain[2]


def test_stuck_entropy_ends_in_an_error() -> None:
    uniform = LazyUniform(Stuck(), head=0)
    uniform.bits = 1 << 24
    with pytest.raises(ArithmeticError, match="repeats"):
        uniform.extend()
