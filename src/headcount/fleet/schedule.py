"""When rounds open, close and are shown: from the task, the clock and people's orders alone.

Round ``i`` of a task is due ``i`` times ``every`` after the task was applied, and is over
``keep_open`` later, whenever it was opened. What it shows is seen a fixed delay after that. Whoever
counts late, be it for a crash or for the sheer number of reports, is late by whole delays: how long
a count took is not to be seen.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from headcount.fleet.task import Task

OPEN, CANCEL, OPENED = "open", "cancel", "opened"
"""What can be ordered for a round, and what is said of one that was opened before."""
DELAY = 900
"""Seconds from the end of a round to the moment that it is shown."""


@dataclass(frozen=True, slots=True)
class Due:
    """A round that is to be opened, or called off since its time went by.

    window: from when to when it is open; nothing where a person wants it opened now
    """

    number: int
    is_missed: bool
    window: tuple[int, int] | None


def opens_at(task: Task, applied: int, number: int) -> int:
    """When a round is due."""
    return applied + number * task.file.rounds.every


def closes_at(task: Task, applied: int, number: int) -> int:
    """When a round is over that was opened by the calendar."""
    return opens_at(task, applied, number) + task.file.rounds.keep_open


def due(
    task: Task, applied: int, opened: Collection[int], orders: Mapping[int, str], now: int
) -> Iterator[Due]:
    """What is to be done now with rounds that were not opened so far.

    A round whose time went by while nobody opened it is called off: what was paid stays paid.
    """
    for number in range(task.file.rounds.n):
        if number in opened or orders.get(number) == CANCEL:
            continue
        opens, closes = opens_at(task, applied, number), closes_at(task, applied, number)
        if now >= opens:
            yield Due(number, now >= closes, (opens, closes))
        elif orders.get(number) == OPEN:
            yield Due(number, False, None)


def shown_at(closes: int, finished: float, delay: int = DELAY) -> int:
    """From when on a round is shown that closed and was counted then: after whole delays."""
    return closes + delay * max(1, math.ceil((finished - closes) / delay))
