"""Some thousand made-up devices in one process: they answer, flip, seal and send as devices do.

What to do is read from standard input as JSON, and what must be counted of it is printed. Each
device goes the way of ``Device``, without its folder and its limits.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from headcount.errors import FleetError
from headcount.fleet.answering import reports
from headcount.fleet.device_http import Http
from headcount.fleet.simulate_answers import MadeUp, sampled
from headcount.fleet.simulate_sending import send_all
from headcount.fleet.task import Task, task_from
from headcount.fleet.upload import LIST_SECONDS
from headcount.fleet.wire import Descriptor, descriptor_from, report_id

CONNECTIONS = 1_000
PATIENCE = 60.0
AGAIN = 10
"""One report in so many is sent a second time, past the relay and cut into other posts."""
CUT = 150
CALLED = "device-{}"


@dataclass(frozen=True, slots=True)
class Some:
    """Which devices a process is, and where they send.

    tokens:  what the relay knows each by, from ``first`` on
    relay:   where they ask and send
    ingest:  where another relay sends some reports again
    theirs:  what the ingest knows that one by
    round:   the task's id, in hex, and the number of its round
    """

    key: str
    devices: int
    distinct: int
    said: dict[str, str | None]
    first: int
    tokens: list[str]
    relay: str
    ingest: str
    theirs: str
    round: tuple[str, int]

    @property
    def population(self) -> MadeUp:
        """All devices, of which these are some."""
        said = {int(device): answer for device, answer in self.said.items()}
        return MadeUp(bytes.fromhex(self.key), self.devices, self.distinct, said)

    def spelled(self) -> bytes:
        """As a process is told."""
        return json.dumps(asdict(self)).encode()


@dataclass(slots=True)
class Told:
    """What became of them: what must be counted, and how many reports were sent."""

    counted: Counter[str]
    reports: int = 0
    acknowledged: int = 0
    again: int = 0

    @classmethod
    def read(cls, printed: bytes) -> Told:
        """From what a process printed."""
        record: dict[str, Any] = json.loads(printed)
        return cls(Counter(record.pop("counted")), **record)

    def printed(self) -> str:
        """As a process prints it."""
        sent = {"reports": self.reports, "acknowledged": self.acknowledged, "again": self.again}
        return json.dumps({"counted": dict(self.counted), **sent})

    def add(self, other: Told) -> None:
        """These and others."""
        self.counted += other.counted
        self.reports += other.reports
        self.acknowledged += other.acknowledged
        self.again += other.again


def run(some: Some) -> Told:
    """Poll, answer, seal and send, for each of these devices."""
    task, described = _offered(some)
    told, again = Told(Counter()), list[bytes]()
    waiting = _sealed(some, task, described, told, again)
    connections = min(CONNECTIONS, len(some.tokens))
    told.acknowledged = asyncio.run(send_all(some.relay, described.hash, waiting, connections))
    other = Http(some.ingest, headers={"Authorization": f"Bearer {some.theirs}"})
    for i in range(0, len(again), CUT):
        cut = again[i : i + CUT]
        if other.post(described.spelled, b"".join(cut)):
            told.again += len(cut)
    return told


def _offered(some: Some) -> tuple[Task, Descriptor]:
    """The round, as the relay offers it to the first of these devices, which asks now and then."""
    way = Http(some.relay, headers={"Authorization": f"Bearer {some.tokens[0]}"})
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for offer in way.descriptors():
            task, described = task_from(offer.task), descriptor_from(offer.descriptor)
            if (task.id.hex(), described.round) == tuple(some.round):
                return task, described
        # Lists of open rounds are a moment old.
        time.sleep(LIST_SECONDS)
    raise FleetError("The relay does not offer the round of the simulation. Nothing was sent.")


def _sealed(
    some: Some, task: Task, described: Descriptor, told: Told, again: list[bytes]
) -> Iterator[tuple[str, bytes]]:
    """Each report as it is needed, with its device's token."""
    population = some.population
    for device, token in enumerate(some.tokens, some.first):
        secret, answers = population.secret(device), population.answers(task, device)
        told.counted.update(sampled(task, described.round, secret, answers))
        n = task.file.question.answers
        names = [report_id(secret, described.hash, i) for i in range(n)]
        for report in reports(task, described, secret, answers, names):
            told.reports += 1
            if told.reports % AGAIN == 0:
                again.append(report)
            yield token, report


if __name__ == "__main__":
    sys.stdout.write(run(Some(**json.load(sys.stdin))).printed())
