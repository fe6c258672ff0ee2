"""A task, a round and devices, for tests of what they send and of what is counted."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from headcount.fleet.answering import reports
from headcount.fleet.seal import public_key_of
from headcount.fleet.task import Task, Terms
from headcount.fleet.task_file import read_task
from headcount.fleet.wire import Descriptor
from headcount.privacy.neighbours import Neighbours

KEY = bytes(range(1, 33))
WRITTEN: dict[str, Any] = {
    "task": "top_app",
    "population": "phones",
    "owner": "fleet-analytics@example.com",
    "purpose": "Which app is used most, per day",
    "expires": "2027-03-01",
    "question": {"max_bytes": 64, "pattern": "[a-z0-9._-]+"},
    "rounds": {"every": "1d", "keep_open": "18h", "n": 30},
    "spend": {"account": "app-users", "epsilon": 1},
}


def task(
    rate: Fraction = Fraction(1, 2), threshold: int = 5, answers: int = 1, **more: Any
) -> Task:
    written = {**WRITTEN, "question": {**WRITTEN["question"], "answers": answers}, **more}
    terms = Terms(rate, threshold, Fraction(1, 2), Fraction(1, 10**6), Neighbours.REPLACE)
    return Task(read_task(written), terms)


def round_of(asked: Task, number: int = 0, key: bytes = KEY) -> Descriptor:
    return Descriptor(asked.id, number, 1_800_000_000, 1_800_064_800, public_key_of(key))


def secret(device: int) -> bytes:
    return device.to_bytes(32, "big")


def sent(asked: Task, descriptor: Descriptor, device: int, *answers: str | None) -> list[bytes]:
    """What a device sends; its ids are its own."""
    n = asked.file.question.answers
    ids = [bytes([i]) + device.to_bytes(15, "big") for i in range(n)]
    return reports(asked, descriptor, secret(device), answers, ids)
