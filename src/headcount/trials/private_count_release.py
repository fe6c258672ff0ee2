"""Trial of ``PrivateCountRelease``: every selection and measurement against what it was charged.

The mechanism is handed a chance that writes down what happens and adds no noise. Each selection
chooses the first row, so neighbours go through the same steps; its law is then found from the
scores that reached it, for both tables, and held against the charge before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product, zip_longest
from typing import Any

import numpy as np

from headcount.audit.blackbox import audit_support
from headcount.audit.divergence import off_support, range_epsilon
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms import private_count_release as module
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.private_count_release import PrivateCountRelease
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given
from headcount.trials.private_count_release_mutants import (
    BoundaryLost,
    MarginForOneRow,
    NoiseFromTheTarget,
    RestForOneRow,
    RestNotCharged,
    StopsWithTheTable,
)
from headcount.trials.seam import Charge, Choice, Integers, Noise, Recorder, swapped
from headcount.trials.selection import chosen_law
from headcount.trials.trial import Case, Effort, Trial

Counts = dict[str, int]
Pair = tuple[str, Counts, Counts]
NONE = "none"
MAX_ROWS = 3
N_STEPS = 30
DELTA = Fraction(1, 100)
LOW = 16

PAIRS: list[Pair] = [
    ("one new group", {"a": 60, "b": 20}, {"a": 60, "b": 20, "v": 1}),
    ("empty, and one user", {}, {"v": 1}),
    ("all counts", {"a": 60, "b": 20, "c": 20}, {"a": 61, "b": 21, "c": 21}),
    ("one of them", {"a": 60, "b": 20, "c": 20}, {"a": 60, "b": 21, "c": 20}),
    (
        "rows beyond those kept, tied with them",
        {"a": 200, "b": 50, "c": 50, "d": 50, "e": 50},
        {"a": 200, "b": 50, "c": 50, "d": 51, "e": 51},
    ),
    (
        "a table full of ties",
        dict.fromkeys("abcdef", 50),
        {name: 50 + (name in "def") for name in "abcdef"},
    ),
]


class Log(Recorder):
    """What happened, in order: charges, and what was asked for after each of them."""

    def noisy(self, true_counts: Integers, law: Any) -> Integers:
        """No noise: the counts themselves."""
        super().noisy(true_counts, law)
        return true_counts

    def paid(self) -> Iterator[tuple[Zcdp, Noise | Choice]]:
        """All noise and all choices, each with the charge just before it; a charge pays once."""
        charge = Zcdp(0)
        for one in self.asked:
            if isinstance(one, Charge):
                charge = one.spend
            elif isinstance(one, Noise | Choice):
                yield charge, one
                charge = Zcdp(0)


def ordered(counts: Counts) -> list[tuple[str, int]]:
    """Groups as the mechanism gets them: largest first, one more than it keeps."""
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))[: MAX_ROWS + 1]


def run(mechanism: PrivateCountRelease, counts: Counts, first: int) -> tuple[Log, list[str]]:
    """Release a table, and say in which order its groups were chosen.

    As none is never chosen here, epsilon does not grow: ``first`` is the threshold it starts from.
    """
    log = Log()
    rows = ordered(counts)
    with swapped(module, "FIRST_THRESHOLD", first):
        released = mechanism.draw(
            given(mechanism.sensitivity, np.array([count for _, count in rows], dtype=np.int64)),
            log,
        )
    return log, [rows[one.position][0] for one in released]


def _selection_laws(log: Log, names: list[str], counts: Counts) -> list[tuple[Zcdp, Law]]:
    """The law of each selection over names, with the charge before it."""
    left = [name for name, _ in ordered(counts)[:MAX_ROWS]]
    laws = []
    choices = [(charge, one) for charge, one in log.paid() if isinstance(one, Choice)]
    for step, (charge, choice) in enumerate(choices):
        law = chosen_law(choice.true_values, choice.rate)
        laws.append((charge, law.mapped([*left, NONE].__getitem__)))
        if step < len(names):
            left.remove(names[step])
    return laws


def _stepwise(
    make: Callable[[], PrivateCountRelease], pairs: Sequence[Pair], thresholds: Sequence[int]
) -> list[Finding]:
    findings = []
    for (name, without, with_user), first in product(pairs, thresholds):
        subject = f"{name}, threshold {first}"
        sides = []
        for counts in (with_user, without):
            log, names = run(make(), counts, first)
            findings += _measurements(log, subject)
            sides.append((_selection_laws(log, names, counts), names))
        (left, left_names), (right, right_names) = sides
        for step, ((charge, one), (_, other)) in enumerate(zip(left, right, strict=False)):
            if left_names[:step] != right_names[:step] or step >= N_STEPS:
                break
            findings += _selection(charge, one, other, f"{subject}, selection {step + 1}")
    return findings


def _selection(charge: Zcdp, one: Law, other: Law, subject: str) -> list[Finding]:
    off = off_support(one, other).low
    findings = [Finding(Tier.EXACT, subject, "delta", float(charge.delta), off)]
    common = set(one.masses) & set(other.masses)
    both = [Law({y: law.masses[y] for y in common}, 1 - _sum(law, common)) for law in (one, other)]
    if len(common) > 1 and max(law.residual for law in both) < Fraction(1, 10**6):
        # A ratio is only as good as the mass that is not placed; rarer outputs are left out.
        least = 1e7 * float(max(law.residual for law in both))
        if _all_at_least(both, least):
            found = range_epsilon(both[0], both[1], least).low
            findings.append(Finding(Tier.EXACT, subject, "rho", float(charge.rho), found**2 / 8))
    return findings


def _sum(law: Law, outputs: set[Any]) -> Fraction:
    return sum((law.masses[y] for y in outputs), Fraction(0))


def _all_at_least(laws: list[Law], least: float) -> bool:
    return all(sum(float(m) >= least for m in law.masses.values()) > 1 for law in laws)


def _measurements(log: Log, subject: str) -> list[Finding]:
    """Noise on counts that one user moves by one each, against the charge just before it."""
    return [
        Finding(
            Tier.GREY_BOX,
            f"{subject}, measurement",
            "rho",
            float(charge.rho),
            float(len(one.true_values) / (2 * one.law.sigma_squared)),
        )
        for charge, one in log.paid()
        if isinstance(one, Noise)
    ]


class Dictated(Log):
    """Selects and answers what it is told to, whatever the table is, and so long as it can."""

    def __init__(self, counts: Counts, told: Sequence[str]) -> None:
        super().__init__()
        self.left = [name for name, _ in ordered(counts)[:MAX_ROWS]]
        self.told = list(told)

    def select(self, scores: Integers, epsilon_over_range: Fraction) -> int:
        """The next name, or none when all have been told."""
        super().select(scores, epsilon_over_range)
        if not self.told:
            return len(scores) - 1
        chosen = self.left.index(self.told.pop(0))
        self.left.pop(chosen)
        return chosen

    def noisy(self, true_counts: Integers, law: Any) -> Integers:
        """A number that is not the table's."""
        super().noisy(true_counts, law)
        return np.full(len(true_counts), 1000, np.int64)

    @property
    def steps(self) -> list[object]:
        """What was charged, and which laws were drawn from, in order."""
        return [
            one.spend if isinstance(one, Charge) else one.settings
            for one in self.asked
            if isinstance(one, Charge | Noise | Choice)
        ]


