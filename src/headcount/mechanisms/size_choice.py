"""Choose how large a release may be: the largest candidate that does not lose too much.

**Contract**

========== ==================================================================================
input      for every candidate the sum over users of what they would lose, capped per user
output     the index of one candidate
noise      exact exponential mechanism: later candidates are preferred, lossy ones avoided
guarantee  bounded range ``epsilon``: ``epsilon**2 / 8``-zCDP, delta 0
neighbours add or remove one user, who adds 0 to ``2**UNIT_BITS`` to every candidate's sum
========== ==================================================================================

**Reference** McSherry and Talwar 2007; Dong, Durfee and Rogers 2020 for the cost.

The proof is in ``size_choice.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.calibrate import selection_epsilon
from headcount.privacy.event import Selection
from headcount.privacy.sensitivity import Sensitivity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query
    from headcount.privacy.spend import Zcdp

UNIT_BITS = 20


@dataclass(frozen=True, slots=True)
class SizeChoice:
    """One choice among candidates of growing size; build with ``calibrate``."""

    epsilon: Fraction
    prior: float

    @classmethod
    def calibrate(cls, spend: Zcdp, prior: float) -> SizeChoice:
        """The largest epsilon, nearly, whose cost is at most ``spend``. [SC2] rounded down.

        prior:  log-odds by which each candidate is preferred to the one before it
        """
        return cls(selection_epsilon(spend.rho), prior)

    @property
    def event(self) -> Selection:
        """What the ledger records."""
        return Selection(self.epsilon)

    @property
    def sensitivity(self) -> Sensitivity:
        """One user moves every sum by up to a unit, and all in one direction."""
        return Sensitivity.of_entries(most=1 << UNIT_BITS, one_way=True)

    def draw(
        self,
        query: Query[NDArray[np.int64]],
        allowed: NDArray[np.int64],
        chance: Chance,
        among: NDArray[np.intp] | None = None,
    ) -> int:
        """Choose. ``allowed`` is public: a loss up to it costs a candidate nothing.

        among:  the candidates to choose from, which are public; all of them if nothing is said

        [SC1] one user lowers every score by 0 to one unit, so the range of the change is one unit
        and the whole epsilon goes on it.
        """
        unit = 1 << UNIT_BITS
        claimed = replace(self.sensitivity, neighbours=query.sensitivity.neighbours)
        true_lost = query.answer(claimed)
        some = slice(None) if among is None else among
        true_excess = np.maximum(0, true_lost - allowed)[some]
        preferred = round(self.prior * unit / self.epsilon) * np.arange(len(true_excess))
        return chance.select(preferred - true_excess, self.epsilon / unit)
