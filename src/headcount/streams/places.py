"""Where the counters of a stream live: in memory, or mapped from a file that is the state itself.

In both there is one copy. A process that kept counters in memory and wrote them out now and then
would have two of different ages, and whoever takes memory and disk at once could subtract them.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import numpy as np

from headcount.streams.file import (
    COPIED,
    DIGEST,
    OPEN,
    SEALED,
    Counters,
    chunks,
    read_terms,
    refused,
    status,
    write,
)
from headcount.streams.terms import Terms


class Place(Protocol):
    """One copy of the counters, and whether another one has left."""

    terms: Terms
    counters: Counters
    copied: bool

    def unseal(self) -> None:
        """Say that the counters are about to change, before they do."""

    def mark_copied(self) -> None:
        """Note that a copy is about to leave; lasts before it does."""

    def replace(self, terms: Terms, parts: Iterable[Counters], *, copied: bool) -> None:
        """Put other counters in place of these, all or none."""

    def flush(self) -> None:
        """Make what was counted so far last."""

    def close(self) -> None:
        """Let go of the counters."""


class InMemory:
    """Counters of a process that loses them when it ends."""

    def __init__(self, terms: Terms, parts: Iterable[Counters]) -> None:
        self.counters = np.zeros(terms.n_counters, np.int64)
        self.replace(terms, parts, copied=False)

    def unseal(self) -> None:
        """Nobody reads this but the process itself."""

    def mark_copied(self) -> None:
        """Note that a copy is about to leave."""
        self.copied = True

    def replace(self, terms: Terms, parts: Iterable[Counters], *, copied: bool) -> None:
        """Put other counters in place of these, over the same memory."""
        for here, part in zip(chunks(self.counters), parts, strict=True):
            here[:] = part
        self.terms, self.copied = terms, copied

    def flush(self) -> None:
        """Nothing lasts here."""

    def close(self) -> None:
        """Overwrite the counters."""
        self.counters[:] = 0
        self.counters = np.zeros(0, np.int64)


class Mapped:
    """Counters of a file, changed in place, by one process at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._open()

    @classmethod
    def create(cls, path: Path, terms: Terms, parts: Iterable[Counters]) -> Mapped:
        """Make a new file; one that is there stays."""
        if path.exists():
            raise refused(path, "it is there already")
        write(path, terms, parts, copied=False)
        return cls(path)

    def _open(self) -> None:
        try:
            self._descriptor = os.open(self.path, os.O_RDWR)
        except OSError as error:
            raise refused(self.path, error.strerror or "it cannot be opened") from None
        try:
            self._lock()
            self.terms, self._layout = read_terms(self.path)
            self._map = mmap.mmap(self._descriptor, self._layout.size)
        except BaseException:
            os.close(self._descriptor)
            raise
        at = self._layout.counters
        self.counters = np.frombuffer(self._map, "<i8", offset=at).view(np.int64)
        mark, copied, digest = self._status()
        self.copied = copied
        if mark not in (SEALED, OPEN) or (mark == SEALED and digest != self._digest()):
            self.close(seal=False)
            raise refused(self.path, "its counters are damaged")
        self._mark = mark

    def _lock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise refused(self.path, "another process counts in it") from None
        if os.fstat(self._descriptor).st_ino != self.path.stat().st_ino:
            raise refused(self.path, "another process replaced it")
        # What a crash left beside the file is an older state or an output nobody saw.
        self.path.with_name(self.path.name + ".new").unlink(missing_ok=True)

    def _status(self) -> tuple[bytes, bool, bytes]:
        at, width = self._layout.status, len(SEALED)
        page = self._map[at : at + width + COPIED.size + DIGEST]
        return page[:width], bool(COPIED.unpack_from(page, width)[0]), page[width + COPIED.size :]

    def _digest(self) -> bytes:
        digest = hashlib.sha256()
        for part in chunks(self.counters):
            digest.update(part.data)
        return digest.digest()

    def _say(self, mark: bytes, digest: bytes = bytes(DIGEST)) -> None:
        at = self._layout.status
        said = status(mark, self.copied, digest)
        self._map[at : at + len(said)] = said
        self._mark = mark
        self._map.flush()

    def unseal(self) -> None:
        """Say that the counters are about to change, before they do."""
        if self._mark == SEALED:
            self._say(OPEN)

    def mark_copied(self) -> None:
        """Note in the file that a copy is about to leave."""
        self.copied = True
        self._say(SEALED, self._digest())

    def replace(self, terms: Terms, parts: Iterable[Counters], *, copied: bool) -> None:
        """Put a new file in place of this one."""
        write(self.path, terms, parts, copied=copied)
        self._let_go()
        self._open()

    def flush(self) -> None:
        """Write what was counted so far to the disk."""
        self._map.flush()

    def close(self, *, seal: bool = True) -> None:
        """Seal the file and let go of it."""
        if seal and self._mark != SEALED:
            self._say(SEALED, self._digest())
        self._let_go()

    def _let_go(self) -> None:
        self.counters = np.zeros(0, np.int64)
        # Where a part of the counters is still held, the map goes when that does.
        with suppress(BufferError):
            self._map.close()
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        os.close(self._descriptor)
