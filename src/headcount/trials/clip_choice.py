"""Trial of ``ClipChoice``: the law of the choice when a user comes, goes, or is replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np

from headcount.accounting.compose import bounded_range_cost
from headcount.audit.blackbox import audit_epsilon
from headcount.audit.divergence import pure_epsilon, range_epsilon, rho
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms import clip_choice as module
from headcount.mechanisms.chance import Chance, Drawn
from headcount.mechanisms.clip_choice import ClipChoice
from headcount.privacy.length import Length, Norm
from headcount.privacy.query import Query
from headcount.trials.given import given
from headcount.trials.seam import Integers, swapped
from headcount.trials.selection import LawOf, chosen_law, drawn_law, stated_law
from headcount.trials.trial import EPSILONS, Case, Effort, Trial

Make = Callable[[Fraction], ClipChoice]
User = tuple[int, int]
"""How many candidates a user is above, and their ratio."""

CAP = 64
NOISE = 3 * CAP
LENGTHS = tuple(Length.of(Norm.L2, value) for value in (1, 2, 4))
OTHERS: tuple[User, ...] = ((0, CAP), (1, CAP), (1, CAP // 2), (2, CAP), (3, CAP))
BASES: dict[str, tuple[User, ...]] = {
    "": OTHERS,
    ", nobody else": (),
    ", others that weigh nothing": ((0, 0), (3, 0)),
    ", a tie": ((1, NOISE), (3, NOISE)),
}
USERS: tuple[User, ...] = (*((above, CAP) for above in range(4)), (2, CAP // 3))
Change = tuple[User | None, User | None]
CHANGES: tuple[Change, ...] = (*((None, user) for user in USERS), *combinations(USERS, 2))
FEW: tuple[Change, ...] = ((None, (3, CAP)), ((0, CAP), (3, CAP)), (None, (1, CAP)))
N_OUTPUTS = 2_000


def weights(users: Sequence[User]) -> Integers:
    """What the engine answers: the ratios of all users, and of those above each candidate."""
    return np.array(
        [sum(r for above, r in users if above >= j) for j in range(len(LENGTHS) + 1)], np.int64
    )


def _with(user: User | None, others: tuple[User, ...] = OTHERS) -> Integers:
    return weights(others if user is None else (*others, user))


def law_of(choice: ClipChoice, true_weights: Integers, law: LawOf = chosen_law) -> Law:
    """The law of the choice, by walking all of its coins."""
    with swapped(module, "candidates", lambda _norm: LENGTHS):
        return drawn_law(
            lambda chance: choice.draw(given(choice.sensitivity, true_weights), chance), law
        )


def _findings(left: Law, right: Law, epsilon: Fraction, subject: str) -> list[Finding]:
    least = 1e7 * float(max(left.residual, right.residual))
    cost = float(bounded_range_cost(epsilon).rho)
    found = range_epsilon(left, right, least).low
    pure = pure_epsilon(left, right, least).low
    return [
        Finding(Tier.EXACT, subject, "bounded range", float(epsilon), found),
        Finding(Tier.EXACT, subject, "epsilon", float(epsilon), pure),
        Finding(Tier.EXACT, subject, "rho", cost, rho(left, right)),
    ]


def _sampled(choice: ClipChoice, epsilon: float) -> Finding:
    """Outputs alone, for one user replaced by another."""
    sides = []
    with swapped(module, "candidates", lambda _norm: LENGTHS):
        for user in ((0, CAP), (3, CAP)):
            true_weights = _with(user)
            drawn = [
                [choice.draw(given(choice.sensitivity, true_weights), Drawn())]
                for _ in range(N_OUTPUTS)
            ]
            sides.append(np.array(drawn, np.int64))
    return audit_epsilon(*sides, epsilon=epsilon, delta=0.0, subject=f"epsilon {epsilon}, outputs")


def _examined(make: Make, changes: Sequence[Change]) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = []
        for epsilon in EPSILONS if effort is Effort.FULL else EPSILONS[1:2]:
            choice = make(Fraction(epsilon))
            for name, others in BASES.items():
                users = {user for change in changes for user in change}
                # Coins are walked on one of the tables: on the others it is scores that matter.
                law = stated_law if name else chosen_law
                laws = {user: law_of(choice, _with(user, others), law) for user in users}
                for one, other in changes:
                    subject = f"epsilon {epsilon}, {one} becomes {other}{name}"
                    findings += _findings(laws[one], laws[other], Fraction(epsilon), subject)
            findings.append(_sampled(choice, epsilon))
        return findings

    return examined


def as_shipped(epsilon: Fraction) -> ClipChoice:
    """The mechanism itself."""
    return ClipChoice(Norm.L2, epsilon, CAP, NOISE)


def without_the_half(epsilon: Fraction) -> ClipChoice:
    """The rate for scores that all move the same way; they do not."""
    return ClipChoice(Norm.L2, 2 * epsilon, CAP, NOISE)


class NoiseFromData(ClipChoice):
    """Takes M from the number of users that there are, as the printed lambda does."""

    __slots__ = ()

    def draw(self, query: Query[Integers], chance: Chance) -> int:
        """A share of all weights in place of a public number, and the weights in its units."""
        true_weights = query.ask()
        of_data = ClipChoice(self.norm, self.epsilon, self.cap, int(true_weights[0]) // 2)
        return of_data.draw(given(of_data.sensitivity, 4 * true_weights), chance)


class NothingToClip(ClipChoice):
    """Needs no bound where nobody weighs anything, and says so."""

    __slots__ = ()

    def draw(self, query: Query[Integers], chance: Chance) -> int:
        """No choice where there is nothing to choose by."""
        return ClipChoice.draw(self, query, chance) if query.ask().any() else 0


def _sparsity_assumed(effort: Effort) -> Sequence[Finding]:
    """A user in four times as many groups as assumed, whose ratio nobody capped."""
    return _examined(as_shipped, ((None, (3, 4 * CAP)), (None, (1, 4 * CAP))))(effort)


def _grid_from_data(_effort: Effort) -> Sequence[Finding]:
    """Candidates that end at the longest user: one more of them when that user is there."""
    choice = as_shipped(Fraction(1))
    longer = law_of(choice, _with((3, CAP)))
    with swapped(module, "candidates", lambda _norm: LENGTHS[:2]):
        few = weights(OTHERS[:-1])[:3]
        shorter = drawn_law(lambda chance: choice.draw(given(choice.sensitivity, few), chance))
    return _findings(longer, shorter, Fraction(1), "a grid that ends with the data")


TRIAL = Trial(
    "clip_choice",
    (
        Case("as shipped", _examined(as_shipped, CHANGES), is_mutant=False),
        Case("the rate of scores that move one way", _examined(without_the_half, FEW)),
        Case("sparsity assumed and not enforced", _sparsity_assumed),
        Case(
            "the noise from the number of users",
            _examined(lambda e: NoiseFromData(Norm.L2, e, CAP, NOISE), FEW),
        ),
        Case("a grid that ends with the data", _grid_from_data),
        Case(
            "no choice where nobody weighs anything",
            _examined(lambda e: NothingToClip(Norm.L2, e, CAP, NOISE), FEW),
        ),
    ),
)
