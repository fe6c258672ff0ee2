"""Lives of streams, and what an intruder sees of them: files, memory, output, and all they say.

A stream has many pairs of counters, ``a`` and ``b``, and each pair is one run: what is true of one
event in one pair is tried in thousands of them at once. After the state that somebody may have
seen, the victim's event is the only one there is: noise that waits for an event would show.
"""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from headcount.audit.blackbox import audit_epsilon
from headcount.audit.verdict import Finding
from headcount.privacy.neighbours import Neighbours
from headcount.streams.stream import Stream
from headcount.trials.pan_private_mutants import seized
from headcount.trials.seam import Integers

NEAR = 3


@dataclass(frozen=True, slots=True)
class Life:
    """The events of one pair: those of others, the victim's before the intrusion, and after it.

    Each is a string of counters: "ab" is one event in either.
    """

    name: str
    others: str = "ab"
    early: str = ""
    late: str = ""


ADDED = (
    (Life("an event before", early="a"), Life("no event")),
    (Life("an event after", late="a"), Life("no event")),
    (Life("the first event of all", others="", early="a"), Life("no event", others="")),
    (Life("the only event, after", others="", late="a"), Life("no event", others="")),
)
REPLACED = (
    (Life("a before", early="a"), Life("b before", early="b")),
    (Life("a after", late="a"), Life("b after", late="b")),
    (Life("a before", early="a"), Life("b after", late="b")),
)


def sides(neighbours: Neighbours) -> list[tuple[Life, Life]]:
    """The neighbouring streams of events."""
    return list(REPLACED if neighbours is Neighbours.REPLACE else ADDED)


@lru_cache(maxsize=16)
def names(n: int) -> tuple[str, ...]:
    """The groups of ``n`` pairs, all of ``a`` first."""
    return tuple(f"{letter}{i:07d}" for letter in "ab" for i in range(n))


@lru_cache(maxsize=16)
def values(letters: str, n: int) -> pa.Array:
    """The events of every pair."""
    return pa.array([f"{letter}{i:07d}" for letter in letters for i in range(n)], pa.string())


def read_counters(path: Path, n_counters: int) -> Integers:
    """The counters of a file, as whoever holds it reads them."""
    return np.frombuffer(path.read_bytes()[-8 * n_counters :], "<i8").astype(np.int64)


@dataclass
class Intruder:
    """Whoever looks: at counters, and at all that is said beside them."""

    n: int
    life: Life
    folder: Path
    counters: list[Integers] = field(default_factory=list)
    said: list[object] = field(default_factory=list)

    def files(self) -> list[Path]:
        """The files there are."""
        return sorted(self.folder.iterdir())

    def sees_file(self, path: Path) -> None:
        """A file is read."""
        self.counters.append(read_counters(path, 2 * self.n))

    def sees(self, stream: Stream, counters: Integers) -> None:
        """Counters and all that there is to ask."""
        self.counters.append(counters)
        self.said += [stream.n_noises, stream.describe(), repr(stream)]
        self.said += [
            (path.name, path.stat().st_size, path.stat().st_mode) for path in self.files()
        ]

    def early(self, stream: Stream) -> None:
        """What is counted before the intrusion."""
        stream.update(values(self.life.others + self.life.early, self.n))

    def late(self, stream: Stream) -> None:
        """What is counted after it, and whether any file was touched by that."""
        for path in self.files():
            os.utime(path, (0, 0))  # so that a new time is told from it, however coarse clocks are
        before = [path.stat() for path in self.files()]
        if self.life.late:
            stream.update(values(self.life.late, self.n))
        self.said.append([path.stat() for path in self.files()] == before)

    def ends(self, stream: Stream) -> None:
        """The output is published."""
        output = stream.finish()
        rows = output.to_arrow()
        self.sees(stream, rows.column("count").to_numpy())
        self.said += [output.facts, rows.column("sd")[0].as_py()]
        stream.close()


def memory_alone(intruder: Intruder, make: Callable[..., Stream]) -> None:
    """Memory is seen once, unannounced; events of others come on both sides of that."""
    stream = make()
    intruder.early(stream)
    intruder.sees(stream, seized(stream))
    stream.update(values(intruder.life.others + intruder.life.late, intruder.n))
    intruder.ends(stream)


