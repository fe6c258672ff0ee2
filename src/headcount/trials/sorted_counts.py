"""Trial of ``SortedCounts``: noise on counts by rank, over a public number of positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from headcount.accounting.compose import cost
from headcount.accounting.convert import rho_at
from headcount.audit.blackbox import audit_epsilon
from headcount.audit.divergence import rho
from headcount.audit.exact import read_words
from headcount.audit.greybox import Declared, Recording, compare
from headcount.audit.law import Law
from headcount.audit.neighbours import Rows, pairs, true_counts
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.chance import Chance, Drawn
from headcount.mechanisms.sorted_counts import SortedCounts
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.noise.entropy import Entropy
from headcount.postprocess.runs import runs_of
from headcount.privacy.bounds import Bounds
from headcount.privacy.exact import exact
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given
from headcount.trials.seam import Integers, Recorder, calls_of, declared_of
from headcount.trials.trial import POINTS, Case, Effort, Trial

BOUND = 3
N_POSITIONS = 60
TRUE_COUNT = 40
N_OUTPUTS = 2_000


def runs_from(rows: Rows) -> tuple[Integers, Integers]:
    """How many groups have each count, with every user in at most ``BOUND`` of them."""
    return runs_of(np.array(list(true_counts(rows, BOUND).values()), dtype=np.int64))


def compared(declared: Declared, recording: Callable[[Rows], Recording]) -> list[Finding]:
    """What reaches the noise, on all pairs of tables, beside what is declared."""
    findings = []
    for pair in pairs(BOUND):
        with_user, without_user = recording(pair.with_user), recording(pair.base)
        findings += compare(with_user, without_user, [declared], pair.name)
    return findings


@dataclass(frozen=True, slots=True)
class Variant:
    """What is declared, and what is done: the same mechanism unless it is a mutant."""

    declared: SortedCounts
    done: SortedCounts
    positions_from_data: bool = False

    def draw(self, true_runs: tuple[Integers, Integers], chance: Chance) -> Integers:
        """All noisy counts, largest first."""
        n = int(true_runs[1].sum()) if self.positions_from_data else N_POSITIONS
        parts = self.done.draw(given(self.done.sensitivity, true_runs), max(1, n), chance)
        return np.concatenate(list(parts))


Make = Callable[[SortedCounts], Variant]


def as_shipped(mechanism: SortedCounts) -> Variant:
    """The mechanism itself."""
    return Variant(mechanism, mechanism)


def half_noise(mechanism: SortedCounts) -> Variant:
    """Half the standard deviation that is declared."""
    return Variant(mechanism, SortedCounts(mechanism.sensitivity, mechanism.sigma_squared / 4))


def bound_forgotten(mechanism: SortedCounts) -> Variant:
    """Noise, and a declared sensitivity, for users in one group, who are in up to three."""
    single = SortedCounts(Bounds(1, 1).sensitivity(), mechanism.sigma_squared / BOUND)
    return Variant(single, single)


def positions_unpaid(mechanism: SortedCounts) -> Variant:
    """As many positions as there are groups: their number comes out bare."""
    return Variant(mechanism, mechanism, positions_from_data=True)


def calibrated(epsilon: float, delta: float) -> SortedCounts:
    """The mechanism for users in up to three groups."""
    spend = Zcdp(rho_at(exact(epsilon), exact(delta)))
    return SortedCounts.calibrate(Bounds(BOUND, BOUND).sensitivity(), spend)


def law_of_position(mechanism: SortedCounts, true_count: int) -> Law:
    """The law of one noisy position, from 64-bit words."""
    edges = DiscreteGaussian(mechanism.sigma_squared).table().bounds
    alike = np.array([true_count])

    def draw(script: Entropy, n: int) -> Integers:
        runs = given(mechanism.sensitivity, (alike, np.array([n])))
        parts = mechanism.draw(runs, n, Drawn(script))
        return np.concatenate(list(parts))

    return read_words(draw, edges)


def _exact(variant: Variant, subject: str) -> Finding:
    more, less = (law_of_position(variant.done, TRUE_COUNT + added) for added in (1, 0))
    claimed = float(cost(variant.declared.event).rho)
    subject = f"{subject}, one user in {BOUND} groups"
    # A user in three groups of equal size moves three positions by one each.
    return Finding(Tier.EXACT, subject, "rho", claimed, BOUND * rho(more, less))


def _recording(variant: Variant, rows: Rows) -> Recording:
    recorder = Recorder()
    drawn = variant.draw(runs_from(rows), recorder)
    calls = calls_of(recorder, {})
    return Recording(calls, {"number of positions": str(len(drawn))})


def _sampled(variant: Variant, epsilon: float, delta: float) -> Finding:
    """Outputs alone: the largest counts, how many positions there are, and how many are large."""
    sides = []
    for counts in ([TRUE_COUNT + 1] * BOUND, [TRUE_COUNT] * BOUND):
        true_runs = runs_of(np.array(counts, dtype=np.int64))
        rows = []
        for _ in range(N_OUTPUTS):
            noisy = variant.draw(true_runs, Drawn())
            rows.append([int(noisy[:BOUND].sum()), int(noisy[0]), len(noisy)])
        sides.append(np.array(rows, dtype=np.int64))
    subject = f"epsilon {epsilon}, outputs"
    return audit_epsilon(sides[0], sides[1], epsilon=epsilon, delta=delta, subject=subject)


def _examined(make: Make) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        variant = make(calibrated(1.0, 1e-2))
        declared = declared_of(variant.declared.event, variant.declared.sensitivity)
        findings = compared(declared, partial(_recording, variant))
        for epsilon, delta in POINTS[::2] if effort is Effort.FULL else POINTS[2:3]:
            variant = make(calibrated(epsilon, delta))
            findings.append(_exact(variant, f"epsilon {epsilon}"))
            findings.append(_sampled(variant, epsilon, delta))
        return findings

    return examined


TRIAL = Trial(
    "sorted_counts",
    (
        Case("as shipped", _examined(as_shipped), is_mutant=False),
        Case("half the noise", _examined(half_noise)),
        Case("noise for users in one group", _examined(bound_forgotten)),
        Case("as many positions as groups", _examined(positions_unpaid)),
    ),
)
