"""A device on a line to nowhere: what it is offered, and files of all that it sent."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.unit.fleet.devices import KEY, WRITTEN, secret

from headcount.fleet import Device, Offer, Policy
from headcount.fleet.seal import Opener
from headcount.fleet.task import Task, Terms
from headcount.fleet.task_file import read_task
from headcount.fleet.wire import Descriptor, descriptor_from, value_in
from headcount.privacy.neighbours import Neighbours

OWNER, PURPOSE = WRITTEN["owner"], WRITTEN["purpose"]
NOW = 1_800_000_060
POLICY = Policy(OWNER)


def asked(
    rate: Fraction = Fraction(1, 4),
    threshold: int = 14,
    rho: Fraction = Fraction(3, 50),
    delta: Fraction = Fraction(1, 2 * 10**6),
    neighbours: Neighbours = Neighbours.REPLACE,
    answers: int = 1,
    **more: Any,
) -> Task:
    """A task whose price is more than it costs."""
    question = {**WRITTEN["question"], "answers": answers, **more.pop("question", {})}
    rounds = {"every": "1d", "keep_open": "18h", "n": 3}
    written = {**WRITTEN, "rounds": rounds, "question": question, **more}
    return Task(read_task(written), Terms(rate, threshold, rho, delta, neighbours))


class Line:
    """Offers rounds, and keeps what is posted in a file for each post, whoever posts it.

    fails: raised in place of an answer, after the report was kept
    """

    def __init__(self, folder: Path, *offers: tuple[Task, Descriptor]) -> None:
        self.folder = folder / "posts"
        self.folder.mkdir(exist_ok=True)
        self.offers = list(offers)
        self.fails: Exception | None = None
        self.is_over = False

    def descriptors(self) -> Iterator[Offer]:
        for task, round_ in self.offers:
            yield Offer(task.spelled, round_.spelled)

    def post(self, descriptor: bytes, report: bytes) -> bool:
        if self.is_over:
            return False
        number = descriptor_from(descriptor).round
        place = self.folder / f"{number}-{os.getpid()}-{len(list(self.folder.iterdir()))}"
        place.write_bytes(report)
        if self.fails is not None:
            raise self.fails
        return True

    def sent(self, number: int = 0) -> list[bytes]:
        return [one.read_bytes() for one in sorted(self.folder.glob(f"{number}-*"))]


class Clock:
    now = float(NOW)

    def __call__(self) -> float:
        return self.now


def device(
    folder: Path,
    line: Line,
    say: Callable[[], Any] = lambda: "mail",
    policy: Policy = POLICY,
    agreed: bool = True,
    clock: Callable[[], float] = lambda: NOW,
) -> Device:
    """As another process has it."""
    made = Device(line, folder / "device", policy, clock=clock)
    made.answers("top_app")(say)
    if agreed:
        made.consent(PURPOSE)
    return made


def with_secret(folder: Path, is_wanted: Callable[[bytes], bool]) -> Path:
    """A new folder of a device whose coins fall as they are wanted."""
    found = next(one for one in map(secret, itertools.count(1)) if is_wanted(one))
    made = folder / str(len(list(folder.iterdir())))
    (made / "device").mkdir(mode=0o700, parents=True)
    (made / "device" / "secret").write_bytes(found)
    return made


def opened(round_: Descriptor, report: bytes) -> str | None:
    found = Opener(KEY, round_.hash).open(report)
    assert found is not None
    return value_in(found[1])


def said(found: list[Any]) -> list[str]:
    return [one.said for one in found]
