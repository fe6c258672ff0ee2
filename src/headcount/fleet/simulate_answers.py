"""Devices that are made up: their secrets, and what they answer, from one key.

Nobody is behind them, so that what they say may be known: it is what a round is held against.
"""

from __future__ import annotations

import hashlib
import hmac
from bisect import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from headcount.fleet.answering import kept
from headcount.fleet.characters import characters_of, is_allowed
from headcount.fleet.task import Task

LONGEST_TAIL = 100_000
STEEPNESS = 1.1
SILENT = 20
"""One device in so many has nothing to say."""
PLAIN = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class MadeUp:
    """A population of devices.

    key:      32 bytes from which all of it follows
    devices:  how many there are
    distinct: how many answers there are, some given often and most seldom
    said:     what single devices say instead, by their number; nothing abstains
    """

    key: bytes
    devices: int
    distinct: int = 1_000
    said: Mapping[int, str | None] = field(default_factory=dict)

    def secret(self, device: int) -> bytes:
        """The secret of a device."""
        return self._drawn("secret", device)

    def answers(self, task: Task, device: int) -> list[str | None]:
        """What a device answers."""
        if device in self.said:
            return [self.said[device]]
        n = task.file.question.answers
        return [self._answer(task, self._drawn("answer", device, i)) for i in range(n)]

    def _answer(self, task: Task, drawn: bytes) -> str | None:
        if int.from_bytes(drawn[:8], "big") % SILENT == 0:
            return None
        at = int.from_bytes(drawn[8:16], "big") / (1 << 64) * self._shares[-1]
        return named(task, bisect(self._shares, at))

    def _drawn(self, *words: object) -> bytes:
        return hmac.digest(self.key, " ".join(map(str, words)).encode(), hashlib.sha256)

    @cached_property
    def _shares(self) -> list[float]:
        """How often each answer is given: as words of a language are."""
        n = min(self.distinct, LONGEST_TAIL)
        return list(accumulate((i + 1) ** -STEEPNESS for i in range(n)))


def named(task: Task, number: int) -> str:
    """The answer of this number, of characters that the task takes."""
    question = task.file.question
    usual = f"answer-{number}"
    if is_allowed(usual, question.pattern, question.max_bytes):
        return usual
    letters = sorted(characters_of(question.pattern) or PLAIN)
    found = letters[number % len(letters)]
    while (number := number // len(letters)) and len((found + letters[-1]).encode()) <= (
        question.max_bytes
    ):
        found += letters[number % len(letters)]
    return found


def sampled(task: Task, number: int, secret: bytes, answers: list[str | None]) -> Iterator[str]:
    """What a device says that its coins keep, each answer once: what must be counted of it."""
    seen = set[str]()
    for value, is_kept in zip(answers, kept(task, number, secret), strict=False):
        if value is not None and value not in seen:
            seen.add(value)
            if is_kept:
                yield value
