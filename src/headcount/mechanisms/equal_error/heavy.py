"""A few users who lose much: seen by counting them, where a capped sum does not see them.

Sums over users count what one user loses up to a cap, so thirty who are in every group look like
thirty who are in a few. Here users are counted by how much they lose, in cells between public
edges: one user adds one, to one cell, and a cell that stands out from noise is believed. Everything
here is a function of noisy numbers: floating point is free.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headcount.mechanisms.equal_error import tuning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.mechanisms.equal_error.candidates import Candidates

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

LEAST_SHOWN = 1e-6


def edges_up_to(most: float) -> tuple[float, ...]:
    """Edges of cells, of which the last begins below what anybody can lose."""
    return tuning.LOSS_EDGES[: max(1, int(np.searchsorted(tuning.LOSS_EDGES, most)))]


@dataclass(frozen=True, slots=True)
class Heavy:
    """Users who stand out, by what each of them loses, in caps [EE5]."""

    users: Floats
    losses: Floats
    sd: float
    """Of the users of a cell."""

    @classmethod
    def of(cls, noisy_users: Integers, sd: float) -> Heavy:
        """The cells that stand out from noise, by themselves or with the next one."""
        alone = noisy_users > tuning.SURE_CELL * sd
        pairs = noisy_users[1:] + noisy_users[:-1] > tuning.SURE_CELL * sd * math.sqrt(2)
        pairs &= ~(alone[1:] | alone[:-1])
        sure = alone | np.append(pairs, False) | np.insert(pairs, 0, False)
        middles = tuning.IN_CELL * np.array(tuning.LOSS_EDGES[: len(noisy_users)])
        return cls(noisy_users[sure].astype(np.float64), middles[sure], sd)

    @property
    def lost(self) -> float:
        """By all of them together."""
        return max(0.0, float((self.users * self.losses).sum()))

    @property
    def lost_sd(self) -> float:
        """How unsure that is: noise on users, and where in their cell they are."""
        each = self.sd**2 + (tuning.OFF_IN_CELL * self.users) ** 2
        return math.sqrt(float((each * self.losses**2).sum()))


@dataclass(frozen=True, slots=True)
class Hidden:
    """What heavy users lost beyond what the norm of a question let them say, by class."""

    of_classes: Floats
    """In norms."""
    unsure: float
    """Of all that was lost, how much of it may not be so."""

    @classmethod
    def of(cls, heavy: Heavy, seen: Floats) -> Hidden:
        """By class they hide it as it is seen."""
        if not heavy.lost:
            return cls(np.zeros(len(seen)), 0.0)
        shown = np.maximum(seen, LEAST_SHOWN)
        unsure = heavy.lost_sd / (heavy.lost + float(shown.sum()))
        return cls(heavy.lost * shown / shown.sum(), unsure)


def stepped_back(candidates: Candidates, chosen: int, heavy: Heavy) -> int:
    """The last candidate, not after the chosen one, at which they lose no more than is allowed.

    What they lose at others is not known: they are taken for users of all groups, so many rows in
    each, or in so much of each, as they must have to lose what they lose at the chosen one.
    """
    if not heavy.lost:
        return chosen
    at = candidates.user_of_all(chosen)
    in_each = heavy.losses * at.cap / at.total + at.kept
    for one in range(chosen, 0, -1):
        there = candidates.user_of_all(one)
        lost = there.total * np.maximum(0, in_each - there.kept)
        if float((heavy.users * lost).sum()) <= candidates.allowed_in_all(one):
            return one
    return 0
