"""Trial of ``GaussianThreshold``: noise and a threshold on the groups that are found.

The delta of a threshold is the chance that a group leaves that only one user is in. At 1e-6 no
sample of a size one can draw would see it, so it is read off the exact law of the draw itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from headcount.accounting.compose import cost
from headcount.accounting.convert import rho_at
from headcount.audit.blackbox import audit_epsilon, audit_support
from headcount.audit.divergence import rho
from headcount.audit.greybox import Call, Recording, compare
from headcount.audit.neighbours import Rows as TableRows
from headcount.audit.neighbours import pairs, true_counts
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.chance import Chance, Drawn
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.privacy.bounds import Bounds
from headcount.privacy.exact import exact
from headcount.privacy.query import Query
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given
from headcount.trials.lone_groups import HIGH, chance_to_leave, draw_at_least, law_of_group
from headcount.trials.seam import Integers, Recorder, calls_of, declared_of, settings_of
from headcount.trials.trial import POINTS, Case, Effort, Trial

BOUND = 3
MANY = 1000


@dataclass(frozen=True, slots=True)
class Variant:
    """What is declared, and what is done."""

    declared: GaussianThreshold
    done: GaussianThreshold
    whole_support: bool = False
    """Noise on every group a user had before bounding, also where nothing of them is left."""

    def new_totals(self, n_groups: int) -> list[int]:
        """What one user alone gives to the groups that only they are in."""
        bounds = self.declared.bounds
        kept = min(n_groups, bounds.max_groups)
        left = n_groups - kept if self.whole_support else 0
        return [bounds.weight(kept)] * kept + [0] * left


Make = Callable[[GaussianThreshold], Variant]


def calibrated(epsilon: float, delta: float, bound: int = BOUND) -> GaussianThreshold:
    """Half of delta for the threshold, half for the conversion, as a budget is split."""
    half = exact(delta) / 2
    spend = Zcdp(rho_at(exact(epsilon), half), half)
    return GaussianThreshold.calibrate(Bounds(bound, bound), spend)


def tight(mechanism: GaussianThreshold) -> GaussianThreshold:
    """A little more noise, until the threshold is the least safe integer and no more.

    Thresholds are rounded up, so one below may still be safe; a mutant has to break something.
    """
    for step in range(400):
        sigma_squared = mechanism.sigma_squared * (1 + Fraction(step, 200))
        spend = Zcdp(
            cost(replace(mechanism, sigma_squared=sigma_squared).event).rho, mechanism.delta
        )
        noisier = GaussianThreshold.calibrate(mechanism.bounds, spend)
        lower = replace(noisier, threshold=noisier.threshold - 1)
        if new_group_delta(Variant(noisier, lower), BOUND).violated:
            return noisier
    raise ValueError("no threshold of this kind is tight")


def new_group_delta(variant: Variant, n_groups: int) -> Finding:
    """The exact chance that any group leaves that only one user is in."""
    found = chance_to_leave(variant.done, variant.new_totals(n_groups))
    subject = f"one user alone in {n_groups} groups"
    return Finding(Tier.EXACT, subject, "delta", float(variant.declared.delta), found)


def _rho(variant: Variant, subject: str) -> Finding:
    laws = law_of_group(variant.done, HIGH + 1), law_of_group(variant.done, HIGH)
    claimed = float(cost(variant.declared.event).rho)
    return Finding(Tier.EXACT, subject, "rho", claimed, BOUND * rho(*laws))


def _sampled(variant: Variant, epsilon: float, delta: float, n: int) -> list[Finding]:
    sides = []
    for true_total in (HIGH + 1, HIGH):
        _, noisy = variant.done.draw(
            given(variant.done.sensitivity, np.full(n * BOUND, true_total, dtype=np.int64)), Drawn()
        )
        counts = noisy.reshape(n, BOUND)
        sides.append(np.stack([counts.sum(axis=1), counts[:, 0]], axis=1))
    subject = f"epsilon {epsilon}, one user in {BOUND} heavy groups"
    findings = [audit_epsilon(*sides, epsilon=epsilon, delta=delta, subject=subject)]
    for n_groups in (BOUND, MANY):
        totals = np.array(variant.new_totals(n_groups), dtype=np.int64)
        runs = min(n, 4_000_000 // len(totals))
        kept, _ = variant.done.draw(given(variant.done.sensitivity, np.tile(totals, runs)), Drawn())
        hits = len(np.unique(kept // len(totals)))
        subject = f"epsilon {epsilon}, one user alone in {n_groups} groups"
        findings.append(audit_support(hits, runs, delta=delta, subject=subject))
    return findings


def record(variant: Variant, rows: TableRows) -> Recording:
    """What reaches the noise when a table is bounded, counted and released."""
    bound = variant.declared.bounds.max_groups
    counts = {str(group): count for group, count in true_counts(rows, bound).items()}
    if variant.whole_support:
        counts |= {str(g): counts.get(str(g), 0) for g in true_counts(rows)}
    recorder = Recorder()
    variant.done.draw(
        given(variant.done.sensitivity, np.array(list(counts.values()), dtype=np.int64)), recorder
    )
    threshold = {"threshold": str(variant.done.threshold)}
    calls = calls_of(recorder, dict(enumerate(counts)))
    # Rows are noised one by one, so a table without rows needs no call.
    calls = calls or (Call(settings_of(DiscreteGaussian(variant.done.sigma_squared)), {}),)
    return Recording(
        tuple(Call({**call.settings, **threshold}, call.true_values) for call in calls), {}
    )


def _grey(variant: Variant) -> list[Finding]:
    sensitivity = variant.declared.bounds.sensitivity()
    declared = declared_of(
        variant.declared.event, sensitivity, threshold=str(variant.declared.threshold)
    )
    findings = []
    for pair in pairs(BOUND, variant.declared.threshold):
        recordings = record(variant, pair.with_user), record(variant, pair.base)
        findings += compare(*recordings, [declared], pair.name)
    return findings


def _examined(
    make: Make, n: int, *, at_threshold: bool = False
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = [] if at_threshold else _grey(make(calibrated(1.0, 1e-2)))
        for epsilon, delta in POINTS if effort is Effort.FULL else POINTS[::2]:
            mechanism = calibrated(epsilon, delta)
            variant = make(tight(mechanism) if at_threshold else mechanism)
            if not at_threshold:
                findings.append(_rho(variant, f"epsilon {epsilon}"))
                findings += _sampled(variant, epsilon, delta, n)
            findings += [new_group_delta(variant, k) for k in (1, BOUND, MANY)]
        small = calibrated(1.0, 2e-6)
        variant = make(tight(small) if at_threshold else small)
        return [*findings, *(new_group_delta(variant, k) for k in (1, BOUND, MANY))]

    return examined


def as_shipped(mechanism: GaussianThreshold) -> Variant:
    """The mechanism itself."""
    return Variant(mechanism, mechanism)


def half_noise(mechanism: GaussianThreshold) -> Variant:
    """Half the standard deviation that is declared, and the threshold that would go with it."""
    halved = Zcdp(4 * cost(mechanism.event).rho, mechanism.delta)
    return Variant(mechanism, GaussianThreshold.calibrate(mechanism.bounds, halved))


def noise_for_one_group(mechanism: GaussianThreshold) -> Variant:
    """Noise, threshold and declared distance for users in one group, who are in up to three."""
    single = GaussianThreshold.calibrate(Bounds(1, 1), cost(mechanism.event))
    return Variant(replace(single, bounds=Bounds(BOUND, 1)), single)


def one_too_low(mechanism: GaussianThreshold) -> Variant:
    """The threshold of one less."""
    return Variant(mechanism, replace(mechanism, threshold=mechanism.threshold - 1))


@dataclass(frozen=True, slots=True)
class AtLeast(GaussianThreshold):
    """Releases what reaches the threshold, not only what is above it."""

    def draw(self, query: Query[Integers], chance: Chance) -> tuple[npt.NDArray[np.intp], Integers]:
        """The shipped draw with ``>=`` in place of ``>``."""
        return draw_at_least(self, query, chance)


def at_least(mechanism: GaussianThreshold) -> Variant:
    """``>=`` for ``>``."""
    return Variant(
        mechanism,
        AtLeast(mechanism.bounds, mechanism.sigma_squared, mechanism.threshold, mechanism.delta),
    )


def no_threshold(mechanism: GaussianThreshold) -> Variant:
    """Every group that is found leaves."""
    return Variant(mechanism, replace(mechanism, threshold=-HIGH))


def whole_support(mechanism: GaussianThreshold) -> Variant:
    """Noise on the support before bounding."""
    return Variant(mechanism, mechanism, whole_support=True)


TRIAL = Trial(
    "gaussian_threshold",
    (
        Case("as shipped", _examined(as_shipped, 40_000), is_mutant=False),
        Case("half the noise", _examined(half_noise, 10_000)),
        Case("noise for users in one group", _examined(noise_for_one_group, 10_000)),
        Case("noise on the support before bounding", _examined(whole_support, 2_000)),
        Case("no threshold", _examined(no_threshold, 1_000)),
        Case("threshold one too low", _examined(one_too_low, 0, at_threshold=True)),
        Case(">= for >", _examined(at_least, 0, at_threshold=True)),
    ),
)
