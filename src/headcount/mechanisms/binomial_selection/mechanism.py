"""The paper's learners of a distribution: group by group, the binomial that fits users' counts.

**Contract**

========== ==================================================================================
input      for each group how many users have how many of ``samples`` samples in it, zero left out
output     a share for each group, and how finely it is known
noise      exact exponential mechanism in each group; ``sparse`` adds discrete Gaussian noise
guarantee  ``rho``-zCDP of its event, delta 0
neighbours those it is built for; a user has samples in at most ``min(k, m)`` groups
========== ==================================================================================

**Reference** Liu, Suresh, Yu, Kumar and Riley 2020, Algorithms 1 to 5; Bun, Kamath, Steinke and Wu
2019 for the selection.

**Errata** Algorithm 1 prints ``exp(S / (2 epsilon))``: at epsilon 0.1 the loss is 9.9, not 0.1; it
is ``exp(epsilon S / 2)``. Algorithm 3's epsilon per group is 24 times too small at (1, 1e-6):
bounded range and zCDP give ``sqrt(8 rho / k)``. Algorithm 4 puts ``Lap(1 / epsilon)`` on a mean, s
times too much. Algorithm 5 divides the budget twice, and counts ``min(k, m)`` groups, which is
wrong under add/remove unless the number of users is a public constant: here it is.

The proof is in ``proof.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.calibrate import selection_epsilon
from headcount.mechanisms.binomial_selection.tournament import Tournament
from headcount.mechanisms.gaussian import Gaussian
from headcount.privacy.event import Filtered
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

SCORE_UNIT = 1 << 10
ACCURACY = 0.5


@dataclass(frozen=True)
class BinomialSelection:
    """Selection among binomials in every group; build with ``calibrate``."""

    rho: Fraction
    method: str
    n_groups: int
    samples: int
    n_users: int
    neighbours: Neighbours
    accuracy: float = ACCURACY

    @classmethod
    def calibrate(
        cls,
        spend: Zcdp,
        method: str,
        *,
        n_groups: int,
        samples: int,
        n_users: int,
        neighbours: Neighbours,
        accuracy: float = ACCURACY,
    ) -> BinomialSelection:
        """Spend nearly all of ``spend``; ``n_users`` and ``samples`` are public."""
        return cls(spend.rho, method, n_groups, samples, n_users, neighbours, accuracy)

    @property
    def event(self) -> Filtered:
        """What the ledger records."""
        return Filtered(self.rho, Fraction(0))

    @property
    def touched(self) -> int:
        """[BS2] in how many groups the counts of users move when one user does."""
        users = 2 if self.neighbours is Neighbours.REPLACE else 1
        return min(self.n_groups, users * self.samples)

    @property
    def epsilon(self) -> Fraction:
        """The bounded range of each group's selection: dense pays for all groups, as the paper."""
        if self.method == "dense":
            return selection_epsilon(self.rho / self.n_groups)
        return selection_epsilon(self.rho / 2 / self.touched)

    @property
    def rate(self) -> Fraction:
        """[BS1] scores move by a unit, either way: half of epsilon on each."""
        return self.epsilon / (2 * SCORE_UNIT)

    @cached_property
    def tournament(self) -> Tournament:
        """The candidates and how they are compared."""
        return Tournament.of(self.samples, self.accuracy)

    def scores(self, true_users: Integers) -> Integers:
        """Of each candidate, by how many users it beats its closest rival, in ``SCORE_UNIT``.

        [BS1] ``true_users`` is one group's row. Users with zero samples are the public number less
        the others, so sets that hold zero are counted from above.
        """
        game = self.tournament
        true_from = np.append(np.cumsum(true_users[::-1])[::-1], [0, 0])
        # Every user is at or above -1 and 0; only the public number stands for those at zero.
        true_from[0] = self.n_users
        true_above = true_from[np.clip(game.edge, 0, None)]
        true_inside = np.where(
            game.above, true_above, self.n_users - true_from[np.clip(game.edge + 1, 0, None)]
        )
        needed = np.ceil(self.n_users * game.expected * SCORE_UNIT).astype(np.int64)
        margin = np.maximum(0, true_inside * SCORE_UNIT - needed)
        scores: Integers = np.where(game.trivial, self.n_users * SCORE_UNIT, margin).min(axis=1)
        return scores

    @property
    def sensitivity(self) -> Sensitivity:
        """[BS2] one user is in one cell of each of the groups they have, and replaced in two."""
        users = 2 if self.neighbours is Neighbours.REPLACE else 1
        return Sensitivity.of_entries(users * self.samples, 1, self.neighbours)

    def draw(self, query: Query[Integers], chance: Chance) -> tuple[Floats, Floats]:
        """A share for each group, and its resolution: of the grid, or the sd of the noise."""
        true_users = query.answer(self.sensitivity)
        chosen = [chance.select(self.scores(row), self.rate) for row in true_users]
        shares = self.tournament.chances[chosen]
        spread = np.maximum(np.sqrt(shares * (1 - shares) / self.samples), 1 / self.samples)
        sds = self.accuracy * spread
        if self.method == "sparse":
            small = shares < 2 / self.samples
            noisy_shares, noisy_sds = self._small(true_users[:, 1:].sum(axis=1), chance)
            shares, sds = np.where(small, noisy_shares, shares), np.where(small, noisy_sds, sds)
        return shares, sds

    def _small(self, true_present: Integers, chance: Chance) -> tuple[Floats, Floats]:
        """[BS3] from how many users have a group at all; for groups rarer than two in m samples."""
        most = Fraction(self.touched)
        sensitivity = Sensitivity(self.touched, most, most, Fraction(1), self.neighbours)
        gaussian = Gaussian.calibrate(sensitivity, Zcdp(self.rho / 2))
        noisy_present = chance.noisy(true_present, gaussian.law)
        absent = 1 - np.clip(noisy_present / self.n_users, 0, 1 - 1e-9)
        slope = absent ** (1 / self.samples - 1) / self.samples / self.n_users
        return 1 - absent ** (1 / self.samples), gaussian.sd * slope
