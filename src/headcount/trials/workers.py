"""Cases examined in processes of their own: a mutant is at large there and nowhere else.

A mutant is an edit of the shipped code, made by replacing a part of it for a while. In a process
that also makes releases it would be theirs too, so no case is examined in the process that asks for
it. Workers are forked from one process that has imported all trials and done nothing else.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

from headcount.audit.verdict import Finding
from headcount.trials.register import MECHANISMS, trial_of
from headcount.trials.trial import Effort, examine

MOST_WORKERS = 4


def n_workers() -> int:
    """One for each processor that this process may use, up to a few."""
    try:
        n_cpus = len(os.sched_getaffinity(0))
    except AttributeError:  # not every system tells
        n_cpus = os.cpu_count() or 1
    return min(n_cpus, MOST_WORKERS)


def examined(cases: Sequence[tuple[str, str]], effort: Effort) -> Iterator[tuple[Finding, ...]]:
    """The findings of each case, in order; a case is named by its mechanism and its own name."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([f"headcount.trials.{name}" for name in MECHANISMS])
    with ProcessPoolExecutor(n_workers(), context, _begin) as pool:
        mechanisms, names = zip(*cases, strict=True)
        yield from pool.map(_findings, mechanisms, names, [effort] * len(cases))


def _begin() -> None:
    """What a worker does first."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # whoever stops the audit stops it
    logging.getLogger().addHandler(logging.NullHandler())  # trials listen to what they log


def _findings(mechanism: str, name: str, effort: Effort) -> tuple[Finding, ...]:
    (case,) = (case for case in trial_of(mechanism).cases if case.name == name)
    return examine(mechanism, case, effort).findings