def a_snapshot(intruder: Intruder, make: Callable[..., Stream]) -> None:
    """A copy leaves; then memory is seen."""
    stream = make()
    intruder.early(stream)
    intruder.sees_file(stream.snapshot(intruder.folder / "copy.hcs"))
    intruder.late(stream)
    intruder.sees(stream, seized(stream))
    intruder.ends(stream)


def two_snapshots(intruder: Intruder, make: Callable[..., Stream]) -> None:
    """Two copies leave, with the event between them or not."""
    stream = make()
    intruder.early(stream)
    intruder.sees_file(stream.snapshot(intruder.folder / "first.hcs"))
    intruder.late(stream)
    intruder.sees_file(stream.snapshot(intruder.folder / "second.hcs"))
    intruder.ends(stream)


def a_checkpoint(intruder: Intruder, make: Callable[..., Stream]) -> None:
    """The state is written to its file; then memory and disk are seen at once."""
    path = intruder.folder / "state.hcs"
    stream = make(path=path)
    intruder.early(stream)
    stream.flush()
    intruder.late(stream)
    intruder.sees_file(path)
    intruder.sees(stream, seized(stream))
    intruder.ends(stream)


def an_opening(intruder: Intruder, make: Callable[..., Stream]) -> None:
    """The file is closed and opened again; then memory and disk are seen at once."""
    path = intruder.folder / "state.hcs"
    stream = make(path=path)
    intruder.early(stream)
    stream.close()
    stream = Stream.load(path)
    intruder.late(stream)
    intruder.sees_file(path)
    intruder.sees(stream, seized(stream))
    intruder.ends(stream)


def a_merge(intruder: Intruder, make: Callable[..., Stream]) -> None:
    """A part, the sum as it was written, and the memory that went on from it are all seen."""
    path, other = (intruder.folder / name for name in ("state.hcs", "part.hcs"))
    stream = make(path=path)
    part = Stream.like(stream, path=other)
    intruder.early(part)
    part.close()
    stream.update(values(intruder.life.others, intruder.n))
    stream.merge(other)
    intruder.late(stream)
    intruder.sees_file(other)
    intruder.sees_file(path)
    intruder.sees(stream, seized(stream))
    intruder.ends(stream)


Way = Callable[[Intruder, Callable[..., Stream]], None]
WAYS: tuple[Way, ...] = (
    memory_alone,
    a_snapshot,
    two_snapshots,
    a_checkpoint,
    an_opening,
    a_merge,
)


def features(seen: Sequence[Integers], said: Sequence[object]) -> Integers:
    """One row a pair: every view of either counter, their differences, and the near ones jointly.

    Steps from one view to the next hold what was counted in between. What was said is the same for
    all pairs, and a number in a column of its own.
    """
    steps = [seen[0], *(late - early for early, late in pairwise(seen))]
    columns = []
    for view in (*seen, *steps[1:]):
        a, b = np.split(view, 2)
        columns += [a, a - b]
    code = np.zeros(len(columns[0]), np.int64)
    for step in steps:
        for part in np.split(step, 2):
            code = code * (2 * NEAR + 1) + np.clip(part, -NEAR + 1, NEAR + 1)
    all_said = np.full(len(code), zlib.crc32(repr(said).encode()), np.int64)
    return np.stack([*columns, code, all_said], axis=1)


def sampled(n: int, epsilon: float, neighbours: Neighbours, ways: Sequence[Way]) -> list[Finding]:
    """Lives of neighbours, each with and without the victim's event, before the black box."""

    def make(path: Path | None = None) -> Stream:
        return Stream(groups=names(n), epsilon=epsilon, neighbours=neighbours, path=path)

    def lived(way: Way, life: Life) -> Integers:
        with tempfile.TemporaryDirectory() as folder:
            intruder = Intruder(n, life, Path(folder))
            way(intruder, make)
        return features(intruder.counters, intruder.said)

    findings = []
    for way in ways:
        for one, other in sides(neighbours):
            subject = (
                f"epsilon {epsilon}, {neighbours}, {way.__name__.replace('_', ' ')}, "
                f"{one.name} or {other.name}"
            )
            findings.append(
                audit_epsilon(
                    lived(way, one), lived(way, other), epsilon=epsilon, delta=0.0, subject=subject
                )
            )
    return findings