def _same_steps(make: Callable[[], PrivateCountRelease], pairs: Sequence[Pair]) -> list[Finding]:
    """Neighbours with the same outcomes take the same steps: how many differ, or are one's only."""
    findings = []
    for name, without, with_user in pairs:
        both = {row for row, _ in ordered(without)[:MAX_ROWS]}
        told = [row for row, _ in ordered(with_user)[:MAX_ROWS] if row in both]
        for n_told in range(len(told) + 1):
            logs = [Dictated(counts, told[:n_told]) for counts in (without, with_user)]
            for counts, log in zip((without, with_user), logs, strict=True):
                values = np.array([count for _, count in ordered(counts)], np.int64)
                mechanism = make()
                mechanism.draw(given(mechanism.sensitivity, values), log)
            one, other = (log.steps for log in logs)
            differ = sum(a != b for a, b in zip_longest(one, other))
            subject = f"{name}, {n_told} found"
            findings.append(Finding(Tier.GREY_BOX, subject, "steps that differ", 0, differ))
    return findings


def _sampled(make: Callable[[], PrivateCountRelease], n: int) -> Finding:
    counts = {"a": 60, "b": 20, "v": 1}
    rows = ordered(counts)
    values = np.array([count for _, count in rows], dtype=np.int64)
    mechanism = make()
    runs = (mechanism.draw(given(mechanism.sensitivity, values), Drawn()) for _ in range(n))
    hits = sum(any(rows[one.position][0] == "v" for one in released) for released in runs)
    return audit_support(hits, n, delta=float(DELTA), subject="one new group")


