"""What is public of counts to the same relative error: the limit, the target, what each stage gets.

Everything here follows from arguments and from what stages published before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from headcount.mechanisms.equal_error import tuning
from headcount.mechanisms.equal_error.overlooked import Overlooked
from headcount.mechanisms.equal_error.reading import Crowd, Profile, Shares
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.privacy.bounds import Bounds
from headcount.privacy.spend import Zcdp

MAX_GROUPS = 1 << 20
LATTICE_BITS = 20
DISCOVERY = Bounds(MAX_GROUPS, 1, LATTICE_BITS)


@dataclass(frozen=True, slots=True)
class EqualErrorPlan:
    """The public half of ``EqualError``, which its stages read."""

    limit: Zcdp
    within: float
    method: str = "auto"
    top: int | None = None
    profile: Profile | None = None
    withholds: bool = True
    """Whether rows that cannot keep the target are left out."""
    max_value: int = 1
    """How many rows of a user count in one group; with 1, users are counted."""

    @property
    def shares(self) -> Shares:
        """What each stage may cost."""
        return Shares.of(
            self.limit, is_profiled=self.profile is not None, bias=self.tuning.bias_share
        )

    @property
    def tuning(self) -> tuning.Tuning:
        """The constants for users, or for rows."""
        return tuning.USERS if self.max_value == 1 else tuning.EVENTS

    @property
    def most_measured(self) -> int | None:
        """How many groups are measured at most; of rows, whose guesses are rougher, some more."""
        if self.top is None or self.max_value == 1:
            return self.top
        return tuning.SPARE_OF_TOP * self.top

    @property
    def least_heavy(self) -> float:
        """How many users have to lose very much to be seen, about: so many sds of a count."""
        return tuning.SURE_CELL / math.sqrt(2 * self.shares.hidden)

    @property
    def bounds(self) -> Bounds:
        """What one user may weigh when groups are discovered."""
        return DISCOVERY

    def threshold(self, rho: Fraction, part: Fraction = Fraction(1)) -> GaussianThreshold:
        """The discovery of groups at this cost, and at all or a part of delta."""
        return GaussianThreshold.calibrate(DISCOVERY, Zcdp(rho, part * self.limit.delta))

    @property
    def least_weight(self) -> float:
        """What a group weighs, in users of one group, that is found half of the time."""
        discovery = self.threshold(self.shares.discover, tuning.FIRST_DELTA)
        return discovery.threshold / discovery.bounds.scale

    def overlooked(self, crowd: Crowd) -> Overlooked | None:
        """Looks for large groups that discovery does not see, where it may miss them [EE6]."""
        rho, delta = tuning.OVERLOOKED * self.limit.rho, tuning.OVERLOOKED_DELTA * self.limit.delta
        looks = Overlooked.calibrate(Zcdp(rho, delta))
        seen_anyway = self.least_weight * math.sqrt(crowd.most_groups)
        return looks if looks.least < seen_anyway else None

    def spare(self, shares: Shares, n_rows: int, n_found: int, tau: float) -> Fraction:
        """What a second discovery may cost, and 0 where it is not worth it [EE3]."""
        noise = tau / (tuning.NOISE_SHARE * self.within)
        kept_all = n_rows == n_found >= tuning.AGAIN_ROWS and self.top is None
        if not kept_all or noise > tuning.AGAIN_FROM:
            return Fraction(0)
        needed = shares.measure * Fraction(noise**2).limit_denominator(1000)
        return max(Fraction(0), tuning.AGAIN_SHARE * (shares.measure - needed - shares.choices))

    def branch(self, crowd: Crowd) -> str:
        """The method that suits these users; a function of published numbers."""
        if self.method != "auto":
            return self.method
        # First: a profile in which nobody can be read does not say that they are in one group.
        threshold = self.threshold(self.shares.discover)
        least = threshold.threshold / threshold.bounds.scale
        if crowd.weight_of_all < tuning.PEEL_RATIO * least:
            return "peel"
        return "single" if crowd.single_loss <= tuning.SINGLE_LOSS else "equal"
