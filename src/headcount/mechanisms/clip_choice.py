"""Choose the bound on what one user gives: where clipping loses as much as noise gains.

**Contract**

========== ==================================================================================
input      ``true_weights[j]``: sum over users whose norm is above candidate j of their ratio
output     the index of one candidate; 0 says that noise exceeds the signal
noise      exact exponential mechanism on how far each candidate is from the crossing
guarantee  bounded range ``epsilon``: ``epsilon**2 / 8``-zCDP and pure ``epsilon``, delta 0
neighbours add or remove one user, or replace one by another: the same scale for both
========== ==================================================================================

A bound C costs ``G(C) = sum_i r_i (b_i - C)+ + C M``: what it clips off users of norm ``b_i``, in
events, and the noise it needs on all groups. ``W(C)``, the sum of ``r_i`` over users above C, is
minus the slope of the first part, so the best bound is where W crosses M.

**Reference** Contribution bounding for user-level histograms (ICML 2023), Theorem 4.3 for G;
McSherry and Talwar 2007; Dong, Durfee and Rogers 2020 for the cost.

**Errata** The printed Algorithm 2 assumes sparse users, so one user of many groups breaks its
claim; here the ratio is capped at a public number. Its largest bound is that of the data, and its
noise depends on the number of users; here the candidates and the scale are public.

The proof is in ``clip_choice.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.calibrate import selection_epsilon
from headcount.privacy.event import Selection
from headcount.privacy.length import MAX_LENGTH, Length, Norm
from headcount.privacy.sensitivity import Sensitivity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query
    from headcount.privacy.spend import Zcdp

STEP = Fraction(21, 20)
RATIO_BITS = 20
SPARSITY = 5  # users with equal counts in more than a fifth of the groups are not told apart
PRIOR = 4.0  # a bound twice as long is 2**-4 times as likely before anything is seen


@cache
def candidates(norm: Norm) -> tuple[Length, ...]:
    """The public bounds to choose from, beside none at all: from 1 up by a twentieth each."""
    lengths, value = [], Fraction(1)
    while value <= MAX_LENGTH:
        lengths.append(Length.of(norm, value))
        value *= STEP
    return tuple(lengths)


def ratio_cap(norm: Norm, n_groups: int) -> int:
    """The most that one user weighs, in units of ``2**-RATIO_BITS``: public."""
    if norm is Norm.L1:
        return 1 << RATIO_BITS
    return math.isqrt(max(n_groups, SPARSITY) * (1 << 2 * RATIO_BITS) // SPARSITY)


@dataclass(frozen=True, slots=True)
class ClipChoice:
    """One choice among public bounds; build with ``calibrate``.

    cap:    the most that one user weighs [CC1]
    noise:  M, the mean absolute noise on all groups for a bound of 1, in the same units
    """

    norm: Norm
    epsilon: Fraction
    cap: int
    noise: int

    @classmethod
    def calibrate(cls, norm: Norm, n_groups: int, noise: float, spend: Zcdp) -> ClipChoice:
        """The largest epsilon, nearly, whose cost is at most ``spend``. [CC3] rounded down."""
        epsilon = selection_epsilon(spend.rho)
        return cls(norm, epsilon, ratio_cap(norm, n_groups), round(noise * (1 << RATIO_BITS)))

    @property
    def event(self) -> Selection:
        """What the ledger records."""
        return Selection(self.epsilon)

    @property
    def sensitivity(self) -> Sensitivity:
        """One user moves each weight by the cap at most, also when one is replaced."""
        return Sensitivity.of_entries(len(self.candidates) + 1, self.cap)

    @property
    def candidates(self) -> tuple[Length, ...]:
        """The bounds that index 1 and on stand for; 0 stands for none."""
        return candidates(self.norm)

    def preferred(self) -> NDArray[np.int64]:
        """By how much shorter bounds are preferred, in the units of the scores; public.

        Far above all users the weights say nothing more, and a bound there costs as much as it is
        long. The preference makes up for it.
        """
        per_log = PRIOR * 2 * self.cap / float(self.epsilon)
        lengths = [1.0, *(float(length.value) for length in self.candidates)]
        return -np.rint(per_log * np.log(lengths)).astype(np.int64)

    def draw(self, query: Query[NDArray[np.int64]], chance: Chance) -> int:
        """Choose. [CC1] the distance of M from the weights on both sides of a candidate.

        [CC2] one user moves a distance by at most the cap, up at some candidates and down at
        others, so the range of the change is twice the cap.
        """
        claimed = replace(self.sensitivity, neighbours=query.sensitivity.neighbours)
        true_weights = query.answer(claimed)
        if len(true_weights) != claimed.l0:
            raise ValueError("every candidate needs a weight, and so does no bound")
        true_above = true_weights - self.noise
        true_below = self.noise - np.concatenate([[self.noise], true_weights[:-1]])
        true_distance = np.maximum(np.maximum(true_above, true_below), 0)
        scores = self.preferred() - true_distance
        return chance.select(scores, self.epsilon / (2 * self.cap))
