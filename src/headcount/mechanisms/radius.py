"""Choose a length that about half of the users are within: a private median.

**Contract**

========== ==================================================================================
input      how many users are in each cell of a public ladder; one user is in at most one cell
output     the index of one edge of the ladder
noise      exact exponential mechanism, score: minus the users beyond half above or below it
guarantee  bounded range ``epsilon``: ``epsilon**2 / 8``-zCDP, delta 0
neighbours those it is built for: add or remove one user, or replace one
========== ==================================================================================

**Reference** McSherry and Talwar 2007; Smith 2011 for quantiles; Dong, Durfee and Rogers 2020 for
the cost.

The proof is in ``radius.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.calibrate import selection_epsilon
from headcount.privacy.event import Selection
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query
    from headcount.privacy.spend import Zcdp


@dataclass(frozen=True, slots=True)
class Radius:
    """One choice of a median; build with ``calibrate``."""

    epsilon: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    @classmethod
    def calibrate(cls, spend: Zcdp, neighbours: Neighbours) -> Radius:
        """Spend nearly all of ``spend``. [RA2] epsilon is rounded down."""
        return cls(selection_epsilon(spend.rho), neighbours)

    @property
    def event(self) -> Selection:
        """What the ledger records."""
        return Selection(self.epsilon)

    @property
    def score_range(self) -> int:
        """[RA1] how far one user can move one score against another."""
        return 2 if self.neighbours is Neighbours.ADD_REMOVE else 4

    @property
    def sensitivity(self) -> Sensitivity:
        """One user is in one cell."""
        return Sensitivity.of_cell(self.neighbours)

    def draw(self, query: Query[NDArray[np.int64]], chance: Chance) -> int:
        """Choose a cell by its upper edge; the last cell has none, and cannot be chosen.

        All users may be in one cell. It is the best one then: no more than half of them are above
        it, and no more than half below.
        """
        true_users = query.answer(self.sensitivity)
        true_within = np.cumsum(true_users)
        n_users = true_within[-1]
        true_above = n_users - true_within[:-1]
        true_below = true_within[:-1] - true_users[:-1]
        true_excess = np.maximum(0, 2 * np.maximum(true_above, true_below) - n_users)
        return chance.select(-true_excess, self.epsilon / self.score_range)
