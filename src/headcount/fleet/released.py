"""What a round shows, as a release: estimates with error bars, and what is promised for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headcount.fleet.core import Shown
from headcount.fleet.noise_rounds import NoiseRounds
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
    from headcount.mechanisms.sample_threshold import SampleThreshold

VERB = "fleet"
METHOD = "exact counts of the answers of a secret random sample of devices, from a threshold on"
BAR = "low to high is for an answer that was shown"
ALL_KNOWN = "counts of the answers of all devices, with noise, for a public list of answers"
ALL_FOUND = "counts of the answers of all devices, with noise, above a threshold"
CORE_READS = (
    "The answers of all devices reached the core, without names: the guarantee holds against those "
    "who see these counts, and not against the core."
)
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
    if isinstance(mechanism, NoiseRounds):
        answer = _with_noise(task, shown, mechanism)
        return _release(task, answer, mechanism, account, entry)
    counts = np.array([count for _, count in shown.counts], np.int64)
    low, high = mechanism.interval(counts, CONFIDENCE)
    rows = sorted_rows(
        pa.table({"group": pa.array([group for group, _ in shown.counts], pa.string())}),
        count=np.rint(mechanism.estimate(counts)).astype(np.int64),
        low=low,
        high=high,
        sd=mechanism.sd(counts),
    )
    rate = float(mechanism.rate)
    answer = Answer(
        rows,
        method=METHOD,
        bounds=_bounds(task),
        noise=f"each device keeps an answer with chance {rate:.4g}; counts are divided by that",
        notes=(*_said(task, shown), BAR, COVERED if task.file.cover else NOT_COVERED),
    )
    return _release(task, answer, mechanism, account, entry)


def _with_noise(task: Task, shown: Shown, mechanism: NoiseRounds) -> Answer:
    counts, one = np.array([count for _, count in shown.counts], np.int64), mechanism.one
    off = one.error_bound(CONFIDENCE)
    rows = sorted_rows(
        pa.table({"group": pa.array([group for group, _ in shown.counts], pa.string())}),
        count=counts,
        low=(counts - off).astype(np.float64),
        high=(counts + off).astype(np.float64),
        sd=np.full(len(counts), one.sd),
    )
    is_known = one.threshold is None
    return Answer(
        rows,
        method=ALL_KNOWN if is_known else ALL_FOUND,
        bounds=_bounds(task),
        noise=f"discrete Laplace noise of scale {float(one.scale):.4g} on each count, in the core",
        notes=(*_said(task, shown), CORE_READS, *(() if is_known else (BAR,)), COVERED),
    )


def _release(
    task: Task,
    answer: Answer,
    mechanism: SampleThreshold | NoiseRounds,
    account: Account,
    entry: int,
) -> Release:
    unit, event = Device(task.file.population), mechanism.event
    guarantee = guarantee_of(unit, account, event, mechanism.neighbours)
    return Release(answer.rows, facts_of(answer, guarantee, VERB, account.name, entry))


def _bounds(task: Task) -> str:
    n = task.file.question.answers
    return f"a device gives at most {n:,} answer{'' if n == 1 else 's'} in a round"


def _said(task: Task, shown: Shown) -> tuple[str, str]:
    asked = f"{task.file.task}, asked by {task.file.owner}: {task.file.purpose}"
    return asked, f"round {shown.round + 1} of {task.file.rounds.n}, all paid for by one charge"
