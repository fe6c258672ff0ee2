"""Trial of ``Radius``: the law of a median when one user comes, goes, or is replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from headcount.accounting.compose import bounded_range_cost
from headcount.audit.blackbox import audit_epsilon
from headcount.audit.divergence import range_epsilon, rho
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.radius import Radius
from headcount.privacy.neighbours import Neighbours
from headcount.trials.given import given
from headcount.trials.selection import drawn_law, stated_law
from headcount.trials.trial import EPSILONS, Case, Effort, Trial

CELLS = (3, 1, 4, 2, 2)
N_OUTPUTS = 1_000
Pair = tuple[Sequence[int], Sequence[int], str]


def with_user(cell: int, more: int = 1, cells: Sequence[int] = CELLS) -> tuple[int, ...]:
    """The cells with one user more, or fewer."""
    return tuple(n + more * (i == cell) for i, n in enumerate(cells))


BASES = ((0,) * len(CELLS), (2,) * len(CELLS), CELLS)
ADDED: tuple[Pair, ...] = tuple(
    (with_user(cell, cells=base), base, f"a user added to cell {cell} of {base}")
    for base in BASES
    for cell in range(len(base))
)
REPLACED: tuple[Pair, ...] = tuple(
    (
        with_user(a, cells=base),
        with_user(b, cells=base),
        f"a user of cell {b} of {base} replaced by one of {a}",
    )
    for base in BASES
    for a in range(len(base))
    for b in range(a)
)


def law_of(choice: Radius, true_users: Sequence[int]) -> Law:
    """The law of the choice."""
    cells = given(choice.sensitivity, np.array(true_users, dtype=np.int64))
    return drawn_law(lambda chance: choice.draw(cells, chance), stated_law)


def _held(choice: Radius, pair: Pair, epsilon: float) -> list[Finding]:
    left, right = (law_of(choice, cells) for cells in pair[:2])
    least = 1e7 * float(max(left.residual, right.residual))
    subject = f"epsilon {epsilon}, {pair[2]}"
    cost = float(bounded_range_cost(Fraction(epsilon)).rho)
    return [
        Finding(
            Tier.EXACT, subject, "bounded range", epsilon, range_epsilon(left, right, least).low
        ),
        Finding(Tier.EXACT, subject, "rho", cost, rho(left, right)),
    ]


def _examined(
    make: Callable[[Fraction, Neighbours], Radius], relations: Sequence[Neighbours]
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = []
        for epsilon in EPSILONS if effort is Effort.FULL else EPSILONS[1:2]:
            for relation in relations:
                choice = make(Fraction(epsilon), relation)
                pairs = ADDED if relation is Neighbours.ADD_REMOVE else REPLACED
                for pair in pairs:
                    findings += _held(choice, pair, epsilon)
                findings.append(_sampled(choice, pairs[-1], epsilon))
        return findings

    return examined


def _sampled(choice: Radius, pair: Pair, epsilon: float) -> Finding:
    sides = [
        np.array(
            [
                [choice.draw(given(choice.sensitivity, np.array(cells)), Drawn())]
                for _ in range(N_OUTPUTS)
            ],
            np.int64,
        )
        for cells in pair[:2]
    ]
    subject = f"epsilon {epsilon}, outputs, {choice.neighbours}"
    return audit_epsilon(*sides, epsilon=epsilon, delta=0.0, subject=subject)


class AnyMoveByOne(Radius):
    """Takes scores to move one way only, and puts all of epsilon on them."""

    __slots__ = ()

    @property
    def score_range(self) -> int:
        """Half of the range under add/remove."""
        return 1


class AddRemoveRate(Radius):
    """Keeps the rate of add/remove when users are replaced."""

    __slots__ = ()

    @property
    def score_range(self) -> int:
        """The range under add/remove."""
        return 2


ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
TRIAL = Trial(
    "radius",
    (
        Case("as shipped", _examined(Radius, (ADD, REPLACE)), is_mutant=False),
        Case("the half forgotten", _examined(AnyMoveByOne, (ADD,))),
        Case("the rate of add/remove under replacement", _examined(AddRemoveRate, (REPLACE,))),
    ),
)
