"""One pass over all trials, and what it comes to."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headcount.trials import workers
from headcount.trials.trial import Effort, Outcome, Trial


@dataclass(frozen=True, slots=True)
class Summary:
    """The numbers of one or more passes; the first four are what a machine should look at.

    A mechanism counts once, however often it was tried; a violation or a miss counts every time.
    """

    mechanisms: int
    violations: int
    mutants: int
    missed: int
    findings: int
    passes: int
    effort: str
    seconds: float

    @property
    def is_clean(self) -> bool:
        """Whether no mechanism was flagged and no mutant got away."""
        return self.violations == 0 and self.missed == 0


def hold(trials: Sequence[Trial], effort: Effort) -> Iterator[Outcome]:
    """Examine every case, away from this process, and say what was found in their order."""
    cases = [(trial.mechanism, case) for trial in trials for case in trial.cases]
    found = workers.examined([(mechanism, case.name) for mechanism, case in cases], effort)
    for (mechanism, case), findings in zip(cases, found, strict=True):
        yield Outcome(mechanism, case, findings)


def summary(outcomes: Sequence[Outcome], effort: Effort, passes: int, started: float) -> Summary:
    """Count what was found."""
    shipped = [outcome for outcome in outcomes if not outcome.case.is_mutant]
    mutants = [outcome for outcome in outcomes if outcome.case.is_mutant]
    return Summary(
        mechanisms=len({outcome.mechanism for outcome in shipped}),
        violations=sum(outcome.flagged for outcome in shipped),
        mutants=len({(outcome.mechanism, outcome.case.name) for outcome in mutants}),
        missed=sum(not outcome.flagged for outcome in mutants),
        findings=sum(len(outcome.findings) for outcome in outcomes),
        passes=passes,
        effort=effort.value,
        seconds=round(time.monotonic() - started, 1),
    )
