"""Every mechanism as shipped, at every scale, pair, epsilon and delta: nothing is refuted."""

from __future__ import annotations

import os

import pytest

from headcount.audit.verdict import Tier
from headcount.trials.register import MECHANISMS, trial_of
from headcount.trials.trial import DELTAS, EPSILONS, POINTS, Effort, examine

LONG = os.environ.get("HEADCOUNT_LONG") == "1"
"""Every trial at full effort, as each night; at the gate, at that of ``headcount audit``."""
WHOLE = ("verbs", "door", "coins", "decided", "repeats")
"""Whole at every change: all verbs, by every way that they can be asked, and what they share."""
SAMPLERS = ("discrete_laplace", "discrete_gaussian", "selection")
# One release of many stages takes a second. Its outputs are attacked stage by stage, in the trials
# of the mechanisms it is made of; here every stage is held against its charge by the grey box.
STAGED = (
    "equal_error",
    "quantiles",
    "count_events",
    "count_events_found",
    "distribution",
    "verbs",
    "windows",
)
# Reading draws nothing, so nothing can be estimated from its outputs: rows are compared themselves.
# What the door shows under a charge is compared too, whatever was drawn.
NOT_DRAWN = ("reading", "door", "repeats")
# What was drawn on one table is played to another: no chance is left.
PLAYED = ("decided",)
# A device draws its own coins. Every way that they can fall is tried, so nothing is estimated.
# The noise of a round is that of mechanisms that have trials of their own, and is looked at whole.
ENUMERATED = ("fleet", "fleet_noise")


@pytest.mark.timeout(2400)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_nothing_is_refuted(mechanism: str) -> None:
    (case,) = (case for case in trial_of(mechanism).cases if not case.is_mutant)
    # The exact tier holds all scales of the samplers against closed forms: see test_exact_tier.
    is_full = mechanism in WHOLE or (LONG and mechanism not in SAMPLERS)
    effort = Effort.FULL if is_full else Effort.QUICK
    outcome = examine(mechanism, case, effort)
    print(f"{mechanism}: {len(outcome.findings)} findings, worst: {outcome.worst}")
    violated = [str(finding) for finding in outcome.findings if finding.violated]
    assert not violated
    if mechanism not in (*STAGED, *NOT_DRAWN, *PLAYED, *ENUMERATED):
        assert any(finding.tier is Tier.BLACK_BOX for finding in outcome.findings)


def test_not_only_at_one_epsilon_or_one_delta() -> None:
    assert {0.25, 1.0, 3.0} <= set(EPSILONS)
    assert {1e-2, 1e-3} <= set(DELTAS)
    assert len(POINTS) == len(EPSILONS) * len(DELTAS)
