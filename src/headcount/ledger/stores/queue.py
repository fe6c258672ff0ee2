"""A line of processes at a file: first come, first served.

SQLite's own lock lets whoever looks at the right moment in, and a plain file lock is often taken
again by the process that just left it, so that in a crowd some wait for seconds. Here each comer
takes a number and waits for the number before it. A process that dies gives its place up, and the
one behind it may then come forward early: that is all right, because the line is for fairness and
the database's lock behind it is for safety.
"""

from __future__ import annotations

import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Locks on single bytes that belong to an open file and not to a process; on Linux.
HAS_BYTE_LOCKS = hasattr(fcntl, "F_OFD_SETLKW") and struct.calcsize("P") == 8
FIRST = 64


@contextmanager
def made_like(path: Path, like: os.stat_result | None = None) -> Iterator[int]:
    """A file, open; made for the same people as another if it is not there, whatever the umask."""
    try:
        file = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        if like is not None:
            if os.geteuid() == 0:
                os.fchown(file, like.st_uid, like.st_gid)
            with suppress(PermissionError):
                # Whoever came first has done it.
                os.fchmod(file, stat.S_IMODE(like.st_mode))
    try:
        yield file
    finally:
        os.close(file)


@contextmanager
def in_line(path: Path, like: os.stat_result | None = None) -> Iterator[None]:
    """Wait until everyone who came before has left; then it is our turn."""
    with made_like(path, like) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        if not HAS_BYTE_LOCKS:
            try:
                yield
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)
            return
        try:
            number = int.from_bytes(os.pread(file, 8, 0), "little") + 1
            lock_byte(file, fcntl.F_WRLCK, number)
            os.pwrite(file, number.to_bytes(8, "little"), 0)
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
        try:
            lock_byte(file, fcntl.F_RDLCK, number - 1)
            yield
        finally:
            # Closing would do, unless a fork has a copy of the file.
            lock_byte(file, fcntl.F_UNLCK, number)


def lock_byte(file: int, kind: int, number: int, *, wait: bool = True) -> None:
    """Lock or unlock one byte of an open file; raises BlockingIOError if it must not wait."""
    place = struct.pack("hhqqi4x", kind, os.SEEK_SET, FIRST + number, 1, 0)
    fcntl.fcntl(file, fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK, place)
