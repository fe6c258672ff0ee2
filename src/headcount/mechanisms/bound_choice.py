"""Choose a bound among candidates that one user moves by different amounts.

**Contract**

========== ==================================================================================
input      for every candidate what it would lose, an integer, and how far one user may move it
output     the index of one candidate
noise      generalised exponential mechanism: candidates are compared two by two, each
           difference in units of what one user may change it by; drawn exactly
guarantee  bounded range ``epsilon``: ``epsilon``-DP and ``epsilon**2 / 8``-zCDP, delta 0
neighbours those for which the difference of any two losses moves by at most the sum of their
           two sensitivities
========== ==================================================================================

**Reference** Raskhodnikova and Smith 2016 for the generalised mechanism; Dong, Durfee and Rogers
2020 for its cost; contribution bounding for user-level histograms (ICML 2023), Algorithm 4, for
what is minimised.

**Errata** The printed Algorithm 4 divides by five times the largest candidate, which it takes from
the data: the choice is then useless where candidates span orders of magnitude, and not private.
Here the candidates are public, and each is held to its own sensitivity.

The proof is in ``bound_choice.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.calibrate import selection_epsilon
from headcount.privacy.event import Selection

if TYPE_CHECKING:
    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query
    from headcount.privacy.spend import Zcdp

SCORE_BITS = 16
MAX_SCORE = 1 << 62
MISS = 1 / 2000
"""The chance, roughly, of a choice that is of no use: candidates that are far too large differ from
the best one by little in units of their own sensitivity, and only the handicap keeps them away."""


@dataclass(frozen=True, slots=True)
class BoundChoice:
    """One choice among candidates of unequal sensitivity; build with ``calibrate``."""

    epsilon: Fraction

    @classmethod
    def calibrate(cls, spend: Zcdp) -> BoundChoice:
        """The largest epsilon, nearly, whose cost is at most ``spend``. [BC3] rounded down."""
        return cls(selection_epsilon(spend.rho))

    @property
    def event(self) -> Selection:
        """What the ledger records."""
        return Selection(self.epsilon)

    def draw(self, queries: Sequence[Query[int]], chance: Chance) -> int:
        """Choose. [BC2] one user moves every score by at most one unit, in either direction."""
        true_losses = [query.answer(query.sensitivity) for query in queries]
        scores = self.scores(true_losses, [math.ceil(query.sensitivity.linf) for query in queries])
        rate = self.epsilon / (2 << SCORE_BITS)
        return chance.select(np.array([-score for score in scores], np.int64), rate)

    def scores(self, true_losses: Sequence[int], sensitivities: Sequence[int]) -> list[int]:
        """How much worse a candidate is than the best one to compare it with, in units.

        [BC1] each ratio moves by at most one, so their largest does, and so does its floor. All
        numbers are integers of any size.
        """
        margin = math.ceil(2 / self.epsilon * round(math.log(len(sensitivities) / MISS) * 1024))
        handicapped = [
            (int(loss) << 10) + margin * int(distance)
            for loss, distance in zip(true_losses, sensitivities, strict=True)
        ]
        return [
            min(
                MAX_SCORE,
                max(
                    ((own - other) << SCORE_BITS) // ((mine + its) << 10)
                    for other, its in zip(handicapped, sensitivities, strict=True)
                ),
            )
            for own, mine in zip(handicapped, sensitivities, strict=True)
        ]
