"""The public side of the equal-error release: constants, shares, and functions of noisy numbers.

Nothing here sees private data. Floating point is free: it decides how good a release is, never
how private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.tail import upper_tail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.privacy.spend import Zcdp

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

PROFILE, DISCOVER, SCALE = Fraction(20, 1000), Fraction(270, 1000), Fraction(15, 1000)
GUARD, PICK, BIAS = Fraction(20, 1000), Fraction(25, 1000), Fraction(25, 1000)
FIRST_ROUND = Fraction(1, 5)

NOISE_SHARE = 0.53  # of the target, one standard deviation of noise
LOST_SHARE = 0.25  # of the target, what clipping may take from a row, on average
MEAN_MISS, ROW_MISS = 0.095, 0.2
FEW_OF, SECOND_BEST_MISS = 4, 1 / 3
ROW_TO_ROW = 0.6  # how unequal the rows of one class lose, as a share of what they lose
PRIOR = 2.0  # log-odds by which each next larger candidate is preferred
USER_CAP, GUARD_CAP, BIAS_CAP = 0.3, 1.0, 0.5
BIAS_ROWS = 300
# A few users have very many rows, so what they lose is measured to farther out, over more rows.
EVENT_BIAS_CAP, EVENT_BIAS_ROWS = 2.0, 900
BIAS_NOISE = 0.3  # of the target, at most, one standard deviation of a class's measured bias
GUARD_PRIOR, GUARD_SLACK, GUARD_STEP = 3.0, 3.0, 6
N_SIZES, N_LOWER, LOWER_STEP = 80, 12, 0.95
# Few rows may need far less noise than the target allows: then candidates go on, by halves.
FEW_ROWS, N_HALVES = 100, 6
SINGLE_LOSS = 0.02
PEEL_RATIO = 7.0
CERTAIN_CELL = 4.5

MAX_WEIGHT = 1 << 24
MAX_SQUARES = 1 << 62
MAX_UNIT = 1 << 32


@dataclass(frozen=True, slots=True)
class Shares:
    """What each stage may cost. They add up to the request, exactly."""

    profile: Fraction
    discover: Fraction
    scale: Fraction
    guard: Fraction
    pick: Fraction
    first_round: Fraction
    second_round: Fraction
    bias: Fraction

    @classmethod
    def of(cls, limit: Zcdp, *, is_profiled: bool = False) -> Shares:
        """Fixed shares of the request; measuring takes what is left."""
        rho, profile = limit.rho, Fraction(0) if is_profiled else PROFILE
        fixed = [rho * share for share in (profile, DISCOVER, SCALE, GUARD, PICK, BIAS)]
        measure = rho - sum(fixed)
        first = measure * FIRST_ROUND
        profile, discover, scale, guard, pick, bias = fixed
        return cls(profile, discover, scale, guard, pick, first, measure - first, bias)

    @property
    def measure(self) -> Fraction:
        """Both rounds together."""
        return self.first_round + self.second_round

    @property
    def after_profile(self) -> Fraction:
        """What the other two methods have for themselves."""
        choices = self.scale + self.guard + self.pick
        return self.discover + choices + self.measure + self.bias


@dataclass(frozen=True, slots=True)
class Crowd:
    """What the noisy profile says about users: how many, in how many groups."""

    users: Floats
    groups: Floats
    rows_per_pair: float = 1.0

    @classmethod
    def of(cls, noisy_users: Integers, sd: float) -> Crowd:
        """Cells within noise of empty are read as empty; a cell stands for its middle."""
        sure = np.where(noisy_users > CERTAIN_CELL * sd, noisy_users, 0).astype(np.float64)
        middle = np.exp2(np.arange(len(noisy_users), dtype=np.float64) - 0.5)
        middle[0] = 1.0
        return cls(sure, middle)

    @property
    def single_loss(self) -> float:
        """The share of all pairs that weights of one over the root of the groups leave out."""
        pairs = max(1.0, float((self.users * self.groups).sum()))
        return float((self.users * (self.groups - np.sqrt(self.groups))).sum()) / pairs

    @property
    def weight_of_all(self) -> float:
        """What a group that everyone is in would weigh."""
        return float((self.users / np.sqrt(self.groups)).sum())

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


def sizes_up_to(n_rows: int) -> Integers:
    """Candidate sizes, growing by a constant factor up to all rows."""
    sizes = np.geomspace(min(10, n_rows), n_rows, N_SIZES)
    return np.unique(np.rint(sizes).astype(np.int64))


def lower_steps(n_rows: int) -> Floats:
    """Shares of the target's noise for candidates that keep all rows."""
    steps = LOWER_STEP ** np.arange(1.0, N_LOWER + 1)
    halves = steps[-1] * 0.5 ** np.arange(1.0, N_HALVES + 1)
    return np.concatenate([steps, halves]) if n_rows <= FEW_ROWS else steps


