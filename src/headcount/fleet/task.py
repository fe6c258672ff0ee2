"""A task as devices get it: what the owner wrote, with the terms that were paid for, and its name.

The rate is inside what is hashed. Whoever changes it, or anything else, has another task.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from headcount.errors import UsageError
from headcount.fleet.canonical import canonical, id_of, read_canonical
from headcount.fleet.task_file import MOST_SAMPLES, NOISE, TaskFile, read_task
from headcount.privacy.neighbours import Neighbours

VERSION = 1
RATE_BITS, COIN_BITS = 40, 60
PRICE = re.compile(r"[0-9]{1,400}(/[0-9]{1,400})?")
LEAST_THRESHOLD = 5
LARGEST_THRESHOLD = 2_000
NO_NOISE = Fraction(0)
SMALLEST, LARGEST = Fraction(1, 1 << 20), Fraction(1 << 40)
"""A scale, and a threshold beside it."""
NOT_A_TASK = "These bytes are not a task of this version. Nothing was charged."


@dataclass(frozen=True, slots=True)
class Terms:
    """How much is shown, and what it costs one device over all rounds."""

    rate: Fraction
    threshold: int
    rho: Fraction
    delta: Fraction
    neighbours: Neighbours
    scale: Fraction = NO_NOISE
    """Of the noise that the core adds; there is none where answers are sampled."""

    def __post_init__(self) -> None:
        """Refuse terms under which hardly anybody would be hidden."""
        if self.scale:
            self._check_noise()
            return
        scaled = self.rate * (1 << RATE_BITS)
        if scaled.denominator != 1 or not 0 < self.rate <= Fraction(1, 2):
            raise UsageError(
                "The rate of a task is above 0 and at most one half, in steps of 2^-40. "
                "Nothing was charged."
            )
        if not LEAST_THRESHOLD <= self.threshold <= LARGEST_THRESHOLD:
            raise UsageError(
                f"The threshold of a task is {LEAST_THRESHOLD} to {LARGEST_THRESHOLD:,}, not "
                f"{self.threshold}. Nothing was charged."
            )
        if self.rho <= 0 or self.delta <= 0:
            raise UsageError("The terms of a task have a price. Nothing was charged.")

    def _check_noise(self) -> None:
        """Every answer reaches the core, and a scale is a number that can be drawn with."""
        scale = self.scale
        is_plain = scale.denominator.bit_count() == 1 and SMALLEST <= scale <= LARGEST
        has_delta = self.delta > 0 if self.threshold else self.delta == 0
        if self.rate != 1 or not is_plain or self.rho <= 0 or not has_delta:
            raise UsageError(
                "The terms of a task with noise are a rate of 1, a scale, and a price. Nothing was "
                "charged."
            )
        if not 0 <= self.threshold <= LARGEST:
            raise UsageError("The threshold of a task with noise is too high. Nothing was charged.")

    @property
    def coin_limit(self) -> int:
        """A coin of 60 bits keeps its answer when it is below this [FL1]."""
        return int(self.rate * (1 << COIN_BITS))

    def record(self) -> dict[str, Any]:
        """The same as plain values."""
        noise = {"scale": str(self.scale)} if self.scale else {}
        return noise | {
            "rate": [int(self.rate * (1 << RATE_BITS)), 1 << RATE_BITS],
            "threshold": self.threshold,
            "rho": str(self.rho),
            "delta": str(self.delta),
            "neighbours": self.neighbours.value,
        }


@dataclass(frozen=True)
class Task:
    """What the owner wrote, and its terms."""

    file: TaskFile
    terms: Terms

    @cached_property
    def spelled(self) -> bytes:
        """The task in its one spelling."""
        record = {**self.file.record(), "terms": self.terms.record(), "version": VERSION}
        return canonical(record)

    @cached_property
    def id(self) -> bytes:
        """The hash that names it."""
        return id_of(self.spelled)

    @property
    def n_samples(self) -> int:
        """How many answers of one device are sampled, in all rounds together."""
        return self.file.rounds.n * self.file.question.answers


def task_from(spelled: bytes) -> Task:
    """A task from its bytes; whatever would not be spelled so is refused."""
    record = read_canonical(spelled)
    if not isinstance(record, dict) or record.get("version") != VERSION:
        raise UsageError(NOT_A_TASK)
    terms = record.pop("terms", None)
    del record["version"]
    task = Task(read_task(record), _terms(terms))
    is_noisy, is_open = task.terms.scale > 0, task.terms.threshold > 0
    if is_noisy != (task.file.method == NOISE) or (
        is_noisy and is_open == bool(task.file.question.groups)
    ):
        raise UsageError(NOT_A_TASK)
    if task.spelled != spelled or not 1 <= task.n_samples <= MOST_SAMPLES:
        raise UsageError(NOT_A_TASK)
    return task


def _terms(record: Any) -> Terms:
    try:
        (top, bottom) = record["rate"]
        if bottom != 1 << RATE_BITS or type(record["threshold"]) is not int:
            raise ValueError
        return Terms(
            Fraction(top, bottom),
            record["threshold"],
            _price(record["rho"]),
            _price(record["delta"]),
            Neighbours(record["neighbours"]),
            _price(record["scale"]) if "scale" in record else NO_NOISE,
        )
    except UsageError:
        raise
    except (LookupError, ValueError, TypeError, ArithmeticError):
        raise UsageError(NOT_A_TASK) from None


def _price(text: str) -> Fraction:
    # Without a bound, a text as short as 1e999999999 is a number that no machine holds.
    if not PRICE.fullmatch(text):
        raise ValueError
    return Fraction(text)
