"""Putting a file in its place: written beside it by us alone, locked, flushed, renamed.

A crash leaves the old file or the new one. The draft has one name, so that what a crash leaves
behind never piles up; it is made anew each time (``O_EXCL``), for its owner alone, so nobody who
was there first can read along. Its lock becomes the lock of the file when it is renamed: there is
no moment at which another process could take a file that somebody counts in.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from headcount.errors import OutputError
from headcount.results.output import reason
from headcount.screens import quoted
from headcount.streams.file import MAGIC, Counters, opened, refused, write_content
from headcount.streams.terms import Terms

OWNER_ALONE = 0o600


def put(path: Path, terms: Terms, counters: Counters, *, is_new: bool = False) -> int:
    """Put a whole file in place of what is there; gives the descriptor that holds its lock."""
    draft = draft_of(path)
    try:
        descriptor = _made(draft)
        try:
            with open(descriptor, "wb", closefd=False) as file:
                write_content(file, terms, counters)
                file.flush()
                os.fsync(descriptor)
            if is_new and os.path.lexists(path):
                raise refused(path, "it is there already")
            os.replace(draft, path)
        except BaseException:
            with suppress(FileNotFoundError):
                draft.unlink()
            os.close(descriptor)
            raise
    except OSError as error:
        raise OutputError(
            f"{quoted(path)} could not be written: {reason(error)}. What was there before is "
            "there still, and the stream goes on. Make room and try again."
        ) from None
    with suppress(OSError):  # not every file system flushes folders
        _flush_folder(path)
    return descriptor


def draft_of(path: Path) -> Path:
    """Where a file is written before it is put in its place."""
    return path.with_name(path.name + ".new")


def locked(path: Path) -> int:
    """A descriptor of a file that no other process counts in, for as long as it is open."""
    descriptor = opened(path, os.O_RDWR)
    try:
        if not _lock(descriptor):
            raise refused(path, "another process counts in it, or this one does")
        if not is_at(descriptor, path):
            raise refused(path, "another process replaced it")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def is_at(descriptor: int, path: Path) -> bool:
    """Whether an open file is what stands at a path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def remove_leftover(path: Path) -> None:
    """Remove the draft that a crash left beside a file; the caller holds the file's lock."""
    if os.path.lexists(draft_of(path)):
        _remove(draft_of(path))


def _made(draft: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        descriptor = os.open(draft, flags, OWNER_ALONE)
    except FileExistsError:
        _remove(draft)
        try:
            descriptor = os.open(draft, flags, OWNER_ALONE)
        except FileExistsError:
            raise refused(draft, "another program makes it again and again") from None
    if not _lock(descriptor):
        os.close(descriptor)
        raise refused(draft, "another process writes it")
    return descriptor


def _remove(draft: Path) -> None:
    """Take away what is left of a draft of ours, and nothing else that bears its name."""
    descriptor = opened(draft, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        held = os.fstat(descriptor)
        begin = os.pread(descriptor, len(MAGIC), 0)
        if held.st_uid != os.geteuid() or not MAGIC.startswith(begin):
            raise refused(draft, "it is in the way, and no draft of yours. Remove or rename it")
        if not _lock(descriptor):
            raise refused(draft, "another process writes it")
        draft.unlink()
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _flush_folder(path: Path) -> None:
    """Make a rename last: the folder is a file too."""
    folder = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
