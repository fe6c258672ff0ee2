"""Counts of groups found in the data, all to the same relative error, with no bound to choose.

**Contract**

========== ==================================================================================
input      answers of ``PairQueries``: sums over users of bounded contributions
output     some groups, each with a count and its standard deviation, clipping bias included
noise      discrete Gaussian on every sum; exact exponential-mechanism selection of the size
guarantee  ``limit.delta``-approximate ``limit.rho``-zCDP, every choice included
neighbours add or remove one user, who may be in any number of groups
========== ==================================================================================

**Reference** Contribution bounding for user-level histograms (ICML 2023) for clipping in l2, here
of groups weighted by their size; the branch for few users is Private Count Release (2024).

Stages: profile, discover, scale, guard, pick, two rounds of measuring, bias. Each is charged to a
filter before it is asked, and each uses the data and what earlier stages published.

The proof is in ``equal_error.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from headcount.accounting.filter import Filter
from headcount.errors import UsageError
from headcount.mechanisms import equal_error_public as public
from headcount.mechanisms.draw import SYSTEM
from headcount.mechanisms.equal_error_public import Crowd, Profile, Shares
from headcount.mechanisms.equal_error_run import Counted, Run
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.privacy.bounds import Bounds
from headcount.privacy.event import Filtered
from headcount.privacy.spend import Zcdp, require_delta

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.mechanisms.equal_error_queries import PairQueries
    from headcount.noise.entropy import Entropy

MAX_GROUPS = 1 << 20
LATTICE_BITS = 20
DISCOVERY = Bounds(MAX_GROUPS, 1, LATTICE_BITS)
MIN_RHO = Fraction(1, 10**5)


def _silent(_stage: str) -> None:
    """Nobody is told."""


@dataclass(frozen=True, slots=True)
class EqualError:
    """Counts to the same relative error; build with ``calibrate``."""

    limit: Zcdp
    within: float
    method: str = "auto"
    top: int | None = None
    profile: Profile | None = None
    max_value: int = 1
    """How many rows of a user count in one group; with 1, users are counted."""

    @classmethod
    def calibrate(
        cls,
        spend: Zcdp,
        within: float,
        method: str = "auto",
        *,
        top: int | None = None,
        profile: Profile | None = None,
        max_value: int = 1,
    ) -> EqualError:
        """Spend all of ``spend`` on counts of relative error ``within``, of ``top`` groups at most.

        With a profile that was released before, none is paid for and the method is known.
        """
        require_delta(spend)
        if spend.rho < MIN_RHO:
            raise UsageError(
                f"A release within a target needs a rho of at least {float(MIN_RHO):g}, not "
                f"{float(spend.rho):.3g}. Nothing was charged. Spend more, or use "
                "method='peel'."
            )
        return cls(spend, within, method, top, profile, max_value)

    @property
    def event(self) -> Filtered:
        """What the ledger records: the whole request, whichever branch is taken."""
        return Filtered(self.limit.rho, self.limit.delta)

    @property
    def shares(self) -> Shares:
        """What each stage may cost."""
        return Shares.of(self.limit, is_profiled=self.profile is not None)

    @property
    def bounds(self) -> Bounds:
        """What one user may weigh when groups are discovered."""
        return DISCOVERY

    def threshold(self, rho: Fraction) -> GaussianThreshold:
        """The discovery of groups at this cost, and all of delta."""
        return GaussianThreshold.calibrate(DISCOVERY, Zcdp(rho, self.limit.delta))

    def branch(self, crowd: Crowd) -> str:
        """The method that suits these users; a function of published numbers."""
        if self.method != "auto":
            return self.method
        if crowd.single_loss <= public.SINGLE_LOSS:
            return "single"
        threshold = self.threshold(self.shares.discover)
        least = threshold.threshold / threshold.bounds.scale
        return "peel" if crowd.weight_of_all < public.PEEL_RATIO * least else "equal"

    def draw(
        self,
        pairs: PairQueries,
        entropy: Entropy | None = None,
        progress: Callable[[str], None] = _silent,
    ) -> Counted:
        """Profile users, take the branch that suits them, and count."""
        return Run(self, pairs, Filter(self.limit), entropy or SYSTEM, progress).counted()
