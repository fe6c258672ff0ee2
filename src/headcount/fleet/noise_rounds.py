"""Rounds whose counts are shown with noise: what they cost, and how their counts are read.

Every answer reaches the core. Groups are on a public list, and then all of them are shown
(``mechanisms/laplace``); or they are found, and only those above a threshold are
(``mechanisms/laplace_threshold``). The proof is in ``core_noise.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from headcount.accounting.compose import cost
from headcount.fleet.task import Task, Terms
from headcount.fleet.task_file import TaskFile
from headcount.mechanisms.laplace import Laplace
from headcount.mechanisms.laplace_threshold import LaplaceThreshold
from headcount.privacy.bounds import Bounds
from headcount.privacy.event import Rounds
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp

REPLACE = Neighbours.REPLACE


@dataclass(frozen=True, slots=True)
class NoiseRounds:
    """The mechanism of each round, and how many rounds there are."""

    one: Laplace | LaplaceThreshold
    n: int
    answers: int
    neighbours: Neighbours = REPLACE

    @classmethod
    def calibrate(cls, file: TaskFile, limit: Zcdp) -> NoiseRounds:
        """The least noise whose cost for all rounds together is at most ``limit``."""
        n, answers = file.rounds.n, file.question.answers
        each = Zcdp(limit.rho / n, limit.delta / n)
        if file.question.groups:
            known = Zcdp(each.rho)
            return cls(Laplace.calibrate(moved(file), known), n, answers)
        return cls(LaplaceThreshold.calibrate(answers, each, REPLACE), n, answers)

    @classmethod
    def task(cls, file: TaskFile, limit: Zcdp) -> Task:
        """The task with the terms that may be spent."""
        found = cls.calibrate(file, limit)
        price = cost(found.event)
        threshold = found.one.threshold or 0
        terms = Terms(Fraction(1), threshold, price.rho, price.delta, REPLACE, found.one.scale)
        return Task(file, terms)

    @classmethod
    def of(cls, task: Task) -> NoiseRounds:
        """The mechanism of a task that was charged."""
        terms, n, asked = task.terms, task.file.rounds.n, task.file.question
        one: Laplace | LaplaceThreshold = Laplace(moved(task.file), terms.scale)
        if not asked.groups:
            delta = terms.delta / n
            one = LaplaceThreshold(asked.answers, terms.scale, terms.threshold, delta, REPLACE)
        return cls(one, n, asked.answers)

    @property
    def event(self) -> Rounds:
        """What the ledger records: one charge for all rounds [FN5]."""
        return Rounds((self.one.event,), Fraction(self.n))


def moved(file: TaskFile) -> Sensitivity:
    """How far one device whose answers are exchanged moves the counts of a round [FN2]."""
    asked = file.question
    answers = min(asked.answers, len(asked.groups)) if asked.groups else asked.answers
    return Bounds(answers, answers).sensitivity(REPLACE)
