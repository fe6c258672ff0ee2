"""Trial of ``PrivateCountRelease``: every selection and measurement against what it was charged.

The filter, the selection and the noise are replaced by ones that write down what happens. Each
selection is made to choose the first row, so neighbours go through the same steps; its law is then
found from the scores that reached it, for both tables, and held against the charge before it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from headcount.accounting.filter import Filter
from headcount.audit.blackbox import audit_support
from headcount.audit.divergence import off_support, range_epsilon
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier
from headcount.mechanisms import private_count_release as module
from headcount.mechanisms.private_count_release import Measured, PrivateCountRelease
from headcount.privacy.spend import Zcdp
from headcount.trials.seam import swapped, writing_filter
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


@dataclass
class Log:
    """What happened, in order: charges, and the primitives that were called after them."""

    charges: list[Zcdp] = field(default_factory=list)
    selections: list[tuple[int, list[int]]] = field(default_factory=list)
    noises: list[tuple[int, Fraction]] = field(default_factory=list)

    def select(self, scores: npt.NDArray[np.int64], _rate: object, _entropy: object) -> int:
        """Choose the first candidate."""
        self.selections.append((len(self.charges), scores.tolist()))
        return 0

    def noise(self, sigma_squared: Fraction) -> Any:
        """A law that draws zeros."""
        log = self

        class Zeros:
            @staticmethod
            def draw(n: int, _entropy: object) -> npt.NDArray[np.int64]:
                log.noises.append((len(log.charges), sigma_squared))
                return np.zeros(n, dtype=np.int64)

        return Zeros()


def ordered(counts: Counts) -> list[tuple[str, int]]:
    """Groups as the mechanism gets them: largest first, one more than it keeps."""
    return sorted(counts.items(), key=lambda one: (-one[1], one[0]))[: MAX_ROWS + 1]


def run(mechanism: PrivateCountRelease, counts: Counts, first: int) -> tuple[Log, list[str]]:
    """Release a table, and say in which order its groups were chosen.

    As none is never chosen here, epsilon does not grow: ``first`` is the threshold it starts from.
    """
    log = Log()
    rows = ordered(counts)
    with ExitStack() as stack:
        stack.enter_context(swapped(module, "FIRST_THRESHOLD", first))
        stack.enter_context(swapped(module, "Filter", writing_filter(log.charges)))
        stack.enter_context(swapped(module, "select", log.select))
        stack.enter_context(swapped(module, "DiscreteGaussian", log.noise))
        released = mechanism.draw(np.array([count for _, count in rows], dtype=np.int64))
    return log, [rows[one.position][0] for one in released]


def _selection_laws(log: Log, names: list[str], counts: Counts) -> list[tuple[Zcdp, Law]]:
    """The law of each selection over names, with the charge before it."""
    left = [name for name, _ in ordered(counts)[:MAX_ROWS]]
    laws = []
    for step, (n_charges, scores) in enumerate(log.selections):
        law = chosen_law(scores, module.EPSILON_UNIT)
        charge = log.charges[n_charges - 1] if n_charges else Zcdp(0)
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
    """Noise on a count that one user moves by one, against the charge just before it."""
    return [
        Finding(
            Tier.GREY_BOX,
            f"{subject}, measurement",
            "rho",
            float(log.charges[n_charges - 1].rho),
            float(1 / (2 * variance)),
        )
        for n_charges, variance in log.noises
    ]


def _sampled(make: Callable[[], PrivateCountRelease], n: int) -> Finding:
    counts = {"a": 60, "b": 20, "v": 1}
    rows = ordered(counts)
    values = np.array([count for _, count in rows], dtype=np.int64)
    mechanism = make()
    hits = sum(
        any(rows[one.position][0] == "v" for one in mechanism.draw(values)) for _ in range(n)
    )
    return audit_support(hits, n, delta=float(DELTA), subject="one new group")


def as_shipped() -> PrivateCountRelease:
    """The mechanism itself, on small tables."""
    return PrivateCountRelease(Zcdp(1, DELTA), 0.1, max_rows=MAX_ROWS, max_calls=200)


class BoundaryLost(PrivateCountRelease):
    """Reads the row beyond the table as 0, as a table of k rows would have it."""

    __slots__ = ()

    def _select(
        self, true_left: Any, true_boundary: int, epsilon: Fraction, source: Any
    ) -> int | None:
        return PrivateCountRelease._select(self, true_left, 0, epsilon, source)


class MarginForOneRow(PrivateCountRelease):
    """A margin that forgets how many rows one user may bring in at once."""

    __slots__ = ()

    @property
    def margin(self) -> Fraction:
        """``log(1 / delta_per_call)``."""
        return Fraction(round(-math.log(float(self.delta_per_call)) * (1 << 20)), 1 << 20)


class NoiseFromTheTarget(PrivateCountRelease):
    """Measures with the noise that the target allows, whatever was reserved for it."""

    __slots__ = ()

    def _measure(
        self, position: int, true_count: int, epsilon: Fraction, budget: Filter, source: Any
    ) -> Measured:
        sigma = self.within / module.Z * (1 + float(self.margin / epsilon))
        budget.charge(Zcdp(epsilon**2 / 8))
        variance = Fraction(sigma**2)
        noise = int(vars(module)["DiscreteGaussian"](variance).draw(1, source)[0])
        return Measured(position, true_count + noise, sigma)


def _broken(
    cls: type[PrivateCountRelease], pairs: Sequence[Pair], threshold: int, within: float = 0.1
) -> Callable[[Effort], Sequence[Finding]]:
    def make() -> PrivateCountRelease:
        return cls(Zcdp(1, DELTA), within, max_rows=MAX_ROWS, max_calls=200)

    return lambda _effort: _stepwise(make, pairs, (threshold,))


def _as_shipped(effort: Effort) -> Sequence[Finding]:
    if effort is Effort.QUICK:
        return [*_stepwise(as_shipped, PAIRS[::4], (LOW,)), _sampled(as_shipped, 20)]
    thresholds = (module.FIRST_THRESHOLD, LOW)
    return [*_stepwise(as_shipped, PAIRS, thresholds), _sampled(as_shipped, 200)]


TRIAL = Trial(
    "private_count_release",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case("the row beyond the table read as 0", _broken(BoundaryLost, PAIRS[4:], LOW)),
        Case("a margin for one row", _broken(MarginForOneRow, PAIRS[5:], LOW)),
        Case(
            "noise from the target, not floored",
            _broken(NoiseFromTheTarget, PAIRS[:1], module.FIRST_THRESHOLD, within=0.01),
        ),
    ),
)
