"""How large an equal-error release may be: its candidates, from public numbers alone.

Nothing here sees private data. Floating point is free: it decides how good a release is, never
how private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headcount.mechanisms.equal_error.tuning import (
    FEW_ROWS,
    GUARD_CAP,
    GUARD_STEP,
    LOST_PER_NOISE,
    LOWER_STEP,
    MOST_LOST_LISTED,
    N_HALVES,
    N_LOWER,
    N_NOISES,
    N_SIZES,
    NOISE_SHARE,
    USER_CAP,
    taper,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from headcount.mechanisms.equal_error.tuning import Tuning

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

MAX_WEIGHT = 1 << 24
MAX_SQUARES = 1 << 62
MAX_UNIT = 1 << 32


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
class UserOfAll:
    """Somebody who is once in every group of a candidate."""

    total: float
    """Of the values."""
    kept: float
    """How much of it clipping leaves, if that is less than all, as a share."""
    cap: float


@dataclass(frozen=True, slots=True)
class Candidates:
    """How large a release may be: more rows at the target's noise, then all rows at less noise.

    The noise of a candidate is that of its smallest row; larger rows get less. Rows keep the ratios
    of their weights whichever the smallest is, so the weights are the same for all candidates and
    the clips differ.
    """

    n_rows: Integers
    taus: Floats
    weights: Integers
    values: Integers
    first_level: Integers
    clips: tuple[int, ...]
    real_caps: Floats
    caps: Integers
    lost_share: Floats
    guard_slack: float
    n_allowed: int
    """The first so many leave a user in one row alone as they are; the others are never taken."""
    least_tau: float
    """The noise at which the first does, where none is allowed."""

    @classmethod
    def of(
        cls,
        guess: Floats,
        by_guess: NDArray[np.intp],
        within: float,
        rho: Fraction,
        tuning: Tuning,
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
        ranked = guess[by_guess]
        smallest = ranked[n_rows - 1]
        last = float(ranked[-1])
        weights, unit = as_integers(taper(guess, last, tuning) / guess, max_value)
        values, value_unit = as_integers(1 / guess, max_value)
        norms = taus * math.sqrt(2 * rho)
        clips = norms * taper(smallest, last, tuning)
        # Sizes grow and noise falls, so those that are allowed come first.
        n_allowed = int(np.count_nonzero(np.minimum.accumulate(norms * smallest) >= 1))
        caps = np.outer((USER_CAP, GUARD_CAP), norms * np.sqrt(n_rows))
        return cls(
            n_rows=n_rows,
            taus=taus,
            weights=weights,
            values=values,
            first_level=np.searchsorted(sizes, rank + 1).astype(np.int64),
            clips=tuple(whole((clip * unit) ** 2) for clip in clips.tolist()),
            real_caps=caps,
            caps=np.maximum(1, np.rint(caps * value_unit)).astype(np.int64),
            # Less noise leaves less room for bias.
            lost_share=tuning.lost_share * within * (taus / tau) ** 2,
            guard_slack=tuning.guard_slack,
            n_allowed=max(1, n_allowed),
            least_tau=1 / (math.sqrt(2 * rho) * max(1.0, float(smallest[0]))),
        )

    @classmethod
    def of_all(cls, guess: Floats, rho: Fraction, tuning: Tuning) -> Candidates:
        """All rows at less and less noise: from nobody clipped to a user of one smallest row."""
        smallest, n_rows = float(guess.min()), len(guess)
        tapers = taper(guess, smallest, tuning)
        least_tau = 1 / (math.sqrt(2 * rho) * smallest)
        longest = float(np.linalg.norm(tapers * smallest / guess))
        taus = least_tau * np.geomspace(max(longest, 1.01), 1, N_NOISES)
        weights, unit = as_integers(tapers / guess)
        values, value_unit = as_integers(1 / guess)
        norms = taus * math.sqrt(2 * rho)
        caps = np.outer((USER_CAP, GUARD_CAP), norms * math.sqrt(n_rows))
        noise = taus * float((1 / tapers).mean())
        return cls(
            n_rows=np.full(N_NOISES, n_rows),
            taus=taus,
            weights=weights,
            values=values,
            first_level=np.zeros(n_rows, np.int64),
            clips=tuple(whole((norm * unit) ** 2) for norm in norms.tolist()),
            real_caps=caps,
            caps=np.maximum(1, np.rint(caps * value_unit)).astype(np.int64),
            lost_share=np.minimum(LOST_PER_NOISE * noise, MOST_LOST_LISTED),
            guard_slack=tuning.guard_slack,
            n_allowed=N_NOISES,
            least_tau=0.0,
        )

    @property
    def n_sized(self) -> int:
        """How many candidates are of growing size; the rest keep all rows."""
        return int(self.first_level.max()) + 1

    def allowed(self, unit: int) -> Integers:
        """How much all users together may lose at each candidate, under either cap."""
        allowed = self.lost_share * self.n_rows / self.real_caps * unit
        units: Integers = np.rint(allowed * np.array([[1.0], [self.guard_slack]])).astype(np.int64)
        return units

    def groups_of(self, chosen: int) -> Integers:
        """The numbers of the groups of a candidate."""
        return np.flatnonzero(self.first_level <= min(chosen, self.n_sized - 1)).astype(np.int64)

    def user_of_all(self, chosen: int) -> UserOfAll:
        """What somebody in every group of a candidate has, in units of the values."""
        mine = self.groups_of(chosen)
        square = float((self.weights[mine].astype(np.float64) ** 2).sum())
        kept = math.sqrt(self.clips[chosen] / square)
        return UserOfAll(float(self.values[mine].sum()), kept, float(self.caps[1, chosen]))

    def allowed_in_all(self, chosen: int) -> float:
        """How much all users together may lose at a candidate, in units of the values."""
        real = self.lost_share[chosen] * self.n_rows[chosen]
        return float(real * self.caps[1, chosen] / self.real_caps[1, chosen])

    @property
    def guarded(self) -> Integers:
        """Every few candidates: enough to keep away from sizes at which heavy users decide."""
        sized = np.arange(GUARD_STEP, self.n_sized - 1, GUARD_STEP)
        lower = np.arange(self.n_sized - 1, len(self.taus), GUARD_STEP // 2)
        some = np.concatenate([sized, lower])
        if self.n_allowed == len(self.taus):
            return some
        return np.append(some[some < self.n_allowed - 1], self.n_allowed - 1)

    def tau_of(self, chosen: int) -> float:
        """How much noise its rows get: no less than it takes to leave a user of one row whole."""
        return max(float(self.taus[chosen]), self.least_tau if chosen == 0 else 0.0)
