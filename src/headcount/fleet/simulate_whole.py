"""Made-up devices that are whole programs, ``headcount.fleet.Device``, each with a folder."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from headcount.fleet.device import SENT, Device
from headcount.fleet.device_http import Http
from headcount.fleet.device_policy import Policy
from headcount.fleet.own_folder import own_folder
from headcount.fleet.simulate_answers import MadeUp, sampled
from headcount.fleet.simulate_devices import Told

if TYPE_CHECKING:
    from headcount.fleet.task import Task

TRIES = 20
MOST_EPSILON = 1_000


def whole_devices(
    population: MadeUp, task: Task, tokens: list[str], relay: str, folder: Path, key: str
) -> Told:
    """Let the first devices answer, many at once, each until its reports are taken.

    key: the owner's public key, which they pin
    """
    told = Told(Counter())
    for device in range(len(tokens)):
        answers = population.answers(task, device)
        told.counted.update(sampled(task, 0, population.secret(device), answers))
    limits = Policy(
        task.file.owner,
        max_epsilon=MOST_EPSILON,
        max_delta=Fraction(1, 10),
        per_days=1,
        max_rate=Fraction(1, 2),
        needs_cover=task.file.cover,
        keys={task.file.owner: [key]},
    )

    def answer(device: int) -> int:
        place = own_folder(folder / f"device-{device}", "a device")
        (place / "secret").write_bytes(population.secret(device))
        way = Http(relay, headers={"Authorization": f"Bearer {tokens[device]}"})
        one = Device(way, place, limits)
        one.answers(task.file.task)(partial(population.answers, task, device))
        one.consent(task.file.purpose)
        return any(ran.said == SENT for _ in range(TRIES) for ran in one.run_once())

    with ThreadPoolExecutor(max(1, len(tokens))) as pool:
        taken = sum(pool.map(answer, range(len(tokens))))
    n = task.file.question.answers
    told.reports, told.acknowledged = len(tokens) * n, taken * n
    return told
