"""Selection at its edges. Its law is enumerated among the statistical tests."""

from __future__ import annotations

import time
from fractions import Fraction

import numpy as np
import pytest

from headcount.noise.entropy import OsEntropy
from headcount.noise.selection import Selection, select, selection_law


def test_one_candidate_is_always_chosen() -> None:
    assert select(np.array([-5]), Fraction(1), OsEntropy()) == 0


def test_higher_is_better() -> None:
    drawn = Selection(np.array([0, 100, 50]), Fraction(1)).draw(1000, OsEntropy())
    assert set(drawn.tolist()) == {1}


def test_result_is_a_plain_index() -> None:
    chosen = select(np.array([1, 2, 3]), Fraction(1, 2), OsEntropy())
    assert type(chosen) is int
    assert 0 <= chosen < 3


def test_extremes_of_int64_do_not_wrap() -> None:
    scores = np.array([-(2**63), 2**63 - 1], dtype=np.int64)
    drawn = Selection(scores, Fraction(1, 1000)).draw(200, OsEntropy())
    assert set(drawn.tolist()) == {1}


def test_rate_beyond_floats_is_no_problem() -> None:
    scores = np.array([0, 1, 1], dtype=np.int64)
    drawn = Selection(scores, Fraction(10**400)).draw(500, OsEntropy())
    assert set(drawn.tolist()) == {1, 2}
    never, *tied = selection_law(scores, Fraction(10**400), 8)
    assert never == (0, 1)
    assert all(low <= 128 <= high for low, high in tied)


def test_rate_zero_is_uniform() -> None:
    brackets = selection_law(np.array([9, 0, -9, 4]), Fraction(0), 10)
    assert all(low <= 256 <= high for low, high in brackets)


def test_many_candidates_are_quick() -> None:
    entropy = OsEntropy()
    scores = (entropy.words(10_000) % np.uint64(5000)).astype(np.int64)
    spent = []
    for _ in range(5):
        begin = time.process_time()
        select(scores, Fraction(1, 100), entropy)
        spent.append(time.process_time() - begin)
    assert min(spent) < 0.005


@pytest.mark.parametrize(
    ("scores", "rate", "error"),
    [
        (np.array([], dtype=np.int64), Fraction(1), ValueError),
        (np.array([1, 2]), Fraction(-1), ValueError),
        (np.array([1.0, 2.0]), Fraction(1), TypeError),
        (np.array([[1, 2]]), Fraction(1), TypeError),
        (np.array([1, 2], dtype=np.uint64), Fraction(1), TypeError),
    ],
)
def test_what_cannot_be_chosen_from_is_refused(
    scores: np.ndarray, rate: Fraction, error: type[Exception]
) -> None:
    with pytest.raises(error):
        Selection(scores, rate)
