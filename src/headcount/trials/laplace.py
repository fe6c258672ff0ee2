"""Trial of ``Laplace``: noise on the counts of known groups, for both neighbour relations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from headcount.accounting.compose import cost
from headcount.audit.blackbox import audit_epsilon
from headcount.audit.divergence import pure_epsilon, rho
from headcount.audit.exact import read_words
from headcount.audit.greybox import Recording, compare
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.laplace import Laplace
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.privacy.length import Norm, unit_sensitivity
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity
from headcount.trials.given import given
from headcount.trials.seam import Recorder, calls_of, declared_of
from headcount.trials.trial import EPSILONS, Case, Effort, Trial

BOUND = 3
TRUE_COUNTS = np.array([40, 25, 0, 7], np.int64)
MOVES: dict[Neighbours, tuple[tuple[int, ...], ...]] = {
    Neighbours.ADD_REMOVE: ((3, 0, 0, 0), (1, 1, 1, 0), (0, 2, 1, 0)),
    Neighbours.REPLACE: ((3, -3, 0, 0), (2, 1, -1, -2), (3, 0, 0, 0)),
}
"""How one user, who gives at most three events in all, moves the counts."""


@dataclass(frozen=True, slots=True)
class Variant:
    """What is declared, and what is done: the same mechanism unless it is a mutant."""

    declared: Laplace
    done: Laplace
    charged: Callable[[Laplace], float] = lambda mechanism: float(cost(mechanism.event).rho)


Make = Callable[[Laplace], Variant]


def as_shipped(mechanism: Laplace) -> Variant:
    """The mechanism itself."""
    return Variant(mechanism, mechanism)


def half_noise(mechanism: Laplace) -> Variant:
    """Half the scale that is declared."""
    return Variant(mechanism, Laplace(mechanism.sensitivity, mechanism.scale / 2))


def noise_for_add_remove(mechanism: Laplace) -> Variant:
    """The printed Algorithm 1: noise for a user who comes or goes, whatever the relation."""
    one_way = _sensitivity(Neighbours.ADD_REMOVE)
    scale = mechanism.scale * one_way.l1 / mechanism.sensitivity.l1
    told = Laplace(_renamed(one_way, mechanism.sensitivity.neighbours), scale)
    return Variant(told, told)


def noise_for_one_event(mechanism: Laplace) -> Variant:
    """Noise for a user with one event, where users have up to three."""
    return Variant(mechanism, Laplace(mechanism.sensitivity, mechanism.scale / BOUND))


def charged_as_continuous(mechanism: Laplace) -> Variant:
    """The exact cost of continuous noise, which is less than that of ours."""

    def charged(one: Laplace) -> float:
        epsilon = float(one.sensitivity.l1 / one.scale)
        return epsilon + math.expm1(-epsilon)

    return Variant(mechanism, mechanism, charged)


def _renamed(sensitivity: Sensitivity, neighbours: Neighbours) -> Sensitivity:
    return Sensitivity(
        sensitivity.l0, sensitivity.l1, sensitivity.l2_squared, sensitivity.linf, neighbours
    )


def _sensitivity(neighbours: Neighbours) -> Sensitivity:
    return unit_sensitivity(Norm.L1, len(TRUE_COUNTS), neighbours).times(BOUND)


def calibrated(epsilon: float, neighbours: Neighbours) -> Laplace:
    """The mechanism for a pure epsilon."""
    sensitivity = _sensitivity(neighbours)
    return Laplace(sensitivity, sensitivity.l1 / Fraction(epsilon))


def law_of_count(mechanism: Laplace, true_count: int) -> Law:
    """The law of one noisy count, from 64-bit words."""
    edges = DiscreteLaplace(mechanism.scale).tables()[0].bounds
    return read_words(
        lambda script, n: mechanism.draw(
            given(mechanism.sensitivity, np.full(n, true_count, dtype=np.int64)), Drawn(script)
        ),
        edges,
    )


def _exact(variant: Variant, moves: Sequence[int], claimed: float, subject: str) -> list[Finding]:
    still = law_of_count(variant.done, 20)
    moved = [law_of_count(variant.done, 20 + move) for move in moves if move]
    # Counts are noised independently: pure losses of the worst outputs and divergences add up.
    found = sum(pure_epsilon(law, still, 1e-12).low for law in moved)
    spent = sum(rho(law, still) for law in moved)
    return [
        Finding(Tier.EXACT, subject, "epsilon", claimed, found),
        Finding(Tier.EXACT, subject, "rho", variant.charged(variant.declared), spent),
    ]


def _grey(variant: Variant, moves: Sequence[int], subject: str) -> list[Finding]:
    recordings = []
    for true_counts in (TRUE_COUNTS + np.array(moves), TRUE_COUNTS):
        recorder = Recorder()
        variant.done.draw(given(variant.done.sensitivity, true_counts), recorder)
        recordings.append(Recording(calls_of(recorder, {}), {}))
    sensitivity = variant.declared.sensitivity
    declared = declared_of(variant.declared.event, sensitivity)
    return compare(recordings[0], recordings[1], [declared], subject)


def _sampled(
    variant: Variant, moves: Sequence[int], epsilon: float, n: int, subject: str
) -> Finding:
    sides = []
    for true_row in (TRUE_COUNTS + np.array(moves), TRUE_COUNTS):
        noisy = variant.done.draw(
            given(variant.done.sensitivity, np.tile(true_row, n)), Drawn()
        ).reshape(n, -1)
        signed = np.clip(noisy - TRUE_COUNTS, -BOUND, BOUND) @ np.sign(moves)
        sides.append(np.stack([signed, noisy[:, 0]], axis=1).astype(np.int64))
    return audit_epsilon(*sides, epsilon=epsilon, delta=0.0, subject=subject)


def _examined(
    make: Make, relations: Sequence[Neighbours], n: int
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = []
        for epsilon in EPSILONS if effort is Effort.FULL else EPSILONS[1:]:
            for neighbours in relations:
                variant = make(calibrated(epsilon, neighbours))
                for moves in MOVES[neighbours]:
                    subject = f"epsilon {epsilon}, {neighbours}, {moves}"
                    findings += _exact(variant, moves, epsilon, subject)
                    findings += _grey(variant, moves, subject)
                first = MOVES[neighbours][0]
                subject = f"epsilon {epsilon}, {neighbours}, outputs"
                findings.append(_sampled(variant, first, epsilon, n, subject))
        return findings

    return examined


BOTH = (Neighbours.ADD_REMOVE, Neighbours.REPLACE)

TRIAL = Trial(
    "laplace",
    (
        Case("as shipped", _examined(as_shipped, BOTH, 40_000), is_mutant=False),
        Case("half the noise", _examined(half_noise, BOTH, 20_000)),
        Case(
            "noise for add-remove where users are replaced",
            _examined(noise_for_add_remove, BOTH[1:], 20_000),
        ),
        Case("charged as continuous", _examined(charged_as_continuous, BOTH[:1], 1_000)),
        Case("noise for one event", _examined(noise_for_one_event, BOTH[:1], 20_000)),
    ),
)
