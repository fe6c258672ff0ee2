"""Shares of a whole, learned from users with many samples each, with noise that falls as they do.

**Contract**

========== ==================================================================================
input      answers of ``ShareQueries``: sums over users of clipped residuals, by public group
output     shares of all groups, one in all, each with the standard deviation of its noise
noise      discrete Gaussian (or Laplace) on every sum; exact selection of lengths and samples
guarantee  ``limit.delta``-approximate ``limit.rho``-zCDP, every stage and choice included
neighbours those it is built for: add or remove one user, or replace one
========== ==================================================================================

**Reference** Liu, Suresh, Yu, Kumar and Riley, *Learning discrete distributions: user vs
item-level privacy* (NeurIPS 2020) shows that a root of the samples per user can be gained, and
asks for a practical algorithm. This is one: a coarse centre, the length of a typical residual, and
the sum of residuals clipped to it. The paper's own algorithms are ``dense`` and ``sparse``.

**Errata** The paper is stated for replacement. Under add/remove its sparse algorithm moves the
selections of *all* groups when a user comes, since every group gets one more record of zero. Here
the number of users is public or published with noise, and users who are not there count as zero.

The proof is in ``proof.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from headcount.accounting.compose import cost
from headcount.accounting.convert import too_little
from headcount.errors import UsageError
from headcount.mechanisms.distribution import reading
from headcount.mechanisms.distribution.plan import DistributionPlan
from headcount.mechanisms.distribution.stages import Learned, Run
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.privacy.bounds import Bounds
from headcount.privacy.event import Filtered
from headcount.privacy.lattice import MAX_GROUPS
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp, require_delta

if TYPE_CHECKING:
    from headcount.mechanisms.chance import Chance
    from headcount.mechanisms.distribution.queries import FoundQueries, ShareQueries

METHODS = ("auto", "clip", "coarse-fine", "dense", "gaussian", "laplace", "sparse")
LATTICE_BITS = 20
FOUND = Bounds(MAX_GROUPS, 1, LATTICE_BITS)
MIN_RHO = Fraction(1, 10**4)
"""Below this the noise of some stage would not fit 64-bit sums."""


@dataclass(frozen=True, slots=True)
class Distribution(DistributionPlan):
    """Shares of public groups, or of groups that are found; build with ``calibrate``."""

    @classmethod
    def calibrate(
        cls,
        spend: Zcdp,
        method: str,
        neighbours: Neighbours,
        *,
        found: bool = False,
        users: int | None = None,
        samples: int | None = None,
    ) -> Distribution:
        """Spend all of ``spend``; the delta goes on finding groups, and on nothing else."""
        if found and neighbours is Neighbours.REPLACE:
            raise UsageError(
                "Groups are found under add-remove only, and this account is for replacement. Name "
                "the groups: groups=[...]. Nothing was read and nothing was charged."
            )
        if spend.rho < MIN_RHO:
            raise UsageError(too_little("A distribution needs", MIN_RHO))
        if found:
            require_delta(spend)
        limit = spend if found else Zcdp(spend.rho)
        return cls(limit, method, neighbours, users, samples)

    @property
    def event(self) -> Filtered:
        """What the ledger records: the whole request, whichever way it goes."""
        return Filtered(self.limit.rho, self.limit.delta)

    @property
    def threshold(self) -> GaussianThreshold:
        """How groups are found: users weighted to norm 1, as for counts of users."""
        spend = Zcdp(self.limit.rho * reading.DISCOVER, self.limit.delta)
        return GaussianThreshold.calibrate(FOUND, spend)

    def draw(self, shares: ShareQueries, chance: Chance) -> Learned:
        """Learn the shares of public groups."""
        return Run(self, shares, chance.filter(self.limit), chance).learned(self.limit.rho)

    def draw_found(self, found: FoundQueries, chance: Chance) -> Learned:
        """Find groups, then learn their shares and, last, that of all others together."""
        budget = chance.filter(self.limit)
        threshold = self.threshold
        budget.charge(cost(threshold.event))
        found.discover(FOUND, lambda totals: threshold.draw(totals, chance))
        rest = self.limit.rho * (1 - reading.DISCOVER)
        return Run(self, found.shares(), budget, chance).learned(rest)
