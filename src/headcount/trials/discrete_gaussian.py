"""Trial of the discrete Gaussian sampler: rho, and epsilon at delta, of a count moved by one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from headcount.accounting.convert import epsilon_at as claimed_epsilon
from headcount.accounting.convert import rho_at
from headcount.audit.divergence import epsilon_at, rho
from headcount.audit.exact import read_words
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.privacy.exact import exact
from headcount.trials.discrete_laplace import (
    NARROW,
    SCALES,
    WIDE,
    sampled,
    table_law,
    walked_law,
)
from headcount.trials.trial import DELTAS, POINTS, Case, Effort, Trial

SIGMAS = tuple(scale + Fraction(1, 2) for scale in SCALES)


def _exact(law: Law, claimed: Fraction, subject: str) -> list[Finding]:
    shifted = law.shifted(1)
    findings = [Finding(Tier.EXACT, subject, "rho", float(claimed), rho(shifted, law))]
    for delta in DELTAS:
        found = epsilon_at(shifted, law, delta).low
        epsilon = float(claimed_epsilon(claimed, exact(delta)))
        findings.append(Finding(Tier.EXACT, subject, f"epsilon at delta {delta:g}", epsilon, found))
    return findings


def _claims() -> list[tuple[float, float, Fraction]]:
    return [(epsilon, delta, rho_at(exact(epsilon), exact(delta))) for epsilon, delta in POINTS]


def _as_shipped(effort: Effort) -> Sequence[Finding]:
    findings = []
    for sigma in SIGMAS if effort is Effort.FULL else SIGMAS[2::6]:
        narrow = DiscreteGaussian(sigma**2).table(NARROW)
        claimed = 1 / (2 * sigma**2)
        findings += _exact(walked_law(narrow.draw), claimed, f"sigma {sigma}, all coins")
        wide = DiscreteGaussian((20 * sigma) ** 2).table()
        findings += _exact(table_law(wide), claimed / 400, f"sigma {20 * sigma}, 64 bits")
    for epsilon, delta, claimed in _claims():
        law = DiscreteGaussian(1 / (2 * claimed))
        subject = f"epsilon {epsilon}"
        findings.append(sampled(law.draw, epsilon, delta, 100_000, subject))
        fine = DiscreteGaussian(WIDE**2 / (2 * claimed))
        subject += f", sigma {float(fine.sigma_squared) ** 0.5:.0f}"
        findings.append(sampled(fine.draw, epsilon, delta, 40_000, subject, WIDE))
    return findings


def _half(_effort: Effort) -> Sequence[Finding]:
    findings = []
    for epsilon, delta, claimed in _claims():
        table = DiscreteGaussian(1 / (8 * claimed)).table()
        findings += _exact(table_law(table), claimed, f"epsilon {epsilon}")
        findings.append(sampled(table.draw, epsilon, delta, 20_000, f"epsilon {epsilon}"))
    return findings


def _sd_for_variance(_effort: Effort) -> Sequence[Finding]:
    findings = []
    for sigma in (2, 5, 20):
        table = DiscreteGaussian(Fraction(sigma)).table()
        findings += _exact(table_law(table), Fraction(1, 2 * sigma**2), f"sigma {sigma}")
    return findings


def _cut_off(_effort: Effort) -> Sequence[Finding]:
    """Noise cut off at four sd: the outermost values happen on one side only."""
    table = DiscreteGaussian(Fraction(25)).table()
    law = read_words(lambda script, n: table.draw(n, script).clip(-20, 20), table.bounds)
    return _exact(law, Fraction(1, 50), "sigma 5, cut off at 20")


TRIAL = Trial(
    "discrete_gaussian",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case("half the noise", _half),
        Case("sd taken for the variance", _sd_for_variance),
        Case("tail cut off at four sd", _cut_off),
    ),
)
