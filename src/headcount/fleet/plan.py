"""From a task file to a task: the rate and the threshold that an account's budget allows.

One charge pays for the whole period, all rounds and answers together.
"""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING

from headcount.accounting.convert import spend_of
from headcount.errors import UsageError
from headcount.fleet.noise_rounds import NoiseRounds
from headcount.fleet.task import Task, Terms
from headcount.fleet.task_file import NOISE
from headcount.mechanisms.sample_threshold import SampleThreshold
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    from headcount.fleet.task_file import TaskFile
    from headcount.ledger.account import Account

MOST_RATE = Fraction(1, 2)


def mechanism_of(task: Task) -> SampleThreshold | NoiseRounds:
    """What is charged, and how counts are read."""
    terms = task.terms
    if terms.scale:
        return NoiseRounds.of(task)
    return SampleThreshold(
        rate=terms.rate,
        threshold=terms.threshold,
        spend=Zcdp(terms.rho, terms.delta),
        n_samples=task.file.rounds.n,
        answers=task.file.question.answers,
        neighbours=terms.neighbours,
    )


def planned(file: TaskFile, account: Account, today: date) -> Task:
    """The task with the terms that show the smallest groups for what may be spent."""
    file.check_expiry(today)
    if account.neighbours is not Neighbours.REPLACE:
        raise UsageError(
            f"Account {account.name!r} is add-remove. How many devices take part can be seen, so "
            "what they answer is paid for by a replace account: headcount ledger open NAME "
            "--budget 3 --neighbours replace. Nothing was charged."
        )
    limit = spend_of(Budget(epsilon=file.epsilon), account.limit, account.stated_delta)
    if file.method == NOISE:
        return NoiseRounds.task(file, limit)
    found = SampleThreshold.calibrate(
        limit,
        n_samples=file.rounds.n,
        answers=file.question.answers,
        most_rate=MOST_RATE,
        neighbours=account.neighbours,
    )
    spend = found.spend
    terms = Terms(found.rate, found.threshold, spend.rho, spend.delta, account.neighbours)
    return Task(file, terms)
