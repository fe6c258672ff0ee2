"""A user of one row alone is left whole at every size that can be taken."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from headcount.mechanisms.equal_error.candidates import Candidates
from headcount.mechanisms.equal_error.tuning import USERS


def candidates(guess: list[float], within: float, rho: Fraction) -> tuple[Candidates, np.ndarray]:
    """Those of guessed counts, and the counts from the largest on."""
    guesses = np.array(guess)
    by_guess = np.argsort(-guesses, kind="stable")
    return Candidates.of(guesses, by_guess, within, rho, USERS), guesses[by_guess]


CASES = [
    ([1200.0, 300.0, 80.0, 20.0, 7.0, 3.0, 2.0, 1.0], 0.1, Fraction(1, 50)),
    ([1200.0, 300.0, 80.0, 20.0, 7.0, 3.0, 2.0, 1.0], 0.1, Fraction(1)),
    ([5.0] * 40, 0.1, Fraction(1, 100)),
    ([float(n) for n in range(400, 3, -1)], 0.05, Fraction(1, 20)),
]


@pytest.mark.parametrize(("guess", "within", "rho"), CASES)
def test_what_can_be_taken_keeps_a_user_of_the_smallest_row(
    guess: list[float], within: float, rho: Fraction
) -> None:
    made, ranked = candidates(guess, within, rho)
    for chosen in range(made.n_allowed):
        smallest = max(1.0, float(ranked[made.n_rows[chosen] - 1]))
        assert made.tau_of(chosen) * math.sqrt(2 * rho) * smallest >= 1 - 1e-9
    assert made.guarded.max(initial=0) < made.n_allowed


@pytest.mark.parametrize(("guess", "within", "rho"), CASES)
def test_the_first_that_cuts_such_a_user_cannot_be_taken(
    guess: list[float], within: float, rho: Fraction
) -> None:
    made, ranked = candidates(guess, within, rho)
    if made.n_allowed < len(made.taus):
        smallest = float(ranked[made.n_rows[made.n_allowed] - 1])
        assert float(made.taus[made.n_allowed]) * math.sqrt(2 * rho) * smallest < 1
    else:
        smallest = float(ranked[made.n_rows[-1] - 1])
        assert float(made.taus[-1]) * math.sqrt(2 * rho) * smallest >= 1


def test_some_cannot() -> None:
    """The cases above are of both kinds."""
    made = [candidates(*case)[0] for case in CASES]
    assert any(some.n_allowed < len(some.taus) for some in made)
