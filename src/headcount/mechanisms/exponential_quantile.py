"""One quantile of users' values on a public grid, by the exponential mechanism.

**Contract**

========== ==================================================================================
input      how many users are in each public cell of one width; a user is in at most one
output     the number of one cell
noise      exact selection: a cell's score falls with its distance, in users, from the quantile
guarantee  bounded range ``epsilon``: ``epsilon**2 / 8``-zCDP, delta 0
neighbours add or remove one user, who moves one cell, and the number of users, by one; or
           replace one, who leaves one cell for another
========== ==================================================================================

**Reference** McSherry and Talwar 2007; Smith 2011 for quantiles; Dong, Durfee and Rogers 2020 for
the cost.

**Errata** Quantile scores are commonly stated for a known number of users, where the target rank
does not move. Here it does: ``at * n`` grows with each user. The score compares users before a cell
with all users, both exact, and one user moves it by at most ``max(at, 1 - at)``, in either
direction.

The proof is in ``exponential_quantile.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.calibrate import selection_epsilon
from headcount.errors import UsageError
from headcount.privacy.event import Selection
from headcount.privacy.exact import Number, exact
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query
    from headcount.privacy.spend import Zcdp

MAX_PARTS = 10_000
MAX_USERS = 1 << 32
"""The most users of one cell that count; with 2**16 cells and 10,000 parts scores fit 64 bits."""


def read_quantile(value: Number) -> Fraction:
    """A quantile between 0 and 1 with at most four decimals."""
    at = exact(value, "a quantile")
    if not 0 < at < 1 or MAX_PARTS % at.denominator:
        raise UsageError(
            "A quantile is a number between 0 and 1 with at most four decimals, such as 0.25, not "
            f"{float(at):g}. Nothing was read and nothing was charged."
        )
    return at


@dataclass(frozen=True, slots=True)
class ExponentialQuantile:
    """The cell of one quantile; build with ``calibrate``."""

    at: Fraction
    epsilon: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    @classmethod
    def calibrate(
        cls, at: Fraction, spend: Zcdp, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> ExponentialQuantile:
        """The largest epsilon, nearly, whose cost is at most ``spend``. [EQ2] rounded down."""
        return cls(at, selection_epsilon(spend.rho), neighbours)

    @property
    def event(self) -> Selection:
        """What the ledger records."""
        return Selection(self.epsilon)

    @property
    def sensitivity(self) -> Sensitivity:
        """One user is in one cell."""
        return Sensitivity.of_cell(self.neighbours)

    @property
    def max_move(self) -> int:
        """The most by which one change of a user moves a score, up or down [EQ1]."""
        if self.neighbours is Neighbours.REPLACE:
            return self.at.denominator
        return max(self.at.numerator, self.at.denominator - self.at.numerator)

    def draw(self, query: Query[NDArray[np.int64]], chance: Chance) -> int:
        """Choose a cell. [EQ1] scores move ``max_move`` both ways at most: twice that in range."""
        rate = self.epsilon / (2 * self.max_move)
        return chance.select(self.scores(query.answer(self.sensitivity)), rate)

    def scores(self, true_cells: NDArray[np.int64]) -> NDArray[np.int64]:
        """Minus the distance of ``at * n`` from a cell's ranks, in users times the denominator.

        A cell with ``b`` users before it and ``u`` up to its end holds the ranks ``b`` to ``u``.
        """
        part, parts = self.at.numerator, self.at.denominator
        true_clamped = np.minimum(true_cells, MAX_USERS)
        true_upto = np.cumsum(true_clamped)
        true_all = true_upto[-1]
        too_high = parts * (true_upto - true_clamped) - part * true_all
        too_low = part * true_all - parts * true_upto
        scores: NDArray[np.int64] = -np.maximum(0, np.maximum(too_high, too_low))
        return scores
