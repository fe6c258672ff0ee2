"""A whole fleet on one machine: real programs, a real database, and devices that are made up.

A task is charged, a round is opened, devices answer past a relay, the round is closed, counted and
released: all by the programs that a fleet runs, with a server of PostgreSQL, a ledger and keys of
the simulation's own. Since nobody is behind the devices, what they said is known here, and what the
round shows is held against it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from headcount.errors import FleetError, UsageError
from headcount.fleet.evidence_kinds import NONE
from headcount.fleet.plan import mechanism_of
from headcount.fleet.simulate_answers import MadeUp
from headcount.fleet.simulate_fleet import SimulatedFleet
from headcount.fleet.task_file import SAMPLE
from headcount.mechanisms.sample_threshold import SampleThreshold

if TYPE_CHECKING:
    from headcount.fleet.simulate_devices import Told
    from headcount.fleet.task import Task
    from headcount.fleet.task_file import TaskFile
    from headcount.ledger.account import Account, Entry
    from headcount.results.release import Release

MOST_DEVICES = 10_000_000
KEY_BYTES = 32
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Simulated:
    """What came of it, all of it public: nobody is behind the devices.

    told:    what the devices had to say, and how many reports were sent
    seconds: from the first program's start to the release
    """

    task: Task
    account: Account
    entry: Entry
    release: Release
    told: Told
    seconds: float

    @property
    def answers(self) -> tuple[int, int]:
        """How many answers are shown, and how many were sampled at all."""
        return self.release.to_arrow().num_rows, len(self.told.counted)


def made_up(devices: int, distinct: int = 1_000) -> MadeUp:
    """A population that nobody has seen before."""
    if not 1 <= devices <= MOST_DEVICES:
        raise UsageError(
            f"A simulation has 1 to {MOST_DEVICES:,} devices, not {devices:,}. Nothing was started."
        )
    return MadeUp(secrets.token_bytes(KEY_BYTES), devices, distinct)


def simulate(file: TaskFile, population: MadeUp, say: Say = lambda _: None) -> Simulated:
    """Run one round of a task over devices that are made up; refused unless all of it is right.

    say: told each stage as it begins
    """
    begun = time.monotonic()
    file.check_expiry(datetime.now(UTC).date())
    if (file.method, file.attestation) != (SAMPLE, NONE):
        # Every report is looked for in the counts, which noise would hide.
        raise UsageError(
            "A simulation is of a task by the method 'sample', with no attestation. Nothing was "
            "started."
        )
    say("starting a database, a core, an ingest, a relay and a driver")
    with SimulatedFleet(file, population) as fleet:
        say("charging the task, and opening a round")
        task = fleet.apply()
        say(f"{population.devices:,} devices answer")
        told = fleet.answer()
        say("closing the round, and counting it")
        release = fleet.released()
        account, entry = fleet.paid()
    check(task, told, release)
    return Simulated(task, account, entry, release, told, time.monotonic() - begun)


def check(task: Task, told: Told, release: Release) -> None:
    """Refuse a round that does not show just what was sampled, from the threshold on."""
    if told.acknowledged != told.reports:
        raise FleetError(
            f"Of {told.reports:,} reports only {told.acknowledged:,} were acknowledged."
        )
    mechanism = mechanism_of(task)
    least = task.terms.threshold
    wanted = {one: n for one, n in told.counted.items() if n >= least}
    if not isinstance(mechanism, SampleThreshold):
        raise FleetError("A simulation is of a sample, and this task adds noise.")
    counts = np.array(list(wanted.values()), np.int64)
    # Divided by the rate, which is at most one half: two counts are never shown as one.
    shown = np.rint(mechanism.estimate(counts)).astype(np.int64).tolist()
    rows = release.to_arrow()
    found = dict(zip(rows["group"].to_pylist(), rows["count"].to_pylist(), strict=True))
    if found != dict(zip(wanted, shown, strict=True)):
        raise FleetError(
            "The round does not show what was sampled: a report was lost, or counted twice."
        )
