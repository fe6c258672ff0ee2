"""Every mutant of every mechanism is flagged, by the tiers that must see it."""

from __future__ import annotations

import pytest

from headcount.audit.verdict import Finding, Tier
from headcount.trials.register import trials
from headcount.trials.trial import Case, Effort, examine

MUTANTS = [
    pytest.param(trial.mechanism, case, id=f"{trial.mechanism}: {case.name}")
    for trial in trials()
    for case in trial.mutants
]

SEEN_BY = {
    ("discrete_laplace", "half the noise"): {Tier.EXACT, Tier.BLACK_BOX},
    ("discrete_laplace", "zero counted twice"): {Tier.EXACT, Tier.BLACK_BOX},
    ("discrete_gaussian", "half the noise"): {Tier.EXACT, Tier.BLACK_BOX},
    ("selection", "1 / (2 epsilon) for epsilon / 2"): {Tier.EXACT, Tier.BLACK_BOX},
    ("selection", "the half forgotten"): {Tier.EXACT, Tier.BLACK_BOX},
    ("gaussian", "half the noise"): {Tier.EXACT, Tier.GREY_BOX, Tier.BLACK_BOX},
    ("gaussian", "noise for users in one group"): {Tier.EXACT, Tier.GREY_BOX, Tier.BLACK_BOX},
    ("gaussian_threshold", "noise on the support before bounding"): {
        Tier.EXACT,
        Tier.GREY_BOX,
        Tier.BLACK_BOX,
    },
    ("pan_private", "state without first noise"): {Tier.EXACT, Tier.BLACK_BOX},
    ("pan_private", "output without noise of its own"): {Tier.EXACT, Tier.BLACK_BOX},
    ("pan_private", "noise of add/remove for replacement"): {Tier.EXACT, Tier.BLACK_BOX},
}
"""Where more than one tier has the power to see a mutant, all of them have to."""


def tiers(findings: tuple[Finding, ...]) -> set[Tier]:
    return {finding.tier for finding in findings if finding.violated}


@pytest.mark.parametrize(("mechanism", "case"), MUTANTS)
def test_mutant_is_caught(mechanism: str, case: Case) -> None:
    outcome = examine(mechanism, case, Effort.QUICK)
    print(f"{mechanism}, {case.name}: {outcome.worst}")
    assert outcome.flagged
    assert tiers(outcome.findings) >= SEEN_BY.get((mechanism, case.name), set())


def test_names_above_are_real() -> None:
    real = {(trial.mechanism, case.name) for trial in trials() for case in trial.mutants}
    assert set(SEEN_BY) <= real
