"""Trial of ``BinomialSelection``: one group's selection, and groups that a user does not touch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np

from headcount.accounting.compose import bounded_range_cost
from headcount.audit.blackbox import audit_epsilon
from headcount.audit.divergence import range_epsilon, rho
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.binomial_selection import mechanism as module
from headcount.mechanisms.binomial_selection.mechanism import BinomialSelection
from headcount.mechanisms.chance import Drawn
from headcount.privacy.neighbours import Neighbours
from headcount.trials.given import given
from headcount.trials.seam import Integers
from headcount.trials.selection import drawn_law, stated_law
from headcount.trials.trial import EPSILONS, Case, Effort, Trial

SAMPLES, N_USERS = 2, 8
N_OUTPUTS = 1_000
Pair = tuple[Integers, Integers, str]


def touched_pairs() -> Iterator[Pair]:
    """A group's users by number of samples, and one user more with some; zero left to the public.

    The first column holds zeros that only a careless reader looks at.
    """
    for ones, twos in product(range(0, N_USERS, 3), repeat=2):
        if ones + twos < N_USERS:
            base = np.array([N_USERS - ones - twos, ones, twos])
            for samples in (1, 2):
                more = base.copy()
                more[samples] += 1
                yield more, base, f"one more user with {samples} of {ones}, {twos}"


def untouched_pair() -> Pair:
    """One more user without any sample of the group."""
    base = np.array([N_USERS, 0, 0])
    return base + np.array([1, 0, 0]), base, "one more user elsewhere"


def law_of(choice: BinomialSelection, true_users: Integers) -> Law:
    """The law of one group's share and its resolution."""
    return drawn_law(
        lambda chance: choice.draw(given(choice.sensitivity, true_users[None, :]), chance),
        stated_law,
    )


def made(epsilon: Fraction, kind: type[BinomialSelection]) -> BinomialSelection:
    """One group whose selection has this epsilon."""
    return kind(epsilon**2 / 8, "dense", 1, SAMPLES, N_USERS, Neighbours.ADD_REMOVE, 0.4)


def _examined(kind: type[BinomialSelection]) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = []
        for epsilon in EPSILONS if effort is Effort.FULL else EPSILONS[:1]:
            choice = made(Fraction(epsilon), kind)
            pairs = list(touched_pairs())
            for pair in pairs if effort is Effort.FULL else pairs[:6]:
                findings += _held(choice, pair, epsilon)
            findings += _held(choice, untouched_pair(), 0.0)
            findings.append(_sampled(choice, pairs[-1], epsilon))
        return findings

    return examined


def _held(choice: BinomialSelection, pair: Pair, epsilon: float) -> list[Finding]:
    left, right = (law_of(choice, users) for users in pair[:2])
    least = 1e7 * float(max(left.residual, right.residual))
    cost = float(bounded_range_cost(Fraction(epsilon)).rho)
    subject = f"epsilon {epsilon}, {pair[2]}"
    # Where nothing may move, what walking the coins left open is all that may be found.
    slack = 0.0 if epsilon else 1e-6
    found = range_epsilon(left, right, least).low
    return [
        Finding(Tier.EXACT, subject, "bounded range", epsilon + slack, found),
        Finding(Tier.EXACT, subject, "rho", cost + slack, rho(left, right)),
    ]


def _sampled(choice: BinomialSelection, pair: Pair, epsilon: float) -> Finding:
    sides = []
    for users in pair[:2]:
        rows = np.tile(users, (N_OUTPUTS, 1))
        shares, _ = choice.draw(given(choice.sensitivity, rows), Drawn())
        sides.append(np.rint(shares * 1e6).astype(np.int64)[:, None])
    return audit_epsilon(*sides, epsilon=epsilon, delta=0.0, subject=f"epsilon {epsilon}, outputs")


class PrintedExponent(BinomialSelection):
    """Algorithm 1 as printed: one over epsilon where epsilon is meant."""

    @property
    def rate(self) -> Fraction:
        """``exp(S / (2 epsilon))``, at an epsilon for which that is more."""
        return 1 / (2 * self.epsilon * module.SCORE_UNIT)


class HalfForgotten(BinomialSelection):
    """All of epsilon on scores that move both ways."""

    @property
    def rate(self) -> Fraction:
        """Twice the rate."""
        return self.epsilon / module.SCORE_UNIT


class TrueNumberOfUsers(BinomialSelection):
    """Counts users from the table, so that every group gets a record of zero."""

    def scores(self, true_users: Integers) -> Integers:
        """The scores for as many users as the row has."""
        own = BinomialSelection(
            self.rho, self.method, 1, SAMPLES, int(true_users.sum()), self.neighbours, 0.4
        )
        return BinomialSelection.scores(own, true_users)


TRIAL = Trial(
    "binomial_selection",
    (
        Case("as shipped", _examined(BinomialSelection), is_mutant=False),
        Case("the exponent as printed", _examined(PrintedExponent)),
        Case("the half forgotten", _examined(HalfForgotten)),
        Case("the number of users from the table", _examined(TrueNumberOfUsers)),
    ),
)
