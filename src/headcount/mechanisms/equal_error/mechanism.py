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

Stages: profile, discover, scale, guard, pick, heavy users, two rounds of measuring, bias, and who
hides some of it. Each is charged to a filter before it is asked, and each uses the data and what
earlier stages published.

The proof is in ``proof.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from headcount.accounting.convert import too_little
from headcount.errors import UsageError
from headcount.mechanisms.equal_error.plan import EqualErrorPlan
from headcount.mechanisms.equal_error.stages import Run
from headcount.privacy.event import Filtered
from headcount.privacy.spend import Zcdp, require_delta

if TYPE_CHECKING:
    from collections.abc import Callable

    from headcount.mechanisms.chance import Chance
    from headcount.mechanisms.equal_error.queries import PairQueries
    from headcount.mechanisms.equal_error.reading import Profile
    from headcount.mechanisms.equal_error.steps import Counted

MIN_RHO = Fraction(1, 10**5)


def _silent(_stage: str) -> None:
    """The default progress: none."""


@dataclass(frozen=True, slots=True)
class EqualError(EqualErrorPlan):
    """Counts to the same relative error; build with ``calibrate``."""

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
        withholds: bool = True,
    ) -> EqualError:
        """Spend all of ``spend`` on counts of relative error ``within``, of ``top`` groups at most.

        With a profile that was released before, none is paid for and the method is known. Rows that
        do not keep the target are left out only if it ``withholds`` them.
        """
        require_delta(spend)
        if spend.rho < MIN_RHO:
            little = too_little("A count without a bound needs", MIN_RHO)
            raise UsageError(f"{little} Or use method='peel' or method='threshold'.")
        return cls(spend, within, method, top, profile, withholds, max_value)

    @property
    def event(self) -> Filtered:
        """What the ledger records: the whole request, whichever branch is taken."""
        return Filtered(self.limit.rho, self.limit.delta)

    def draw(
        self,
        pairs: PairQueries,
        chance: Chance,
        progress: Callable[[str], None] = _silent,
    ) -> Counted:
        """Profile users, take the branch that suits them, and count."""
        return Run(self, chance.filter(self.limit), chance, progress, pairs).counted()
