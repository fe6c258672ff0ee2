"""The counting core: sealed reports of one round in, counts from the threshold on out.

A pure function. It knows no database, no network and no clock, and says nothing but the counts:
not how many reports came, how many were sampled, how many abstained, how many did not open, and
which groups were too small. ``core.md`` has the proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from headcount.errors import UsageError
from headcount.fleet.canonical import canonical, read_canonical
from headcount.fleet.characters import is_allowed
from headcount.fleet.seal import Opener, public_key_of
from headcount.fleet.task import Task
from headcount.fleet.wire import Descriptor, value_in

if TYPE_CHECKING:
    from headcount.mechanisms.chance import Chance

CHUNK = 1_000
"""Reports that are opened at a time."""
Opened = list[tuple[bytes, str | None]]
Map = Callable[[Callable[[list[bytes]], Opened], Iterable[list[bytes]]], Iterable[Opened]]


@dataclass(frozen=True, slots=True)
class Shown:
    """What one round shows: the groups with at least so many sampled devices, by name."""

    task: bytes
    round: int
    threshold: int
    counts: tuple[tuple[str, int], ...]

    def to_bytes(self) -> bytes:
        """The same bytes for the same counts."""
        return canonical(
            {
                "task": self.task.hex(),
                "round": self.round,
                "threshold": self.threshold,
                "counts": [list(pair) for pair in self.counts],
            }
        )


def shown_from(spelled: bytes) -> Shown:
    """What a round shows, from its bytes."""
    record: Any = read_canonical(spelled)
    counts = tuple((str(group), int(count)) for group, count in record["counts"])
    return Shown(bytes.fromhex(record["task"]), record["round"], record["threshold"], counts)


def count(
    task: Task,
    descriptor: Descriptor,
    private_key: bytes,
    posts: Iterable[bytes],
    mapped: Map = map,
    chance: Chance | None = None,
) -> Shown:
    """Open every report of a round, and count each once.

    posts:  reports end to end, as they were received, in an order that never changes
    mapped: ``map``, or that of a pool of processes; results stay in order
    chance: what noise is drawn with, where the task has some; the system's unless told otherwise
    """
    check_round(task, descriptor, private_key)
    opening = partial(open_some, private_key, descriptor.hash)
    chunks = _chunks(posts, descriptor.report_bytes)
    true_counts = _once_each(task, mapped(opening, chunks))
    if task.terms.scale:
        # NumPy is for noise alone: a core that samples runs without.
        from headcount.fleet.core_noise import noisy

        return Shown(
            task.id, descriptor.round, task.terms.threshold, noisy(task, true_counts, chance)
        )
    # [FL6] Only what at least so many devices said.
    threshold = task.terms.threshold
    large = sorted(pair for pair in true_counts.items() if pair[1] >= threshold)
    return Shown(task.id, descriptor.round, threshold, tuple(large))


def check_round(task: Task, descriptor: Descriptor, private_key: bytes) -> None:
    """Refuse what does not belong together, before anything is opened."""
    if descriptor.task != task.id:
        raise UsageError("The round is of another task. Nothing was opened.")
    if public_key_of(private_key) != descriptor.public_key:
        raise UsageError("The key is of another round. Nothing was opened.")
    if descriptor.round >= task.file.rounds.n:
        raise UsageError("The task has fewer rounds. Nothing was opened.")


def _once_each(task: Task, opened: Iterable[Opened]) -> Counter[str]:
    """How often each answer was given; a report that is there twice is one [FL5]."""
    question, seen = task.file.question, set[bytes]()
    true_counts: Counter[str] = Counter()
    for some in opened:
        for report_id, value in some:
            if report_id in seen:
                continue
            seen.add(report_id)
            if value is not None and is_allowed(value, question.pattern, question.max_bytes):
                true_counts[value] += 1
    return true_counts


def open_some(private_key: bytes, descriptor_hash: bytes, reports: list[bytes]) -> Opened:
    """Ids and answers of the reports that open here, in order; all others are left out."""
    opener = Opener(private_key, descriptor_hash)
    found = (opener.open(report) for report in reports)
    return [(one[0], value_in(one[1])) for one in found if one is not None]


def _chunks(posts: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    # What is left over at the end of a post is no report.
    reports = (
        post[start : start + size]
        for post in posts
        for start in range(0, len(post) - size + 1, size)
    )
    while chunk := list(islice(reports, CHUNK)):
        yield chunk
