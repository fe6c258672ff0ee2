"""Trial of ``Gaussian``: noise on the counts of known groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from headcount.accounting.compose import cost
from headcount.accounting.convert import rho_at
from headcount.audit.blackbox import audit_epsilon
from headcount.audit.divergence import rho
from headcount.audit.exact import Script, read_words
from headcount.audit.greybox import Recording, compare
from headcount.audit.law import Law
from headcount.audit.neighbours import N_HEAVY, Group, Pair, pairs, true_counts
from headcount.audit.neighbours import Rows as TableRows
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.gaussian import Gaussian
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.privacy.bounds import Bounds
from headcount.privacy.exact import exact
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given
from headcount.trials.seam import Integers, Recorder, calls_of, declared_of
from headcount.trials.trial import POINTS, Case, Effort, Trial

BOUND = 5
TRUE_COUNT = 40


@dataclass(frozen=True, slots=True)
class Variant:
    """What is declared, and what is done: the same mechanism unless it is a mutant."""

    declared: Gaussian
    done: Gaussian
    one_draw_for_all: bool = False
    seed: int | None = None

    def draw(self, true_counts: Integers) -> Integers:
        """Noisy counts of many independent runs, one row each."""
        n, n_groups = true_counts.shape
        if self.one_draw_for_all:
            one = self.done.draw(given(self.done.sensitivity, np.zeros(n, dtype=np.int64)), Drawn())
            return true_counts + one[:, None]
        if self.seed is not None:
            # A draw takes several words, and some more where a proposal is refused.
            many = np.arange(1, 1000 * n_groups + 1, dtype=np.uint64)
            first = self.seed * many << np.uint64(8)
            seeded = Drawn(Script(first))
            return true_counts + self.done.draw(
                given(self.done.sensitivity, np.zeros(n_groups, dtype=np.int64)), seeded
            )
        return self.done.draw(given(self.done.sensitivity, true_counts.ravel()), Drawn()).reshape(
            n, n_groups
        )


Make = Callable[[Gaussian], Variant]


def as_shipped(mechanism: Gaussian) -> Variant:
    """The mechanism itself."""
    return Variant(mechanism, mechanism)


def half_noise(mechanism: Gaussian) -> Variant:
    """Half the standard deviation that is declared."""
    return Variant(mechanism, Gaussian(mechanism.sensitivity, mechanism.sigma_squared / 4))


def noise_for_one_group(mechanism: Gaussian) -> Variant:
    """Noise, and a declared sensitivity, for users in one group, who are in up to five."""
    single = Gaussian(Bounds(1, 1).sensitivity(), mechanism.sigma_squared / BOUND)
    return Variant(single, single)


def one_draw_for_all(mechanism: Gaussian) -> Variant:
    """The same draw for every group: differences of counts come out bare."""
    return Variant(mechanism, mechanism, one_draw_for_all=True)


def same_seed(mechanism: Gaussian) -> Variant:
    """A generator that starts from the same seed in every release."""
    return Variant(mechanism, mechanism, seed=0x9E3779B97F4A7)


def calibrated(epsilon: float, delta: float) -> Gaussian:
    """The mechanism for users in up to five groups."""
    spend = Zcdp(rho_at(exact(epsilon), exact(delta)))
    return Gaussian.calibrate(Bounds(BOUND, BOUND).sensitivity(), spend)


def law_of_count(mechanism: Gaussian, true_count: int) -> Law:
    """The law of one noisy count, from 64-bit words."""
    edges = DiscreteGaussian(mechanism.sigma_squared).table().bounds
    return read_words(
        lambda script, n: mechanism.draw(
            given(mechanism.sensitivity, np.full(n, true_count, dtype=np.int64)), Drawn(script)
        ),
        edges,
    )


def _exact(variant: Variant, subject: str) -> Finding:
    laws = law_of_count(variant.done, TRUE_COUNT + 1), law_of_count(variant.done, TRUE_COUNT)
    # Rényi divergences of independent counts add up.
    return Finding(
        Tier.EXACT,
        f"{subject}, one user in {BOUND} groups",
        "rho",
        float(cost(variant.declared.event).rho),
        BOUND * rho(*laws),
    )


def _sampled(variant: Variant, epsilon: float, delta: float, n: int) -> list[Finding]:
    findings = []
    for n_groups in (1, BOUND):
        shift = (np.arange(BOUND) < n_groups).astype(np.int64)
        sides = []
        for true_row in (TRUE_COUNT + shift, np.full(BOUND, TRUE_COUNT)):
            noisy = variant.draw(np.tile(true_row, (n, 1)))
            sides.append(np.stack([noisy.sum(axis=1), noisy[:, 0], noisy[:, 0] - noisy[:, -1]], 1))
        findings.append(
            audit_epsilon(
                sides[0],
                sides[1],
                epsilon=epsilon,
                delta=delta,
                subject=f"epsilon {epsilon}, one user in {n_groups} groups",
            )
        )
    return findings


def public_groups(pair: Pair) -> list[Group]:
    """A list of groups that does not depend on the added user."""
    listed: list[Group] = [f"g{j}" for j in range(N_HEAVY)]
    return [*listed, *sorted({str(group) for _, group, _ in pair.added} - {*map(str, listed)})]


def record(done: Gaussian, groups: list[Group], rows: TableRows, bound: int) -> Recording:
    """What reaches the noise when a table is bounded, counted and released."""
    counts = {str(group): count for group, count in true_counts(rows, bound).items()}
    vector = np.array([counts.get(str(group), 0) for group in groups], dtype=np.int64)
    recorder = Recorder()
    done.draw(given(done.sensitivity, vector), recorder)
    calls = calls_of(recorder, dict(enumerate(map(str, groups))))
    return Recording(calls, {"groups": repr(groups)})


def _grey(
    variant: Variant, done_on: Callable[[TableRows], Gaussian] | None = None
) -> list[Finding]:
    findings = []
    declared = declared_of(variant.declared.event, variant.declared.sensitivity)
    for pair in pairs(BOUND):
        groups = public_groups(pair)
        with_user, without_user = (
            record(variant.done if done_on is None else done_on(rows), groups, rows, BOUND)
            for rows in (pair.with_user, pair.base)
        )
        findings += compare(with_user, without_user, [declared], pair.name)
    return findings


def _examined(make: Make, n: int) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = _grey(make(calibrated(1.0, 1e-2)))
        for epsilon, delta in POINTS if effort is Effort.FULL else POINTS[::2]:
            variant = make(calibrated(epsilon, delta))
            findings.append(_exact(variant, f"epsilon {epsilon}"))
            findings += _sampled(variant, epsilon, delta, n)
        return findings

    return examined


def _scaled_by_data(_effort: Effort) -> Sequence[Finding]:
    mechanism = calibrated(1.0, 1e-2)

    def done_on(rows: TableRows) -> Gaussian:
        largest = max(true_counts(rows).values(), default=1)
        return Gaussian(mechanism.sensitivity, mechanism.sigma_squared * Fraction(largest))

    return _grey(as_shipped(mechanism), done_on)


TRIAL = Trial(
    "gaussian",
    (
        Case("as shipped", _examined(as_shipped, 40_000), is_mutant=False),
        Case("half the noise", _examined(half_noise, 40_000)),
        Case("noise for users in one group", _examined(noise_for_one_group, 40_000)),
        Case("one draw for all groups", _examined(one_draw_for_all, 2_000)),
        Case("the same seed in every release", _examined(same_seed, 2_000)),
        Case("noise scaled by the data", _scaled_by_data),
    ),
)
