"""Trial of ``ExponentialQuantile``: the law of the choice, for a user in each cell in turn."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from headcount.accounting.compose import bounded_range_cost
from headcount.audit.blackbox import audit_epsilon
from headcount.audit.divergence import range_epsilon, rho
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.chance import Chance, Drawn
from headcount.mechanisms.exponential_quantile import ExponentialQuantile
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query
from headcount.trials.given import given
from headcount.trials.seam import Integers
from headcount.trials.selection import chosen_law, drawn_law
from headcount.trials.trial import EPSILONS, Case, Effort, Trial

BASES = ((0, 0, 0), (2, 1, 0), (0, 3, 0))
QUANTILES = (Fraction(1, 10), Fraction(1, 2), Fraction(3, 4))
N_OUTPUTS = 1_000


def _tables(effort: Effort, relation: Neighbours) -> list[tuple[Integers, Integers, str]]:
    """Neighbouring tables: somebody in a cell, and nobody, or somebody in another cell."""
    found = []
    for base in BASES if effort is Effort.FULL else BASES[1:]:
        with_user = np.array(base) + np.eye(len(base), dtype=np.int64)
        found += [(one, np.array(base), f"{base}, {cell}") for cell, one in enumerate(with_user)]
        if relation is Neighbours.REPLACE:
            cells = itertools.permutations(range(len(base)), 2)
            found += [(with_user[a], with_user[b], f"{base}, {a} for {b}") for a, b in cells]
    return found


Make = Callable[[Fraction, Fraction], ExponentialQuantile]


def _examined(*makes: Make) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = []
        for epsilon in EPSILONS if effort is Effort.FULL else EPSILONS[1:2]:
            some = QUANTILES if effort is Effort.FULL else QUANTILES[:2]
            for at, make in itertools.product(some, makes):
                mechanism = make(at, Fraction(epsilon))
                for left, right, name in _tables(effort, mechanism.neighbours):
                    findings += _exact(mechanism, left, right, f"at {at}, {name}")
                findings.append(_sampled(mechanism, f"epsilon {epsilon}, at {at}, outputs"))
        return findings

    return examined


def _law(mechanism: ExponentialQuantile, true_cells: Integers) -> Law:
    cells = given(mechanism.sensitivity, true_cells)
    return drawn_law(lambda chance: mechanism.draw(cells, chance), _known_law)


_known_law = lru_cache(maxsize=256)(chosen_law)


def _exact(
    mechanism: ExponentialQuantile, cells: Integers, other_cells: Integers, subject: str
) -> list[Finding]:
    left, right = (_law(mechanism, true_cells) for true_cells in (cells, other_cells))
    least = 1e7 * float(max(left.residual, right.residual))
    cost = float(bounded_range_cost(mechanism.epsilon).rho)
    found = range_epsilon(left, right, least).low
    return [
        Finding(Tier.EXACT, subject, "bounded range", float(mechanism.epsilon), found),
        Finding(Tier.EXACT, subject, "rho", cost, rho(left, right)),
    ]


def _sampled(mechanism: ExponentialQuantile, subject: str) -> Finding:
    """Outputs alone, for a user in the last cell, beyond everyone else."""
    sides = [
        np.array(
            [
                [mechanism.draw(given(mechanism.sensitivity, np.array(cells)), Drawn())]
                for _ in range(N_OUTPUTS)
            ],
            np.int64,
        )
        for cells in ((2, 1, 1), (2, 1, 0))
    ]
    return audit_epsilon(*sides, epsilon=float(mechanism.epsilon), delta=0.0, subject=subject)


class HalfForgotten(ExponentialQuantile):
    """Pays for scores that all move the same way."""

    __slots__ = ()

    def scores(self, true_cells: Integers) -> Integers:
        """Twice the distance, at the same rate."""
        return 2 * ExponentialQuantile.scores(self, true_cells)


class SmallerSide(ExponentialQuantile):
    """Takes the smaller of the two ways in which a user moves the target for the larger."""

    __slots__ = ()

    @property
    def max_move(self) -> int:
        """The smaller part."""
        return min(self.at.numerator, self.at.denominator - self.at.numerator)


class ReplacedAsRemoved(ExponentialQuantile):
    """Takes a user who is replaced for one who is removed."""

    __slots__ = ()

    @property
    def max_move(self) -> int:
        """That of a user who comes or goes."""
        return max(self.at.numerator, self.at.denominator - self.at.numerator)


class GridFromData(ExponentialQuantile):
    """Candidates end at the last cell that someone is in."""

    __slots__ = ()

    def draw(self, query: Query[Integers], chance: Chance) -> int:
        """Cut the grid."""
        true_cells = query.ask()
        last = int(np.flatnonzero(true_cells).max(initial=0))
        cut = given(self.sensitivity, true_cells[: last + 1])
        return ExponentialQuantile.draw(self, cut, chance)


def _replacing(kind: type[ExponentialQuantile]) -> Make:
    return lambda at, epsilon: kind(at, epsilon, Neighbours.REPLACE)


TRIAL = Trial(
    "exponential_quantile",
    (
        Case(
            "as shipped",
            _examined(ExponentialQuantile, _replacing(ExponentialQuantile)),
            is_mutant=False,
        ),
        Case("replaced as if removed", _examined(_replacing(ReplacedAsRemoved))),
        Case("the half forgotten", _examined(HalfForgotten)),
        Case("the smaller of two moves", _examined(SmallerSide)),
        Case("a grid that ends where the data ends", _examined(GridFromData)),
    ),
)
