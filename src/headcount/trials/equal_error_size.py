"""Trial of ``SizeChoice``: the law of the choice, where one user adds up to a unit to every sum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt

from headcount.accounting.compose import bounded_range_cost
from headcount.audit.blackbox import audit_epsilon
from headcount.audit.divergence import range_epsilon, rho
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms import equal_error_size as module
from headcount.mechanisms.equal_error_size import UNIT_BITS, SizeChoice
from headcount.trials.seam import swapped
from headcount.trials.selection import chosen_law
from headcount.trials.trial import EPSILONS, Case, Effort, Trial

UNIT = 1 << UNIT_BITS
WITHOUT_USER = (0, UNIT // 2, 2 * UNIT, 2 * UNIT)
ALLOWED = np.array([UNIT // 4, UNIT // 2, UNIT, 3 * UNIT])
USERS = tuple(product((0, UNIT), repeat=4))
FEW = USERS[6:8] + USERS[-2:]
N_OUTPUTS = 2_000
Integers = npt.NDArray[np.int64]
Reached = list[tuple[list[int], Fraction]]


def reached(choice: SizeChoice, true_lost: Sequence[int]) -> tuple[list[int], Fraction]:
    """The scores and the rate at which the selection is made."""
    calls: Reached = []

    def select(scores: Integers, rate: Fraction, _entropy: object) -> int:
        calls.append((scores.tolist(), rate))
        return 0

    with swapped(module, "select", select):
        choice.draw(np.array(true_lost, dtype=np.int64), ALLOWED)
    return calls[0]


def _examined(
    make: Callable[[Fraction], SizeChoice], users: Sequence[tuple[int, ...]]
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = []
        for epsilon in EPSILONS if effort is Effort.FULL else EPSILONS[1:2]:
            exact = Fraction(epsilon)
            choice = make(exact)
            right = chosen_law(*reached(choice, WITHOUT_USER))
            for user in users if effort is Effort.FULL else users[-4:]:
                with_user = [a + b for a, b in zip(WITHOUT_USER, user, strict=True)]
                left = chosen_law(*reached(choice, with_user))
                least = 1e7 * float(max(left.residual, right.residual))
                subject = f"epsilon {epsilon}, a user of {[part // UNIT for part in user]}"
                found = range_epsilon(left, right, least).low
                cost = float(bounded_range_cost(exact).rho)
                findings += [
                    Finding(Tier.EXACT, subject, "bounded range", epsilon, found),
                    Finding(Tier.EXACT, subject, "rho", cost, rho(left, right)),
                ]
            findings.append(_sampled(choice, epsilon))
        return findings

    return examined


def _sampled(choice: SizeChoice, epsilon: float) -> Finding:
    """Outputs alone, for a user who adds to the middle candidates and to no other."""
    with_user = [a + b for a, b in zip(WITHOUT_USER, (0, UNIT, UNIT, 0), strict=True)]
    sides = [
        np.array([[choice.draw(np.array(lost), ALLOWED)] for _ in range(N_OUTPUTS)], np.int64)
        for lost in (with_user, WITHOUT_USER)
    ]
    return audit_epsilon(*sides, epsilon=epsilon, delta=0.0, subject=f"epsilon {epsilon}, outputs")


def as_shipped(epsilon: Fraction) -> SizeChoice:
    """The mechanism itself."""
    return SizeChoice(epsilon, 0.3)


class TwoSided(SizeChoice):
    """Also avoids candidates that lose too little, so that scores move both ways."""

    __slots__ = ()

    def draw(self, true_lost: Integers, allowed: Integers, entropy: object = None) -> int:
        """The distance to what is allowed in place of the excess."""
        distance = allowed + np.abs(true_lost - allowed)
        return SizeChoice.draw(self, distance, allowed)


class TwiceTheRate(SizeChoice):
    """Doubles the exponent, as for scores that move half as far."""

    __slots__ = ()

    def draw(self, true_lost: Integers, allowed: Integers, entropy: object = None) -> int:
        """Count every loss twice."""
        return SizeChoice.draw(self, 2 * true_lost, 2 * allowed)


class AllowedFromData(SizeChoice):
    """Takes what is allowed from the data, so that the shares and not the sums decide."""

    __slots__ = ()

    def draw(self, true_lost: Integers, allowed: Integers, entropy: object = None) -> int:
        """Allow the mean of the sums, times eight to make it sharp."""
        scaled = 8 * true_lost
        return SizeChoice.draw(self, scaled, np.full_like(scaled, int(scaled.mean())))


TRIAL = Trial(
    "equal_error_size",
    (
        Case("as shipped", _examined(as_shipped, USERS), is_mutant=False),
        Case("a score that avoids both sides", _examined(lambda e: TwoSided(e, 0.3), FEW)),
        Case("twice the rate", _examined(lambda e: TwiceTheRate(e, 0.3), FEW)),
        Case("the allowance from the data", _examined(lambda e: AllowedFromData(e, 0.3), FEW)),
    ),
)
