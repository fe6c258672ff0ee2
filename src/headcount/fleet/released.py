"""What a round shows, as a release: estimates with error bars, and what is promised for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headcount.fleet.core import Shown
from headcount.fleet.plan import mechanism_of
from headcount.fleet.task import Task
from headcount.privacy.unit import Device
from headcount.releases.promised import facts_of, guarantee_of
from headcount.releases.rows import sorted_rows
from headcount.releases.session import Answer
from headcount.results.facts import CONFIDENCE
from headcount.results.release import Release

if TYPE_CHECKING:
    from headcount.ledger.account import Account

VERB = "fleet"
METHOD = "exact counts of the answers of a secret random sample of devices, from a threshold on"
BAR = "low to high is for an answer that was shown"
COVERED = (
    "Every device that takes part sends the same number of reports of one length: whoever carries "
    "or keeps them learns nothing from that."
)
NOT_COVERED = (
    "Without cover, whoever carries or keeps reports sees how many were sampled: the guarantee "
    "holds against those who see these counts alone."
)


def released(task: Task, shown: Shown, account: Account, entry: int) -> Release:
    """The shown counts with everything public about them, and with nothing else."""
    mechanism = mechanism_of(task)
    counts = np.array([count for _, count in shown.counts], np.int64)
    low, high = mechanism.interval(counts, CONFIDENCE)
    rows = sorted_rows(
        pa.table({"group": pa.array([group for group, _ in shown.counts], pa.string())}),
        count=np.rint(mechanism.estimate(counts)).astype(np.int64),
        low=low,
        high=high,
        sd=mechanism.sd(counts),
    )
    n, rate = mechanism.answers, float(mechanism.rate)
    asked = f"{task.file.task}, asked by {task.file.owner}: {task.file.purpose}"
    number = f"round {shown.round + 1} of {task.file.rounds.n}, all paid for by one charge"
    answer = Answer(
        rows,
        method=METHOD,
        bounds=f"a device gives at most {n:,} answer{'' if n == 1 else 's'} in a round",
        noise=f"each device keeps an answer with chance {rate:.4g}; counts are divided by that",
        notes=(asked, number, BAR, COVERED if task.file.cover else NOT_COVERED),
    )
    unit, event = Device(task.file.population), mechanism.event
    guarantee = guarantee_of(unit, account, event, mechanism.neighbours)
    return Release(rows, facts_of(answer, guarantee, VERB, account.name, entry))
