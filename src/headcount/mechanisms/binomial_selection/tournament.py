"""Binomials on a grid, and the sets by which two of them are told apart. All of it public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

STEP = 0.7
TOLERANCE = 0.25


@dataclass(frozen=True, slots=True)
class Tournament:
    """Candidate chances, and for each pair the Scheffé set ``W`` where the first is likelier.

    For chances ``a > b`` that set is ``{x >= edge}``; for ``a < b`` it is ``{x <= edge}``. Row
    ``i``, column ``j`` compares candidate ``i`` with ``j``.

    chances:  the candidates
    above:    whether the set is ``{x >= edge}``
    edge:     its end
    expected: the chance of the set under candidate ``j``, and half the tolerance
    trivial:  pairs too near each other to be compared
    """

    chances: Floats
    above: NDArray[np.bool_]
    edge: Integers
    expected: Floats
    trivial: NDArray[np.bool_]

    @classmethod
    def of(cls, samples: int, accuracy: float) -> Tournament:
        """Candidates as far apart as ``accuracy`` times the sd of a user's share."""
        chances = _grid(samples, STEP * accuracy)
        tolerance = TOLERANCE * accuracy
        with np.errstate(divide="ignore", invalid="ignore"):
            logs, others = np.log(chances), np.log1p(-chances)
            numerator = samples * (others[None, :] - others[:, None])
            crossing = numerator / (logs[:, None] - logs[None, :] + numerator / samples)
        # A chance of 0 or 1 has all its weight at one end: its set is that end, or all but it.
        crossing = np.where(chances[:, None] == 0, 0.5, crossing)
        crossing = np.where(chances[None, :] == 0, 0.0, crossing)
        crossing = np.where(chances[:, None] == 1, samples - 0.5, crossing)
        crossing = np.where(chances[None, :] == 1, samples, crossing)
        crossing = np.nan_to_num(crossing, nan=0.0)
        above = chances[:, None] > chances[None, :]
        edge = np.where(above, np.floor(crossing + 1e-9) + 1, np.ceil(crossing - 1e-9) - 1)
        edge = np.clip(edge, -1, samples + 1).astype(np.int64)
        below = _below(samples, chances)
        j = np.arange(len(chances))
        under_i = np.where(above, 1 - below[j[:, None], edge], below[j[:, None], edge + 1])
        under_j = np.where(above, 1 - below[j[None, :], edge], below[j[None, :], edge + 1])
        trivial = under_i - under_j <= 3 * tolerance
        return cls(chances, above, edge, under_j + 1.5 * tolerance, trivial)


def _grid(samples: int, step: float) -> Floats:
    """Chances from 0 to 1 with steps in proportion to the sd of a share: O(sqrt(m)) of them."""
    half = [0.0]
    while half[-1] < 0.5:
        p = half[-1]
        half.append(p + step * max(1 / samples, math.sqrt(p * (1 - p) / samples)))
    lower = np.array(half[:-1])
    return np.unique(np.concatenate([lower, [0.5], 1 - lower]))


def _below(samples: int, chances: Floats) -> Floats:
    """``P(X < x)`` for each chance and ``x`` from 0 to ``samples + 2``; index -1 is never read."""
    x = np.arange(samples + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, samples + 1)))])
    choose = factorials[-1] - factorials - factorials[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = choose + _times(x, np.log(chances)) + _times(samples - x, np.log1p(-chances))
    masses = np.cumsum(np.exp(logs), axis=1)
    padded = np.zeros((len(chances), samples + 3))
    padded[:, 1 : samples + 2] = masses / masses[:, -1:]
    padded[:, samples + 2] = 1
    return padded


def _times(x: Integers, log: Floats) -> Floats:
    """``x * log`` with 0 times minus infinity as 0."""
    product: Floats = np.where(x[None, :] == 0, 0.0, x[None, :] * log[:, None])
    return product
