"""Where the counters of a stream live: in memory, and in a file that is written now and then.

An event changes the memory and nothing else [PP5]. A file that changed with every event would tell
by its times when the last one came, whatever noise is in it. So memory and file are two states of
different ages, and the memory has a draw of noise of its own from the moment the file is there:
``fresh_after`` is the one way to let a state be seen and to go on.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import numpy as np

from headcount.errors import OutputError
from headcount.mechanisms.chance import Chance
from headcount.mechanisms.pan_private import one_event
from headcount.privacy.query import Query
from headcount.screens import quoted
from headcount.streams.drafts import is_at, locked, put, remove_leftover
from headcount.streams.file import CHUNK, Counters, read_state, refused
from headcount.streams.terms import Terms


def drawn(terms: Terms, counters: Counters, chance: Chance) -> Counters:
    """The counters with one more draw on each, in memory of their own."""
    noisy = np.empty(len(counters), np.int64)
    mechanism, one = terms.mechanism, one_event(terms.neighbours)
    for begin in range(0, len(counters), CHUNK):
        part = partial(counters.__getitem__, slice(begin, begin + CHUNK))
        noisy[begin : begin + CHUNK] = mechanism.draw(Query(one, part), chance)
    return noisy


class Place:
    """Counters of a process that loses them when it ends."""

    def __init__(self, terms: Terms, chance: Chance, counters: Counters | None = None) -> None:
        self.terms = terms
        self.chance = chance
        self.counters = np.zeros(terms.n_counters, np.int64) if counters is None else counters
        self.is_ahead = False
        """Whether the memory has a draw that no file has: a matter of calls, not of events."""

    def draw(self) -> None:
        """Add a draw to every counter."""
        self.take(self.terms.drawn(), drawn(self.terms, self.counters, self.chance))

    @contextmanager
    def fresh_after(self) -> Iterator[None]:
        """Let the state be seen within; whatever becomes of that, go on over fresh noise."""
        noisy = drawn(self.terms, self.counters, self.chance)
        try:
            yield
        finally:
            self.take(self.terms.drawn(), noisy)

    def take(self, terms: Terms, counters: Counters) -> None:
        """Go on with other counters, and overwrite the ones before."""
        before, self.counters, self.terms = self.counters, counters, terms
        self.is_ahead = True
        before[:] = 0

    def save(self, terms: Terms | None = None) -> None:
        """Write the counters to the file, under other terms where they are given."""
        self.terms = terms or self.terms
        self.is_ahead = False

    def must_not_be_at(self, path: Path) -> None:
        """Refuse a path that is this very place."""

    def let_go(self) -> None:
        """Overwrite the counters, and give up the file."""
        self.counters[:] = 0
        self.counters = np.zeros(0, np.int64)


class Kept(Place):
    """Counters with a file, which belongs to one process at a time."""

    def __init__(
        self, path: Path, descriptor: int, terms: Terms, chance: Chance, counters: Counters
    ) -> None:
        super().__init__(terms, chance, counters)
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def create(cls, path: Path, terms: Terms, chance: Chance) -> Kept:
        """Make a new file, without events and without noise; one that is there stays."""
        if os.path.lexists(path):
            raise refused(path, "it is there already")
        counters = np.zeros(terms.n_counters, np.int64)
        return cls(path, put(path, terms, counters, is_new=True), terms, chance, counters)

    @classmethod
    def open(cls, path: Path, chance: Chance) -> Kept:
        """Take a file for this process; it stays as it is until it is written again."""
        real = path.resolve()
        descriptor = locked(real)
        try:
            # What a crash left beside the file is a state that nobody goes on from.
            remove_leftover(real)
            terms, counters = read_state(descriptor, real)
        except BaseException:
            os.close(descriptor)
            raise
        return cls(real, descriptor, terms.as_state(), chance, counters)

    def save(self, terms: Terms | None = None) -> None:
        """Put a new file in place of the one before, and keep its lock."""
        if not is_at(self._descriptor, self.path):
            raise OutputError(
                f"{quoted(self.path)} was moved, removed or replaced by another program. "
                "snapshot(...) can write the state to another place."
            )
        written = terms or self.terms
        descriptor = put(self.path, written, self.counters)
        os.close(self._descriptor)
        self._descriptor = descriptor
        super().save(written)

    def must_not_be_at(self, path: Path) -> None:
        """Refuse the stream's own file, under whatever name."""
        same = path == self.path
        with suppress(OSError):
            same = same or os.path.samestat(os.fstat(self._descriptor), os.stat(path))
        if same:
            raise refused(path, "it is the stream's own file. A copy goes to another place")

    def let_go(self) -> None:
        """Overwrite the counters, and unlock the file."""
        super().let_go()
        os.close(self._descriptor)
