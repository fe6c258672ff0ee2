"""What a trial is: a mechanism, how it is examined, and the mutants that must be caught."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from headcount.audit.verdict import Finding, any_violated, worst

EPSILONS = (0.25, 1.0, 3.0)
DELTAS = (1e-2, 1e-3)
"""Audits are made at these. A single epsilon of 1 cannot tell epsilon from 1 / epsilon, and a
delta of 1e-6 hides from every sample of a size one can draw."""

POINTS = tuple((epsilon, delta) for epsilon in EPSILONS for delta in DELTAS)


class Effort(Enum):
    """How much is tried: the quick pass of the command, or the full one of the test suite."""

    QUICK = "quick"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Case:
    """One variant of a mechanism and its examination."""

    name: str
    examine: Callable[[Effort], Sequence[Finding]]
    is_mutant: bool = True


@dataclass(frozen=True, slots=True)
class Trial:
    """One mechanism as shipped, and its mutants."""

    mechanism: str
    cases: tuple[Case, ...]

    @property
    def mutants(self) -> tuple[Case, ...]:
        """The variants that must be flagged."""
        return tuple(case for case in self.cases if case.is_mutant)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an examination found."""

    mechanism: str
    case: Case
    findings: tuple[Finding, ...]

    @property
    def flagged(self) -> bool:
        """Whether a claim was refuted."""
        return any_violated(self.findings)

    @property
    def is_as_it_should_be(self) -> bool:
        """Whether a mutant was flagged, or a mechanism was not."""
        return self.flagged == self.case.is_mutant

    @property
    def worst(self) -> Finding:
        """The finding that says most."""
        return worst(self.findings)


def examine(mechanism: str, case: Case, effort: Effort) -> Outcome:
    """Run one case."""
    findings = tuple(case.examine(effort))
    if not findings:
        raise ValueError(f"{mechanism}, {case.name}: nothing was examined")
    return Outcome(mechanism, case, findings)