def as_integers(weights: Floats, max_value: int = 1) -> tuple[Integers, float]:
    """Positive weights as integers, and how many units make 1: sums of squares fit 64 bits.

    max_value:  how often the weight of a group may count for one user
    """
    unit = min(
        MAX_UNIT,
        MAX_WEIGHT / float(weights.max()),
        math.sqrt(
            0.99 * MAX_SQUARES / float(((weights * max_value) ** 2).sum() + len(weights) * 1e-18)
        ),
    )
    return np.clip(np.rint(weights * unit), 1, MAX_WEIGHT).astype(np.int64), unit


def whole(value: float) -> int:
    """A squared norm as an integer the engine can compare; above the largest nobody is clipped."""
    return max(1, min(MAX_SQUARES, math.floor(value)))


@dataclass(frozen=True, slots=True)
class Candidates:
    """How large a release may be: more rows at the target's noise, then all rows at less noise."""

    n_rows: Integers
    taus: Floats
    weights: Integers
    first_level: Integers
    clips: tuple[int, ...]
    real_caps: Floats
    caps: Integers
    lost_share: Floats

    @classmethod
    def of(
        cls,
        guess: Floats,
        by_guess: NDArray[np.intp],
        within: float,
        rho: Fraction,
        max_value: int = 1,
    ) -> Candidates:
        """From the ranked guesses of counts, the target, and what measuring may cost."""
        tau = NOISE_SHARE * within
        sizes = sizes_up_to(len(guess))
        rank = np.empty(len(guess), np.int64)
        rank[by_guess] = np.arange(len(guess))
        lower = tau * lower_steps(len(guess))
        taus = np.concatenate([np.full(len(sizes), tau), lower])
        n_rows = np.concatenate([sizes, np.full(len(lower), len(guess))])
        weights, unit = as_integers(1 / guess, max_value)
        clips = taus * math.sqrt(2 * rho)
        caps = np.outer((USER_CAP, GUARD_CAP), clips * np.sqrt(n_rows))
        return cls(
            n_rows=n_rows,
            taus=taus,
            weights=weights,
            first_level=np.searchsorted(sizes, rank + 1).astype(np.int64),
            clips=tuple(whole((clip * unit) ** 2) for clip in clips.tolist()),
            real_caps=caps,
            caps=np.maximum(1, np.rint(caps * unit)).astype(np.int64),
            # Less noise leaves less room for bias.
            lost_share=LOST_SHARE * within * (taus / tau) ** 2,
        )

    @property
    def clip(self) -> int:
        """The squared norm at the target's noise."""
        return self.clips[0]

    @property
    def lower_clips(self) -> tuple[int, ...]:
        """The squared norms at less noise."""
        return self.clips[self.n_sized :]

    @property
    def n_sized(self) -> int:
        """How many candidates are of growing size; the rest keep all rows."""
        return int(self.first_level.max()) + 1

    def allowed(self, unit: int) -> Integers:
        """How much all users together may lose at each candidate, under either cap."""
        allowed = self.lost_share * self.n_rows / self.real_caps * unit
        units: Integers = np.rint(allowed * np.array([[1.0], [GUARD_SLACK]])).astype(np.int64)
        return units

    @property
    def guarded(self) -> Integers:
        """Every few candidates: enough to keep away from sizes at which heavy users decide."""
        sized = np.arange(GUARD_STEP, self.n_sized - 1, GUARD_STEP)
        lower = np.arange(self.n_sized - 1, len(self.taus), GUARD_STEP // 2)
        return np.concatenate([sized, lower])


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
