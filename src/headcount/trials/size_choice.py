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
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.chance import Chance, Drawn
from headcount.mechanisms.size_choice import UNIT_BITS, SizeChoice
from headcount.privacy.query import Query
from headcount.trials.given import given
from headcount.trials.selection import LawOf, chosen_law, drawn_law, stated_law
from headcount.trials.trial import EPSILONS, Case, Effort, Trial

UNIT = 1 << UNIT_BITS
WITHOUT_USER = (0, UNIT // 2, 2 * UNIT, 2 * UNIT)
BASES = {
    "": WITHOUT_USER,
    ", and nothing is lost": (0, 0, 0, 0),
    ", and all is lost": (3 * UNIT, 3 * UNIT, 3 * UNIT, 3 * UNIT),
}
ALLOWED = np.array([UNIT // 4, UNIT // 2, UNIT, 3 * UNIT])
USERS = tuple(product((0, UNIT), repeat=4))
FEW = USERS[6:8] + USERS[-2:]
N_OUTPUTS = 2_000
Integers = npt.NDArray[np.int64]
Among = npt.NDArray[np.intp] | None


def law_of(choice: SizeChoice, true_lost: Sequence[int], law: LawOf = chosen_law) -> Law:
    """The law of the choice, by walking all of its coins."""
    lost = np.array(true_lost, dtype=np.int64)
    query = given(choice.sensitivity, lost)
    return drawn_law(lambda chance: choice.draw(query, ALLOWED, chance), law)


def _examined(
    make: Callable[[Fraction], SizeChoice], users: Sequence[tuple[int, ...]]
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = []
        for epsilon in EPSILONS if effort is Effort.FULL else EPSILONS[1:2]:
            exact = Fraction(epsilon)
            choice = make(exact)
            for name, base in BASES.items():
                # Coins are walked on one of the tables: on the others it is scores that matter.
                law = stated_law if name else chosen_law
                right = law_of(choice, base, law)
                for user in users if effort is Effort.FULL or name else users[-4:]:
                    left = law_of(choice, [a + b for a, b in zip(base, user, strict=True)], law)
                    subject = f"epsilon {epsilon}, a user of {[p // UNIT for p in user]}{name}"
                    findings += _held(left, right, exact, subject)
            findings.append(_sampled(choice, epsilon))
        return findings

    return examined


def _held(left: Law, right: Law, epsilon: Fraction, subject: str) -> list[Finding]:
    least = 1e7 * float(max(left.residual, right.residual))
    found = range_epsilon(left, right, least).low
    cost = float(bounded_range_cost(epsilon).rho)
    return [
        Finding(Tier.EXACT, subject, "bounded range", float(epsilon), found),
        Finding(Tier.EXACT, subject, "rho", cost, rho(left, right)),
    ]


def _sampled(choice: SizeChoice, epsilon: float) -> Finding:
    """Outputs alone, for a user who adds to the middle candidates and to no other."""
    with_user = [a + b for a, b in zip(WITHOUT_USER, (0, UNIT, UNIT, 0), strict=True)]
    sides = [
        np.array(
            [
                [choice.draw(given(choice.sensitivity, lost), ALLOWED, Drawn())]
                for _ in range(N_OUTPUTS)
            ],
            np.int64,
        )
        for lost in (np.array(with_user), np.array(WITHOUT_USER))
    ]
    return audit_epsilon(*sides, epsilon=epsilon, delta=0.0, subject=f"epsilon {epsilon}, outputs")


def as_shipped(epsilon: Fraction) -> SizeChoice:
    """The mechanism itself."""
    return SizeChoice(epsilon, 0.3)


class TwoSided(SizeChoice):
    """Also avoids candidates that lose too little, so that scores move both ways."""

    __slots__ = ()

    def draw(
        self, query: Query[Integers], allowed: Integers, chance: Chance, among: Among = None
    ) -> int:
        """The distance to what is allowed in place of the excess."""
        distance = allowed + np.abs(query.ask() - allowed)
        return SizeChoice.draw(self, given(self.sensitivity, distance), allowed, chance, among)


class TwiceTheRate(SizeChoice):
    """Doubles the exponent, as for scores that move half as far."""

    __slots__ = ()

    def draw(
        self, query: Query[Integers], allowed: Integers, chance: Chance, among: Among = None
    ) -> int:
        """Count every loss twice."""
        twice = given(self.sensitivity, 2 * query.ask())
        return SizeChoice.draw(self, twice, 2 * allowed, chance, among)


class AllowedFromData(SizeChoice):
    """Takes what is allowed from the data, so that the shares and not the sums decide."""

    __slots__ = ()

    def draw(
        self, query: Query[Integers], allowed: Integers, chance: Chance, among: Among = None
    ) -> int:
        """Allow the mean of the sums, times eight to make it sharp."""
        scaled = 8 * query.ask()
        mean = np.full_like(scaled, int(scaled.mean()))
        return SizeChoice.draw(self, given(self.sensitivity, scaled), mean, chance, among)


class NothingLost(SizeChoice):
    """Takes the largest candidate where it loses nothing, and draws elsewhere."""

    __slots__ = ()

    def draw(
        self, query: Query[Integers], allowed: Integers, chance: Chance, among: Among = None
    ) -> int:
        """No choice where none seems needed."""
        if not query.ask().any():
            return len(allowed) - 1
        return SizeChoice.draw(self, query, allowed, chance, among)


TRIAL = Trial(
    "size_choice",
    (
        Case("as shipped", _examined(as_shipped, USERS), is_mutant=False),
        Case("a score that avoids both sides", _examined(lambda e: TwoSided(e, 0.3), FEW)),
        Case("twice the rate", _examined(lambda e: TwiceTheRate(e, 0.3), FEW)),
        Case("no choice where nothing is lost", _examined(lambda e: NothingLost(e, 0.3), FEW)),
        Case("the allowance from the data", _examined(lambda e: AllowedFromData(e, 0.3), FEW)),
    ),
)
