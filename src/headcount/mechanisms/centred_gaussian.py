"""Counts of users in listed groups, with no bound on how many of these a user is in.

**Contract**

========== ==================================================================================
input      by public group ``2 * users of the group - users of any``; and the users of any
output     both with noise; the mean of an entry and the users is the count of its group
noise      independent discrete Gaussians, one on every entry and one on the users
guarantee  the costs of the two, added up; delta 0
neighbours add or remove one user, who may be in every group
========== ==================================================================================

**Reference** Lebeda 2024, correlated noise for counts; here as two ordinary releases.

A user moves all entries by one, up or down, and the users by one. Counts of ``d`` groups then need
a variance of ``(sqrt(d) + 1)**2 / (8 rho)`` instead of ``d / (2 rho)``: less than a bound of 20
groups does up to 63 of them, and nothing is left out. The noise of the users is in every count, so
differences of counts have less noise than these, and sums have more.

The proof is in ``centred_gaussian.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from headcount.accounting.tail import upper_point
from headcount.mechanisms.gaussian import Gaussian
from headcount.privacy.event import Composed
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query

SHARE_UNIT = 1 << 20


@dataclass(frozen=True, slots=True)
class CentredGaussian:
    """Noise for listed groups whose users are not bounded; build with ``calibrate``."""

    differences: Gaussian
    users: Gaussian

    @classmethod
    def calibrate(cls, n_groups: int, spend: Zcdp) -> CentredGaussian:
        """The least noise on a count whose cost is at most ``spend``.

        [CG1] what the users cost is taken from the whole first, so the two add up to it.
        """
        share = Fraction(round(SHARE_UNIT / (math.sqrt(n_groups) + 1)), SHARE_UNIT)
        for_users = spend.rho * share
        return cls(
            Gaussian.calibrate(Sensitivity.of_entries(n_groups), Zcdp(spend.rho - for_users)),
            Gaussian.calibrate(Sensitivity.of_sum(), Zcdp(for_users)),
        )

    @property
    def event(self) -> Composed:
        """What the ledger records."""
        return Composed((self.differences.event, self.users.event))

    @property
    def sd(self) -> float:
        """The standard deviation of a count."""
        return math.hypot(self.differences.sd, self.users.sd) / 2

    @property
    def sd_of_difference(self) -> float:
        """Of one count less another."""
        return self.differences.sd / math.sqrt(2)

    def sd_of_sum(self, n: int) -> float:
        """Of so many counts together."""
        return math.hypot(math.sqrt(n) * self.differences.sd, n * self.users.sd) / 2

    def error_bound(self, confidence: float) -> float:
        """Half the width of an interval that holds a count with ``confidence``."""
        return upper_point((1 - confidence) / 2) * self.sd

    def draw(
        self,
        differences: Query[NDArray[np.int64]],
        users: Query[NDArray[np.int64]],
        chance: Chance,
    ) -> tuple[NDArray[np.int64], int]:
        """Twice the counts, and the users of any group. [CG2] both with their own noise."""
        noisy_differences = self.differences.draw(differences, chance)
        noisy_users = int(self.users.draw(users, chance)[0])
        return noisy_differences + noisy_users, noisy_users