def as_shipped() -> PrivateCountRelease:
    """The mechanism itself, on small tables."""
    return PrivateCountRelease(Zcdp(1, DELTA), 0.1, max_rows=MAX_ROWS, max_calls=200)


def of_the_largest() -> PrivateCountRelease:
    """The same, asked for the largest group: two are found, and the rest is spent on both."""
    return replace(as_shipped(), top=1)


def of_the_three_largest() -> PrivateCountRelease:
    """More than some of the tables have."""
    return replace(as_shipped(), top=3)


def _broken(
    cls: type[PrivateCountRelease],
    pairs: Sequence[Pair],
    threshold: int,
    within: float = 0.1,
    top: int | None = None,
) -> Callable[[Effort], Sequence[Finding]]:
    def make() -> PrivateCountRelease:
        return cls(Zcdp(1, DELTA), within, max_rows=MAX_ROWS, max_calls=200, top=top)

    return lambda _effort: _stepwise(make, pairs, (threshold,))


def _ends_with_the_table(_effort: Effort) -> Sequence[Finding]:
    mutant = StopsWithTheTable(Zcdp(1, DELTA), 0.1, max_rows=MAX_ROWS, max_calls=200, top=3)
    return _same_steps(lambda: mutant, PAIRS[:2])


def _as_shipped(effort: Effort) -> Sequence[Finding]:
    if effort is Effort.QUICK:
        return [
            *_stepwise(as_shipped, PAIRS[::4], (LOW,)),
            *_stepwise(of_the_largest, PAIRS[2:3], (LOW,)),
            *_same_steps(of_the_three_largest, PAIRS),
            _sampled(as_shipped, 20),
        ]
    thresholds = (module.FIRST_THRESHOLD, LOW)
    return [
        *_stepwise(as_shipped, PAIRS, thresholds),
        *_stepwise(of_the_largest, PAIRS, thresholds),
        *_same_steps(as_shipped, PAIRS),
        *_same_steps(of_the_largest, PAIRS),
        *_same_steps(of_the_three_largest, PAIRS),
        _sampled(as_shipped, 200),
    ]


TRIAL = Trial(
    "private_count_release",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case("the row beyond the table read as 0", _broken(BoundaryLost, PAIRS[4:], LOW)),
        Case("the rest with noise for one row", _broken(RestForOneRow, PAIRS[2:3], LOW, top=1)),
        Case("the rest not charged", _broken(RestNotCharged, PAIRS[2:3], LOW, top=1)),
        Case("an end where the table ends", _ends_with_the_table),
        Case("a margin for one row", _broken(MarginForOneRow, PAIRS[5:], LOW)),
        Case(
            "noise from the target, not floored",
            _broken(NoiseFromTheTarget, PAIRS[:1], module.FIRST_THRESHOLD, within=0.01),
        ),
    ),
)
