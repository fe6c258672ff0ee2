"""Trial of ``LaplaceHistogram``: noise on every bucket, and no names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from headcount.audit.blackbox import audit_epsilon
from headcount.audit.divergence import pure_epsilon
from headcount.audit.exact import read_words
from headcount.audit.greybox import Call, Recording
from headcount.audit.law import Law
from headcount.audit.neighbours import Rows
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.chance import Chance, Drawn
from headcount.mechanisms.laplace_histogram import LaplaceHistogram
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.noise.entropy import Entropy
from headcount.postprocess.runs import runs_of
from headcount.privacy.bounds import Bounds
from headcount.privacy.exact import exact
from headcount.trials.given import given
from headcount.trials.seam import Integers, Recorder, calls_of, declared_of
from headcount.trials.sorted_counts import BOUND, N_OUTPUTS, TRUE_COUNT, compared, runs_from
from headcount.trials.trial import EPSILONS, Case, Effort, Trial

Runs = tuple[Integers, Integers]
N_BUCKETS = 60


@dataclass(frozen=True, slots=True)
class Variant:
    """What is declared, and what is done: the same mechanism unless it is a mutant."""

    declared: LaplaceHistogram
    done: LaplaceHistogram
    used_only: bool = False

    def draw(self, true_runs: Runs, chance: Chance) -> Runs:
        """Noisy counts and how many buckets have each."""
        used = int(true_runs[1].sum())
        return self.done.draw(
            given(self.done.sensitivity, true_runs),
            max(1, used) if self.used_only else N_BUCKETS,
            chance,
        )


Make = Callable[[LaplaceHistogram], Variant]


def as_shipped(mechanism: LaplaceHistogram) -> Variant:
    """The mechanism itself."""
    return Variant(mechanism, mechanism)


def half_noise(mechanism: LaplaceHistogram) -> Variant:
    """Half the scale that is declared."""
    return Variant(mechanism, LaplaceHistogram(mechanism.sensitivity, mechanism.scale / 2))


def bound_forgotten(mechanism: LaplaceHistogram) -> Variant:
    """Noise, and a declared sensitivity, for users in one group, who are in up to three."""
    single = LaplaceHistogram(Bounds(1, 1).sensitivity(), mechanism.scale / BOUND)
    return Variant(single, single)


def used_buckets_only(mechanism: LaplaceHistogram) -> Variant:
    """No noise where nobody is: how many noisy counts there are is how many groups there are."""
    return Variant(mechanism, mechanism, used_only=True)


def calibrated(epsilon: float) -> LaplaceHistogram:
    """The mechanism of pure ``epsilon`` for users in up to three groups."""
    sensitivity = Bounds(BOUND, BOUND).sensitivity()
    return LaplaceHistogram(sensitivity, sensitivity.l1 / exact(epsilon))


def law_of_bucket(mechanism: LaplaceHistogram, true_count: int) -> Law:
    """The law of the one noisy count of a histogram with one bucket, from 64-bit words."""
    (table,) = DiscreteLaplace(mechanism.scale).tables()
    one = given(mechanism.sensitivity, (np.array([true_count]), np.array([1])))

    def draw(script: Entropy, n: int) -> list[int]:
        return [int(mechanism.draw(one, 1, Drawn(script))[0][0]) for _ in range(n)]

    return read_words(draw, table.bounds)


def _exact(variant: Variant, epsilon: float) -> Finding:
    more, less = (law_of_bucket(variant.done, TRUE_COUNT + added) for added in (1, 0))
    least = max(1e7 * float(more.residual), 1e-12)
    # A user in three groups moves three buckets by one each; their ratios multiply.
    found = BOUND * pure_epsilon(more, less, least).low
    event = variant.declared.event
    subject = f"epsilon {epsilon}, one user in {BOUND} groups"
    return Finding(Tier.EXACT, subject, "epsilon", float(event.l1 / event.scale), found)


def _recording(variant: Variant, rows: Rows) -> Recording:
    recorder = Recorder()
    _, noisy_groups = variant.draw(runs_from(rows), recorder)
    # Buckets have no names here: they are matched by rank, which is what the noise cannot tell.
    calls = tuple(
        Call(call.settings, dict(enumerate(sorted(call.true_values.values(), reverse=True))))
        for call in calls_of(recorder, {})
    )
    return Recording(calls, {"number of noisy counts": str(int(noisy_groups.sum()))})


def _sampled(variant: Variant, epsilon: float) -> Finding:
    """Outputs alone: the sum of large noisy counts, the largest one, and how many there are."""
    sides = []
    # A user in one group of their own, and in others that there were before.
    for counts in ([*[TRUE_COUNT + 1] * (BOUND - 1), 1], [TRUE_COUNT] * (BOUND - 1)):
        true_runs = runs_of(np.array(counts, dtype=np.int64))
        rows = []
        for _ in range(N_OUTPUTS):
            noisy_counts, noisy_groups = variant.draw(true_runs, Drawn())
            large = noisy_counts > TRUE_COUNT // 2
            total = int(noisy_counts[large] @ noisy_groups[large])
            rows.append([total, int(noisy_counts[-1]), int(noisy_groups.sum())])
        sides.append(np.array(rows, dtype=np.int64))
    subject = f"epsilon {epsilon}, outputs"
    return audit_epsilon(sides[0], sides[1], epsilon=epsilon, delta=0.0, subject=subject)


def _examined(make: Make) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        variant = make(calibrated(1.0))
        declared = declared_of(variant.declared.event, variant.declared.sensitivity)
        findings = compared(declared, partial(_recording, variant))
        for epsilon in EPSILONS if effort is Effort.FULL else EPSILONS[1:2]:
            variant = make(calibrated(epsilon))
            findings.append(_exact(variant, epsilon))
            findings.append(_sampled(variant, epsilon))
        return findings

    return examined


TRIAL = Trial(
    "laplace_histogram",
    (
        Case("as shipped", _examined(as_shipped), is_mutant=False),
        Case("half the noise", _examined(half_noise)),
        Case("noise for users in one group", _examined(bound_forgotten)),
        Case("noise on used buckets only", _examined(used_buckets_only)),
    ),
)
