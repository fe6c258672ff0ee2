"""What the statistical tests share: entropies that are scripted or recorded, and two referees.

The referees are independent of the code they judge: probabilities come from ``decimal`` or plain
floats, never from headcount's own brackets.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from headcount.noise.entropy import Entropy, OsEntropy, Words

Run = Callable[[Entropy], int]
TreeLaw = Callable[[Run, int, float], tuple[dict[int, Fraction], Fraction]]
Cdf = Callable[[npt.NDArray[np.int64]], npt.NDArray[np.float64]]
FitTest = Callable[[npt.NDArray[np.int64], Cdf, float], float]


class ScriptEnded(Exception):
    """The code asked for more words than the script holds."""


class Script:
    """An entropy that plays given words; ``width`` bits of each, at the top."""

    def __init__(self, script: tuple[int, ...], width: int = 64) -> None:
        self._left = list(script)
        self._shift = 64 - width

    def words(self, n: int) -> Words:
        if n > len(self._left):
            raise ScriptEnded
        taken, self._left = self._left[:n], self._left[n:]
        return np.array([word << self._shift for word in taken], dtype=np.uint64)


def enumerate_tree(run: Run, width: int, residual: float) -> tuple[dict[int, Fraction], Fraction]:
    """Run the code on every script of ``width``-bit words until less than ``residual`` is open."""
    masses: dict[int, Fraction] = {}
    level: list[tuple[int, ...]] = [()]
    depth = 0
    while level and Fraction(len(level), 1 << (width * depth)) > residual:
        depth += 1
        weight = Fraction(1, 1 << (width * depth))
        open_scripts = []
        for begin in level:
            for word in range(1 << width):
                script = (*begin, word)
                try:
                    value = run(Script(script, width))
                except ScriptEnded:
                    open_scripts.append(script)
                else:
                    masses[value] = masses.get(value, Fraction(0)) + weight
        level = open_scripts
    return masses, Fraction(len(level), 1 << (width * depth))


def chi_square_fit(drawn: npt.NDArray[np.int64], cdf: Cdf, scale: float) -> float:
    """The p-value of the draws under a law on the integers, given by its CDF."""
    edges = np.unique(np.floor(scale * np.linspace(-9, 9, 181)).astype(np.int64))
    shares = np.diff(np.concatenate([[0.0], cdf(edges), [1.0]]))
    counts = np.bincount(np.searchsorted(edges, drawn, side="left"), minlength=len(shares))
    expected, observed = [0.0], [0.0]
    for share, count in zip(shares * len(drawn), counts, strict=True):
        if expected[-1] >= 10:
            expected.append(0.0)
            observed.append(0.0)
        expected[-1] += share
        observed[-1] += count
    if expected[-1] < 10:
        expected[-2:], observed[-2:] = [sum(expected[-2:])], [sum(observed[-2:])]
    assert len(expected) > 2, "too few cells to tell one law from another"
    return float(stats.chisquare(observed, np.array(expected) * len(drawn) / sum(expected)).pvalue)


@pytest.fixture
def tree_law() -> TreeLaw:
    return enumerate_tree


@pytest.fixture
def fit_p_value() -> FitTest:
    return chi_square_fit


@pytest.fixture
def script() -> type[Script]:
    return Script


@pytest.fixture(scope="session")
def entropy() -> OsEntropy:
    return OsEntropy()
