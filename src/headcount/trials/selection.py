"""Trial of the exponential mechanism: bounded range, and the rho that follows from it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from headcount.accounting.compose import bounded_range_cost
from headcount.audit.blackbox import Rows, audit_epsilon
from headcount.audit.divergence import pure_epsilon, range_epsilon, rho
from headcount.audit.exact import walk
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms.chance import Chance, Drawn
from headcount.noise.selection import Selection, selection_law
from headcount.trials.discrete_laplace import NARROW, RESIDUAL
from headcount.trials.seam import Choice, Recorder
from headcount.trials.tape import told
from headcount.trials.trial import EPSILONS, Case, Effort, Trial

N_CANDIDATES = 4
STATED_BITS = 120
WITHOUT_USER = (0,) * N_CANDIDATES
WITH_USER = (1,) + (-1,) * (N_CANDIDATES - 1)
"""One user lifts one score by one and lowers the others by one: a range of two."""

RATES = tuple(Fraction(k, 40) for k in (1, 2, 4, 6, 8, 10, 13, 16, 20, 24)) + tuple(
    Fraction(k, 8) for k in (7, 8, 10, 12, 14, 16, 20, 24, 28, 32)
)
Rate = Callable[[Fraction], Fraction]
LawOf = Callable[[Sequence[int], Fraction], Law]


def chosen_law(scores: Sequence[int], rate: Fraction) -> Law:
    """The law of a choice, by walking all of its coins."""
    choice = Selection(np.array(scores, dtype=np.int64), rate, NARROW)
    return walk(lambda script: int(choice.draw(1, script)[0]), width=NARROW, residual=RESIDUAL)


def stated_law(scores: Sequence[int], rate: Fraction) -> Law:
    """The law of a choice from its weights alone; that draws follow it, this trial shows."""
    brackets = selection_law(np.array(scores, dtype=np.int64), rate, STATED_BITS)
    masses = {i: Fraction(low, 1 << STATED_BITS) for i, (low, _) in enumerate(brackets)}
    return Law(masses, 1 - sum(masses.values(), Fraction(0)))


def drawn_law(draw: Callable[[Chance], Any], law_of: LawOf = chosen_law) -> Law:
    """The law of what comes of a draw that makes one choice: of its output, whatever is chosen.

    A draw that makes none has one output for certain.
    """
    recorder = Recorder()
    output = told(draw(recorder))
    if not recorder.draws:
        return Law({output: Fraction(1)})
    (choice,) = recorder.draws
    if not isinstance(choice, Choice):
        raise TypeError("noise was drawn, and no choice made")
    law = law_of(choice.true_values, choice.rate)
    outputs = {chosen: told(draw(Recorder(taken=chosen))) for chosen in law.masses}
    return law.mapped(lambda chosen: outputs[chosen])


def _exact(left: Law, right: Law, epsilon: Fraction, subject: str) -> list[Finding]:
    least = 1e7 * float(left.residual)
    cost = float(bounded_range_cost(epsilon).rho)
    found = range_epsilon(left, right, least).low
    return [
        Finding(Tier.EXACT, subject, "bounded range", float(epsilon), found),
        Finding(
            Tier.EXACT, subject, "epsilon", float(epsilon), pure_epsilon(left, right, least).low
        ),
        Finding(Tier.EXACT, subject, "rho", cost, rho(left, right)),
    ]


def _rows(scores: Sequence[int], rate: Fraction, n: int) -> Rows:
    choice = Selection(np.array(scores, dtype=np.int64), rate)
    return choice.draw(n, Drawn().entropy)[:, None]


def _at(epsilon: Fraction, rate: Fraction, n: int) -> list[Finding]:
    subject = f"epsilon {float(epsilon):g}"
    laws = chosen_law(WITH_USER, rate), chosen_law(WITHOUT_USER, rate)
    sampled = audit_epsilon(
        _rows(WITH_USER, rate, n),
        _rows(WITHOUT_USER, rate, n),
        epsilon=float(epsilon),
        delta=0.0,
        subject=subject,
    )
    return [*_exact(*laws, epsilon, subject), sampled]


def _as_shipped(effort: Effort) -> Sequence[Finding]:
    findings = []
    for epsilon in EPSILONS:
        findings += _at(Fraction(epsilon), Fraction(epsilon) / 2, 40_000)
    for rate in RATES if effort is Effort.FULL else RATES[3:4]:
        laws = chosen_law(WITH_USER, rate), chosen_law(WITHOUT_USER, rate)
        findings += _exact(*laws, 2 * rate, f"rate {rate}")
    return findings


def _wrong(rate: Rate, epsilons: Sequence[float]) -> Callable[[Effort], Sequence[Finding]]:
    def examined(_effort: Effort) -> Sequence[Finding]:
        findings = []
        for epsilon in epsilons:
            findings += _at(Fraction(epsilon), rate(Fraction(epsilon)), 20_000)
        return findings

    return examined


def permute_and_flip_law(scores: Sequence[int], epsilon: float) -> Law:
    """Candidates in random order, each accepted with ``exp(epsilon (score - best))``.

    The chance of candidate ``i`` is its acceptance times the integral over the unit interval of
    the product of ``1 - acceptance(j) x`` over the others.
    """
    accept = [Fraction(np.exp(epsilon * (score - max(scores)))) for score in scores]
    masses: dict[int, Fraction] = {}
    for i, own in enumerate(accept):
        product = [Fraction(1)]
        for j, other in enumerate(accept):
            if j != i:
                product = [
                    low - other * high
                    for low, high in zip(
                        [*product, Fraction(0)], [Fraction(0), *product], strict=True
                    )
                ]
        masses[i] = own * sum(part / (power + 1) for power, part in enumerate(product))
    return Law(masses)


def _permute_and_flip(_effort: Effort) -> Sequence[Finding]:
    findings = []
    for epsilon in EPSILONS:
        laws = (
            permute_and_flip_law((0, 0, 1), epsilon),
            permute_and_flip_law((0, 0, 0), epsilon),
        )
        claimed = float(bounded_range_cost(Fraction(epsilon)).rho)
        findings.append(Finding(Tier.EXACT, f"epsilon {epsilon}", "rho", claimed, rho(*laws)))
    return findings


def _grid_from_data(_effort: Effort) -> Sequence[Finding]:
    laws = chosen_law((0,) * 5, Fraction(1, 2)), chosen_law((0,) * 4, Fraction(1, 2))
    return _exact(*laws, Fraction(1), "a grid that ends at the largest user")


TRIAL = Trial(
    "selection",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case("1 / (2 epsilon) for epsilon / 2", _wrong(lambda e: 1 / (2 * e), (0.25,))),
        Case("2 / epsilon for epsilon / 2", _wrong(lambda e: 2 / e, (0.25, 1.0))),
        Case("the half forgotten", _wrong(lambda e: e, EPSILONS)),
        Case("permute-and-flip at the price of bounded range", _permute_and_flip),
        Case("a grid that ends where the data ends", _grid_from_data),
    ),
)
