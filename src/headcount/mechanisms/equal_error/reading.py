"""The public side of the equal-error release: shares, and functions of noisy numbers.

Nothing here sees private data. Floating point is free: it decides how good a release is, never
how private.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.tail import upper_tail
from headcount.mechanisms.equal_error.tuning import (
    CERTAIN_CELL,
    DISCOVER,
    FEW_OF,
    FIRST_ROUND,
    GUARD,
    HEAVY,
    HIDDEN,
    LIKELY_CELL,
    MEAN_MISS,
    PICK,
    PROFILE,
    ROW_MISS,
    SCALE,
    SECOND_BEST_MISS,
    USERS,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.privacy.spend import Zcdp

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Shares:
    """What each stage may cost. They add up to the request, exactly."""

    profile: Fraction
    discover: Fraction
    scale: Fraction
    guard: Fraction
    pick: Fraction
    heavy: Fraction
    first_round: Fraction
    second_round: Fraction
    bias: Fraction
    hidden: Fraction

    @classmethod
    def of(
        cls,
        limit: Zcdp,
        *,
        is_profiled: bool = False,
        discover: Fraction = DISCOVER,
        bias: Fraction = USERS.bias_share,
    ) -> Shares:
        """Fixed shares of the request; measuring takes what is left."""
        rho, profile = limit.rho, Fraction(0) if is_profiled else PROFILE
        fixed = [
            rho * share for share in (profile, discover, SCALE, GUARD, PICK, HEAVY, bias, HIDDEN)
        ]
        measure = rho - sum(fixed)
        first = measure * FIRST_ROUND
        profile, discover, scale, guard, pick, heavy, bias, hidden = fixed
        return cls(
            profile, discover, scale, guard, pick, heavy, first, measure - first, bias, hidden
        )

    @property
    def measure(self) -> Fraction:
        """Both rounds together."""
        return self.first_round + self.second_round

    @property
    def choices(self) -> Fraction:
        """From groups that are found to how many are measured."""
        return self.scale + self.guard + self.pick + self.heavy

    @property
    def after_profile(self) -> Fraction:
        """What the other two methods have for themselves."""
        return self.discover + self.choices + self.measure + self.bias + self.hidden

    def less(self, spent: Fraction) -> Shares:
        """With so much less for measuring, both rounds in proportion."""
        left = self.measure - spent
        first = left * FIRST_ROUND
        return replace(self, first_round=first, second_round=left - first)

    def asking_more(self, more: Fraction) -> Shares:
        """With so much more for the bias, from measuring."""
        return replace(self.less(more), bias=self.bias + more)


@dataclass(frozen=True, slots=True)
class Crowd:
    """What the noisy profile says about users: how many, in how many groups."""

    users: Floats
    groups: Floats
    likely: Floats
    """Users, with cells that are not as sure: whether anybody at all is in several groups."""
    rows_per_pair: float = 1.0

    @classmethod
    def of(cls, noisy_users: Integers, sd: float) -> Crowd:
        """Cells within noise of empty are read as empty; a cell stands for its middle."""
        sure, likely = (
            np.where(noisy_users > sds * sd, noisy_users, 0).astype(np.float64)
            for sds in (CERTAIN_CELL, LIKELY_CELL)
        )
        # One group, two, 3 to 4, 5 to 8, and so on.
        most = np.exp2(np.arange(len(noisy_users), dtype=np.float64))
        return cls(sure, np.sqrt(most * (np.floor(most / 2) + 1)), likely)

    @property
    def single_loss(self) -> float:
        """The share of all pairs that weights of one over the root of the groups leave out."""
        pairs = max(1.0, float((self.likely * self.groups).sum()))
        return float((self.likely * (self.groups - np.sqrt(self.groups))).sum()) / pairs

    @property
    def weight_of_all(self) -> float:
        """What a group that everyone is in would weigh."""
        return float((self.users / np.sqrt(self.groups)).sum())

    @property
    def most_groups(self) -> float:
        """In how many groups the users of most groups are; 1 where nobody can be read."""
        return float(self.groups[self.likely > 0].max(initial=1.0))

    def lost_to(self, max_norm_squared: float) -> float:
        """How many pairs are lost where users keep so many whole, and a longer one is shortened."""
        longer = np.maximum(0, self.groups - np.sqrt(self.groups * max_norm_squared))
        return float((self.users * longer).sum())

    @property
    def first_factor(self) -> float:
        """Users per unit of weight, typically."""
        pairs = float((self.users * self.groups).sum())
        weight = max(1.0, float((self.users * np.sqrt(self.groups)).sum()))
        return max(1.0, pairs / weight) * self.rows_per_pair

    def with_rows(self, rows: Crowd) -> Crowd:
        """The same users, whose rows are known from a second profile."""
        of_each = [max(1.0, float((one.users * one.groups).sum())) for one in (rows, self)]
        return replace(self, rows_per_pair=max(1.0, of_each[0] / of_each[1]))


@dataclass(frozen=True, slots=True)
class Profile:
    """A profile that was released before: noisy users by cell, and their noise."""

    noisy_users: tuple[int, ...]
    sd: float

    @property
    def crowd(self) -> Crowd:
        """What it says about users."""
        return Crowd.of(np.array(self.noisy_users, np.int64), self.sd)


def classes_of(n_rows: int, rows_each: int, most: int) -> Integers:
    """Cut ranked rows into classes of nearly equal size."""
    n_classes = max(1, min(most, n_rows // rows_each))
    return np.arange(n_rows, dtype=np.int64) * n_classes // n_rows


def blend(first: Floats, weights: Floats, guess: Floats) -> Floats:
    """A first measurement and the guess before it, weighed by how far off the guesses were."""
    spread = np.mean((first / guess - 1) ** 2) - np.mean((1 / weights / guess) ** 2)
    variance = np.clip(spread, 0.05**2, 0.5**2) * guess**2
    mean = (first * weights**2 + guess / variance) / (weights**2 + 1 / variance)
    blended: Floats = np.maximum(mean, 0.5 * guess)
    return blended


def misses(counts: Floats, sds: Floats, within: float) -> Floats:
    """The chance of each row to be farther from the truth than the target."""
    relative = within * np.maximum(counts, 0) / np.maximum(sds, 1e-300)
    return np.array([2 * upper_tail(point) for point in relative.tolist()])


def rows_to_print(counts: Floats, sds: Floats, within: float) -> NDArray[np.intp]:
    """The rows that together keep the promise, best first."""
    miss = misses(counts, sds, within)
    best_first = np.argsort(miss, kind="stable")
    best_first = best_first[miss[best_first] <= ROW_MISS]
    mean = np.cumsum(miss[best_first]) / np.arange(1, len(best_first) + 1)
    return best_first[mean <= MEAN_MISS]


def rows_or_second_best(counts: Floats, sds: Floats, within: float) -> NDArray[np.intp]:
    """As above, or rows that miss it by little where the promise would hold back nearly all.

    Rows of equal relative error cross the line together. Their budget is spent, and their error
    bars are true: showing them, and saying what to expect, is better than showing nothing.
    """
    printed = rows_to_print(counts, sds, within)
    if len(printed) >= len(counts) // FEW_OF:
        return printed
    return np.flatnonzero(misses(counts, sds, within) <= SECOND_BEST_MISS)


def reached(counts: Floats, sds: Floats) -> float:
    """The relative error within which nine in ten rows are expected."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if expected_within(counts, sds, middle) >= 0.9 else (middle, high)
    return high


def expected_within(counts: Floats, sds: Floats, within: float) -> float:
    """The share of rows expected to be within the target."""
    return 1 - float(misses(counts, sds, within).mean()) if len(counts) else 1.0
