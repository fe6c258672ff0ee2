"""How many groups have each count: the fitted result, its properties, and how far off they are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headcount.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_COVERAGE = 0.5
COVERAGE_NOISE = 2.83
"""The sd of discrete Laplace noise of ratio exp(-1/2): epsilon 1 when one user is replaced."""
SUPPORT_NOISE = 0.61
"""The same at ratio exp(-2), epsilon 4: beyond it the ratio of noisy counts says nothing."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, and the root mean square of its error as far as the noise goes."""

    value: float
    """The number."""
    rmse: float
    """How far the noise moves it, as a root mean square."""

    def __str__(self) -> str:
        return f"{self.value:,.4g}, give or take {self.rmse:,.2g}"


@dataclass(frozen=True, slots=True)
class Errors:
    """What the noise does to each property, estimated from the fit; all of it public.

    ``l1`` is the sum over all groups, matched by rank, of how far their counts are off.
    ``coverage`` is stated for half as many further users.
    """

    l1: float
    distinct: float
    total: float
    entropy: float
    coverage: float
    support_size: float


@dataclass(frozen=True, slots=True, eq=False)
class Frequencies:
    """``groups[i]`` groups have ``counts[i]`` users or events each; counts rise from 1.

    Groups may be fractions: they are expected numbers. ``sds`` are the errors of ``groups``.
    """

    counts: NDArray[np.int64]
    groups: NDArray[np.float64]
    sds: NDArray[np.float64]
    errors: Errors
    noise_sd: float

    @property
    def at_least(self) -> NDArray[np.float64]:
        """How many groups have each count or more."""
        tail: NDArray[np.float64] = np.cumsum(self.groups[::-1])[::-1]
        return tail

    @property
    def is_worse_than_nothing(self) -> bool:
        """Whether the error is likely more than half of what there is to be known."""
        return self.errors.l1 > self.total().value / 2

    def whole(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Counts and whole numbers of groups: the numbers at or above each count, rounded."""
        rounded = np.rint(self.at_least).astype(np.int64)
        groups = rounded - np.append(rounded[1:], 0)
        return self.counts[groups > 0], groups[groups > 0]

    def total(self) -> Estimate:
        """All counts together."""
        return Estimate(float(self.counts @ self.groups), self.errors.total)

    def distinct(self) -> Estimate:
        """How many groups there are that anyone is in."""
        return Estimate(float(self.groups.sum()), self.errors.distinct)

    def entropy(self) -> Estimate:
        """The entropy of the group of a random row, in nats, with the Miller-Madow correction."""
        total, distinct = self.total().value, self.distinct().value
        if total <= 0:
            return Estimate(0.0, self.errors.entropy)
        shares = self.counts / total
        plug_in = -float((self.groups * shares) @ np.log(shares))
        return Estimate(plug_in + max(0.0, distinct - 1) / (2 * total), self.errors.entropy)

    def coverage(self, more: float) -> Estimate:
        """How many groups not seen yet would be seen in ``more`` times as many further rows.

        Good and Toulmin's estimator: alternating sums of the noisiest numbers, so it is refused
        where noise would drown it.
        """
        if not 0 < more <= MAX_COVERAGE:
            raise UsageError(
                f"coverage looks at most {MAX_COVERAGE} times as far as the data reach, not "
                f"{more}; beyond that noise decides the answer. Nothing was charged."
            )
        if self.noise_sd > COVERAGE_NOISE:
            raise UsageError(
                f"coverage needs noise of sd at most {COVERAGE_NOISE} (epsilon 1 for users in one "
                f"group), and it was {self.noise_sd:.3g} here. Spend more, or lower the bound. "
                "Nothing was charged."
            )
        return Estimate(self.new_groups(more), self.errors.coverage * more / MAX_COVERAGE)

    def new_groups(self, more: float) -> float:
        """The estimator of ``coverage``, where it makes sense and where it does not."""
        signs = -np.power(-more, np.minimum(self.counts, 1000).astype(np.float64))
        return float(signs @ self.groups)

    def support_size(self) -> Estimate:
        """How many groups there are in all, seen or not, at least (Chao's lower bound)."""
        if self.noise_sd > SUPPORT_NOISE:
            raise UsageError(
                f"support_size divides noisy numbers; it needs noise of sd at most {SUPPORT_NOISE} "
                f"(epsilon 4 for users in one group), and it was {self.noise_sd:.3g} here. Use "
                "distinct() and coverage() instead. Nothing was charged."
            )
        once, twice = (float(self.groups[self.counts == r].sum()) for r in (1, 2))
        if twice < 1:
            raise UsageError(
                "support_size needs groups with a count of 2, and there are none. Nothing was "
                "charged."
            )
        unseen = once**2 / (2 * twice)
        return Estimate(self.distinct().value + unseen, self.errors.support_size)

    def __repr__(self) -> str:
        distinct = self.distinct().value
        return f"<Frequencies of {distinct:,.0f} groups, {len(self.counts):,} different counts>"


def distance(
    left: tuple[NDArray[np.int64], NDArray[np.int64]],
    right: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> float:
    """The l1 distance of two sorted lists of counts, given as runs: counts and groups of each."""
    ends = np.unique(np.concatenate([left[0], right[0]]))
    apart = np.zeros(len(ends))
    for sign, (counts, groups) in ((1, left), (-1, right)):
        order = np.argsort(counts)
        above = np.append(np.cumsum(groups[order][::-1])[::-1], 0)
        apart += sign * above[np.searchsorted(counts[order], ends)]
    return float(np.abs(apart) @ np.diff(ends, prepend=0))


def laplace_sd(ratio: float, n_noises: int) -> float:
    """The standard deviation of the sum of that many discrete Laplace draws."""
    return math.sqrt(2 * ratio * n_noises) / (1 - ratio)
