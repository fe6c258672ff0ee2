"""Trial of ``LaplaceThreshold``: all ways one user can split rows among groups of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from headcount.accounting.compose import cost
from headcount.audit.blackbox import audit_epsilon, audit_support
from headcount.audit.divergence import pure_epsilon, rho
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.chance import Chance, Drawn
from headcount.mechanisms.laplace_threshold import LaplaceThreshold, threshold_for
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query
from headcount.trials.given import given
from headcount.trials.lone_groups import HIGH, chance_to_leave, draw_at_least, law_of_group
from headcount.trials.trial import POINTS, Case, Effort, Trial

Integers = npt.NDArray[np.int64]
BOUND = 4
MANY = 1000


def partitions(total: int, largest: int | None = None) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as a sum of positive ones, largest first."""
    if total == 0:
        yield ()
    for first in range(min(total, largest or total), 0, -1):
        for rest in partitions(total - first, first):
            yield (first, *rest)


@dataclass(frozen=True, slots=True)
class Variant:
    """What is declared, and what is done."""

    declared: LaplaceThreshold
    done: LaplaceThreshold
    n_left_over: int = 0
    """Groups of which no row was kept, and that get noise all the same."""


Make = Callable[[LaplaceThreshold], Variant]


def calibrated(
    epsilon: float, delta: float, neighbours: Neighbours = Neighbours.ADD_REMOVE
) -> LaplaceThreshold:
    """All of epsilon on the noise, all of delta on the threshold."""
    scale = BOUND * (2 if neighbours is Neighbours.REPLACE else 1) / Fraction(epsilon)
    return _with_scale(scale, Fraction(str(delta)), neighbours)


def _with_scale(scale: Fraction, delta: Fraction, neighbours: Neighbours) -> LaplaceThreshold:
    return LaplaceThreshold(BOUND, scale, threshold_for(BOUND, scale, delta), delta, neighbours)


def new_group_delta(variant: Variant, split: Sequence[int]) -> Finding:
    """The exact chance that any group leaves that only one user is in."""
    found = chance_to_leave(variant.done, [*split, *[0] * variant.n_left_over])
    subject = f"one user alone, {'+'.join(map(str, split))} rows"
    return Finding(Tier.EXACT, subject, "delta", float(variant.declared.delta), found)


def _distance(variant: Variant, subject: str) -> list[Finding]:
    """A user who brings all their rows to one heavy group, or takes another's place."""
    laws = law_of_group(variant.done, HIGH + BOUND), law_of_group(variant.done, HIGH)
    least = 1e7 * float(max(law.residual for law in laws))
    users = 2 if variant.declared.neighbours is Neighbours.REPLACE else 1
    claimed = float(variant.declared.event.l1 / variant.declared.event.scale)
    found = users * pure_epsilon(*laws, least).low
    spend = float(cost(variant.declared.event).rho)
    return [
        Finding(Tier.EXACT, subject, "epsilon", claimed, found),
        Finding(Tier.EXACT, subject, "rho", spend, users * rho(*laws)),
    ]


def _sampled(variant: Variant, epsilon: float, delta: float, n: int) -> list[Finding]:
    """Outputs alone: one heavy group with and without the user, and the user's own groups."""
    sides = []
    for true_total in (HIGH + BOUND, HIGH):
        _, noisy_totals = variant.done.draw(
            given(variant.done.sensitivity, np.full(n, true_total, dtype=np.int64)), Drawn()
        )
        sides.append(noisy_totals[:, None])
    subject = f"epsilon {epsilon}, all rows in one heavy group"
    if variant.declared.neighbours is Neighbours.REPLACE:
        epsilon /= 2
    findings = [audit_epsilon(*sides, epsilon=epsilon, delta=delta, subject=subject)]
    totals = np.array([1] * BOUND + [0] * variant.n_left_over, dtype=np.int64)
    runs = min(n, 2_000_000 // len(totals))
    kept, _ = variant.done.draw(given(variant.done.sensitivity, np.tile(totals, runs)), Drawn())
    hits = len(np.unique(kept // len(totals)))
    subject = f"epsilon {epsilon}, one row in each of {BOUND} groups"
    return [*findings, audit_support(hits, runs, delta=delta, subject=subject)]


def _examined(
    make: Make, n: int, neighbours: Sequence[Neighbours] = tuple(Neighbours)
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = []
        for relation in neighbours:
            for epsilon, delta in POINTS if effort is Effort.FULL else POINTS[::2]:
                variant = make(calibrated(epsilon, delta, relation))
                findings += _distance(variant, f"epsilon {epsilon}, {relation.value}")
                findings += [new_group_delta(variant, split) for split in partitions(BOUND)]
                if n:
                    findings += _sampled(variant, epsilon, delta, n)
        small = make(calibrated(1.0, 1e-6))
        return [*findings, *(new_group_delta(small, split) for split in partitions(BOUND))]

    return examined


def as_shipped(mechanism: LaplaceThreshold) -> Variant:
    """The mechanism itself."""
    return Variant(mechanism, mechanism)


def half_noise(mechanism: LaplaceThreshold) -> Variant:
    """Half the scale that is declared, and the threshold that would go with it."""
    half = _with_scale(mechanism.scale / 2, mechanism.delta, mechanism.neighbours)
    return Variant(mechanism, half)


def support_before_sampling(mechanism: LaplaceThreshold) -> Variant:
    """Noise on every group that a user had before rows were sampled, as printed."""
    return Variant(mechanism, mechanism, n_left_over=MANY * BOUND)


def one_too_low(mechanism: LaplaceThreshold) -> Variant:
    """The threshold of one less."""
    return Variant(mechanism, replace(mechanism, threshold=mechanism.threshold - 1))


def replaced_as_removed(mechanism: LaplaceThreshold) -> Variant:
    """The noise of add/remove, claimed for replacement, as printed."""
    scale = mechanism.scale / 2
    return Variant(mechanism, replace(mechanism, scale=scale))


@dataclass(frozen=True, slots=True)
class AtLeast(LaplaceThreshold):
    """Releases what reaches the threshold, not only what is above it."""

    def draw(self, query: Query[Integers], chance: Chance) -> tuple[npt.NDArray[np.intp], Integers]:
        """The shipped draw with ``>=`` in place of ``>``."""
        return draw_at_least(self, query, chance)


def at_least(mechanism: LaplaceThreshold) -> Variant:
    """``>=`` for ``>``."""
    m = mechanism
    return Variant(m, AtLeast(m.max_rows, m.scale, m.threshold, m.delta, m.neighbours))


ONE = (Neighbours.ADD_REMOVE,)
TRIAL = Trial(
    "laplace_threshold",
    (
        Case("as shipped", _examined(as_shipped, 20_000), is_mutant=False),
        Case("half the noise", _examined(half_noise, 10_000, ONE)),
        Case("noise on the support before sampling", _examined(support_before_sampling, 500, ONE)),
        Case("threshold one too low", _examined(one_too_low, 0, ONE)),
        Case(">= for >", _examined(at_least, 0, ONE)),
        Case(
            "replacement with the noise of add/remove",
            _examined(replaced_as_removed, 10_000, (Neighbours.REPLACE,)),
        ),
    ),
)
