"""One flush for all who wait: when a commit of a SQLite ledger is on disk.

SQLite appends a commit to its write-ahead log and would flush the log before it lets the next
writer in. Here the next writer comes first, and each flushes afterwards, outside the lock: whoever
finds that a flush began after their own commit need not do it again.

Numbers in the queue's file say which commit was begun last, which one was made last, which ones are
on disk, and which flush was begun last. A writer takes its number while it holds the database's
lock, so a number that was taken says that all before it were made, or never will be. A process that
is killed at its commit leaves a number that was taken and perhaps not made; until the next commit,
readers then flush for themselves. A flush looks at the numbers before it begins and notes what it
covers when it has ended. Numbers that a crash left behind do no harm: a new one is above all that
were ever written. What is in the log and then in the database's own file was flushed by SQLite on
the way.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headcount.ledger.stores.queue import HAS_BYTE_LOCKS, lock_byte, made_like

TAKEN, FLUSHED, BEGUN, MADE = 8, 16, 24, 32
HEADER = 32
MAY_NOT = frozenset({errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS})


class Flush:
    """The log of one ledger, and the numbers beside it.

    ``is_held`` says whether a connection of this process keeps the log where it is; then one that
    is missing was taken away, and what it held is not on disk.
    """

    def __init__(self, queue: Path, log: Path, is_held: Callable[[], bool] = lambda: False) -> None:
        self._queue = queue
        self._log = log
        self._is_held = is_held
        self._line = queue.with_name(f"{queue.name}.flush")
        self._known: tuple[int, bytes] | None = None

    def take_number(self) -> int:
        """The number of a commit, under the database's lock and before it is made."""
        with _opened(self._queue, os.O_CREAT) as file:
            number = max(_read(file, place) for place in (TAKEN, FLUSHED, MADE)) + 1
            _write(file, TAKEN, number)
        return number

    def made(self, number: int) -> None:
        """Say that the commit of this number was made; unsaid, it costs others a flush."""
        with suppress(OSError), _opened(self._queue) as file:
            _write(file, MADE, number)

    def settle(self, number: int | None) -> None:
        """Return when our commit of this number is on disk, or every commit that can be seen."""
        try:
            with _opened(self._queue) as file:
                self._settle(file, number)
        except OSError as error:
            if error.errno not in MAY_NOT:
                raise
            # Whoever may not take part waits for a flush of their own.
            self._flush()

    def _settle(self, file: int, number: int | None) -> None:
        if number is None:
            number = _read(file, TAKEN)
            if _read(file, MADE) < number:
                # Made or not, nobody can say: it may have been seen.
                self._flush()
                return
        while _read(file, FLUSHED) < number:
            with made_like(self._line, os.fstat(file)) as line:
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
            made, taken = _read(file, MADE), _read(file, TAKEN)
            # The newest may be on its way still, unless it says that it was made.
            newest = taken if taken <= made else taken - 1
            self._flush()
            _write(file, FLUSHED, max(newest, number))

    def _flush(self) -> None:
        try:
            with _opened(self._log, only_read=True) as log:
                self._flush_file(log)
        except FileNotFoundError:
            # Gone when the last connection closed; SQLite flushed what it held before.
            if self._is_held():
                raise

    def _flush_file(self, log: int) -> None:
        _to_disk(log)
        # By its header too: the number of a file that is gone may be given again.
        known = os.fstat(log).st_ino, os.pread(log, HEADER, 0)
        if known != self._known:
            # A new file is on disk when its folder says so.
            with _opened(self._log.parent, os.O_DIRECTORY, only_read=True) as folder:
                os.fsync(folder)
            self._known = known


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
def _opened(path: Path, flags: int = 0, *, only_read: bool = False) -> Iterator[int]:
    file = os.open(path, flags | (os.O_RDONLY if only_read else os.O_RDWR), 0o600)
    try:
        yield file
    finally:
        os.close(file)
