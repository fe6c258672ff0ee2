"""Trial of ``BoundChoice``: its law, where one user moves losses by unequal amounts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from headcount.accounting.compose import bounded_range_cost
from headcount.audit.blackbox import audit_epsilon
from headcount.audit.divergence import pure_epsilon, range_epsilon, rho
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms import bound_choice as module
from headcount.mechanisms.bound_choice import BoundChoice
from headcount.mechanisms.chance import Chance, Drawn
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.trials.given import given
from headcount.trials.selection import LawOf, chosen_law, drawn_law, stated_law
from headcount.trials.trial import EPSILONS, Case, Effort, Trial

SENSITIVITIES = (2, 4, 10, 40)
WITHOUT_USER = (1964, 1946, 1856, 1406)
"""At epsilon 1, handicaps included, the first is best and the others are three units behind it."""

BASES = {
    "": WITHOUT_USER,
    ", no losses": (0, 0, 0, 0),
    ", a tie": (900, 900, 900, 900),
}
USERS = tuple(product((-1, 1), repeat=4))
"""A user moves each loss by up to its sensitivity, so two by at most the sum of theirs."""

FEW = USERS[1::7]
N_OUTPUTS = 600


def asked(true_losses: Sequence[int]) -> list[Query[int]]:
    """The losses as questions, each with how far a user moves it."""
    return [
        given(Sensitivity.of_sum(distance), loss)
        for distance, loss in zip(SENSITIVITIES, true_losses, strict=True)
    ]


def law_of(choice: BoundChoice, true_losses: Sequence[int], law: LawOf = chosen_law) -> Law:
    """The law of the choice, by walking all of its coins."""
    return drawn_law(lambda chance: choice.draw(asked(true_losses), chance), law)


def moved(user: Sequence[int], base: Sequence[int] = WITHOUT_USER) -> list[int]:
    """The losses with one more user."""
    return [
        loss + sign * distance
        for loss, sign, distance in zip(base, user, SENSITIVITIES, strict=True)
    ]


def _examined(
    make: Callable[[Fraction], BoundChoice], users: Sequence[tuple[int, ...]]
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = []
        for epsilon in EPSILONS if effort is Effort.FULL else EPSILONS[1:2]:
            choice = make(Fraction(epsilon))
            for name, base in BASES.items():
                # Coins are walked on one of the tables: on the others it is scores that matter.
                law = stated_law if name else chosen_law
                right = law_of(choice, base, law)
                for user in users:
                    left = law_of(choice, moved(user, base), law)
                    subject = f"epsilon {epsilon}, a user of {user}{name}"
                    findings += _held(left, right, epsilon, subject)
            findings.append(_sampled(choice, epsilon))
        return findings

    return examined


def _held(left: Law, right: Law, epsilon: float, subject: str) -> list[Finding]:
    least = 1e7 * float(max(left.residual, right.residual))
    cost = float(bounded_range_cost(Fraction(epsilon)).rho)
    found = range_epsilon(left, right, least).low
    pure = pure_epsilon(left, right, least).low
    return [
        Finding(Tier.EXACT, subject, "bounded range", epsilon, found),
        Finding(Tier.EXACT, subject, "epsilon", epsilon, pure),
        Finding(Tier.EXACT, subject, "rho", cost, rho(left, right)),
    ]


def _sampled(choice: BoundChoice, epsilon: float) -> Finding:
    """Outputs alone, for a user who speaks for the largest candidate."""
    sides = [
        np.array([[choice.draw(asked(losses), Drawn())] for _ in range(N_OUTPUTS)], np.int64)
        for losses in (moved((1, 1, 1, -1)), WITHOUT_USER)
    ]
    return audit_epsilon(*sides, epsilon=epsilon, delta=0.0, subject=f"epsilon {epsilon}, outputs")


class TwiceTheRate(BoundChoice):
    """Forgets that scores move both ways."""

    __slots__ = ()

    def scores(self, true_losses: Sequence[int], sensitivities: Sequence[int]) -> list[int]:
        """Every score twice."""
        return [2 * score for score in BoundChoice.scores(self, true_losses, sensitivities)]


class SmallestSensitivity(BoundChoice):
    """Holds every candidate to what one user moves the smallest of them by."""

    __slots__ = ()

    def scores(self, true_losses: Sequence[int], sensitivities: Sequence[int]) -> list[int]:
        """The handicaps as they are, and one sensitivity for all ratios."""
        least, n = min(sensitivities), len(sensitivities)
        margin = round(2 / self.epsilon * round(math.log(n / module.MISS) * 1024) / 1024)
        handicapped = [
            loss + margin * (distance - least)
            for loss, distance in zip(true_losses, sensitivities, strict=True)
        ]
        return BoundChoice.scores(self, handicapped, [least] * n)


class TiesWithoutCoins(BoundChoice):
    """Takes the smallest of candidates that lose alike, and draws elsewhere."""

    __slots__ = ()

    def draw(self, queries: Sequence[Query[int]], chance: Chance) -> int:
        """No choice where all are equal."""
        is_tie = len({query.ask() for query in queries}) == 1
        return 0 if is_tie else BoundChoice.draw(self, queries, chance)


def _end_from_data(_effort: Effort) -> Sequence[Finding]:
    """Candidates up to the largest user, as printed: the table decides what can be chosen."""
    choice = BoundChoice(Fraction(1))
    rate = choice.epsilon / (2 << module.SCORE_BITS)
    laws = []
    for n in (3, 4):
        scores = choice.scores(WITHOUT_USER[:n], SENSITIVITIES[:n])
        laws.append(chosen_law([-score for score in scores], rate))
    least = 1e7 * float(max(law.residual for law in laws))
    found = pure_epsilon(laws[1], laws[0], least).low
    return [Finding(Tier.EXACT, "candidates up to the largest user", "epsilon", 1.0, found)]


TRIAL = Trial(
    "bound_choice",
    (
        Case("as shipped", _examined(BoundChoice, USERS[1::2]), is_mutant=False),
        Case("twice the rate", _examined(TwiceTheRate, FEW)),
        Case("the smallest sensitivity for all", _examined(SmallestSensitivity, FEW)),
        Case("candidates up to the largest user", _end_from_data),
        Case("no choice where candidates tie", _examined(TiesWithoutCoins, FEW)),
    ),
)
