"""One flush for all who wait: when a commit of a SQLite ledger is on disk.

SQLite appends a commit to its write-ahead log and would flush the log before it lets the next
writer in. Here the next writer comes first, and each flushes afterwards, outside the lock: whoever
finds that a flush began after their own commit need not do it again.

Numbers in the queue's file say how many commits there were, how many of them are on disk, and which
flush was begun last.
A commit takes the next number after it was made; a flush reads the number of commits before it
begins and notes it when it has ended. Numbers that a crash left behind do no harm: a new commit has
a number above all that were ever noted as flushed. What is in the log and then in the database's
own file was flushed by SQLite on the way.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headcount.ledger.queue import HAS_BYTE_LOCKS, lock_byte

COMMITS, FLUSHED, BEGUN = 8, 16, 24


class Flush:
    """The log of one ledger, and the numbers beside it."""

    def __init__(self, queue: Path, log: Path) -> None:
        self._queue = queue
        self._log = log
        self._line = queue.with_name(f"{queue.name}.flush")
        self._known = 0

    def committed(self) -> int:
        """Note one more commit, in our turn, and return its number."""
        with _opened(self._queue, os.O_CREAT) as file:
            number = _read(file, COMMITS) + 1
            _write(file, COMMITS, number)
        return number

    def settle(self, number: int | None) -> None:
        """Return when the commit of this number is on disk, or every commit so far."""
        try:
            with _opened(self._queue) as file:
                self._settle(file, number)
        except (FileNotFoundError, PermissionError):
            # Whoever may not take part waits for a flush of their own.
            self._flush()

    def _settle(self, file: int, number: int | None) -> None:
        if number is None:
            number = _read(file, COMMITS)
        mode = os.fstat(file).st_mode & 0o777
        while _read(file, FLUSHED) < number:
            with _opened(self._line, os.O_CREAT, mode) as line:
                self._lead_or_follow(file, line, number)

    def _lead_or_follow(self, file: int, line: int, number: int) -> None:
        """Do the next flush if nobody is about to, or wait for the end of it.

        The flush under way may have begun before our commit. The next one has not: it notes its
        beginning before it reads how many commits there are, and ours was made before we looked.
        """
        if not HAS_BYTE_LOCKS:
            fcntl.flock(line, fcntl.LOCK_EX)
            self._flush_and_note(file, number)
            return
        following = _read(file, BEGUN) + 1
        try:
            lock_byte(line, fcntl.F_WRLCK, following, wait=False)
        except BlockingIOError:
            lock_byte(line, fcntl.F_RDLCK, following)
            return
        lock_byte(line, fcntl.F_RDLCK, following - 1)
        _write(file, BEGUN, following)
        self._flush_and_note(file, number)

    def _flush_and_note(self, file: int, number: int) -> None:
        if _read(file, FLUSHED) < number:
            newest = _read(file, COMMITS)
            self._flush()
            _write(file, FLUSHED, newest)

    def _flush(self) -> None:
        # Gone when the last connection closed; SQLite flushed what it held before.
        with suppress(FileNotFoundError), _opened(self._log, only_read=True) as log:
            _to_disk(log)
            number = os.fstat(log).st_ino
            if number != self._known:
                # A new file is on disk when its folder says so.
                with _opened(self._log.parent, os.O_DIRECTORY, only_read=True) as folder:
                    os.fsync(folder)
                self._known = number


def _to_disk(file: int) -> None:
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        # On macOS a plain flush stops at the drive's own memory.
        fcntl.fcntl(file, full)
    else:
        os.fsync(file)


def _read(file: int, place: int) -> int:
    return int.from_bytes(os.pread(file, 8, place), "little")


def _write(file: int, place: int, number: int) -> None:
    os.pwrite(file, number.to_bytes(8, "little"), place)


@contextmanager
def _opened(
    path: Path, flags: int = 0, mode: int = 0o600, *, only_read: bool = False
) -> Iterator[int]:
    file = os.open(path, flags | (os.O_RDONLY if only_read else os.O_RDWR), mode)
    try:
        yield file
    finally:
        os.close(file)
