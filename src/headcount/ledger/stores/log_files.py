"""The two files that SQLite keeps beside a ledger: while a connection is open, they stay the same.

SQLite opens its log and the log's index by name, and keeps both until the last connection closes.
Whoever removes them meanwhile, or puts others there, leaves a running program with files that
nobody else sees: what it charges is lost, and the same budget is spent again by whoever opens the
ledger next. SQLite does not notice. So the numbers of both files are noted with a connection, and
compared with what is there under their names before a connection is used, before a commit, and
before anything is shown; and so is what the index says of the log (``log_index.py``).

All connections of one process to one file share the index, those that come later too. So there is
one note for each file, and once it does not hold any more this process cannot use the file again.
Its connections are not even closed: the last of them would write the pages of the old log into the
file that was put back.

SQLite's locks on a file are the process's: closing any descriptor of it gives all of them up. So
the one that the index is read through is closed after the last connection, in one turn, and every
connection is made in a turn. Locks are not handed down by a fork either, and SQLite in the child
would believe in those of a connection that was open then: a child does not use such a file.
"""

from __future__ import annotations

import ctypes
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headcount.ledger.stores.log_index import LogIndex

Number = tuple[int, int]
OPENS_BOTH = "PRAGMA user_version"
"""Any reading does."""


class Note:
    """What this process has open beside one file."""

    def __init__(self, beside: list[Number | None], index: LogIndex) -> None:
        self.beside = beside
        self.index = index
        self.connections: weakref.WeakSet[Connection] = weakref.WeakSet()
        self.is_lost = None in beside

    @property
    def is_in_use(self) -> bool:
        """Whether it says anything: SQLite may remove both files once no connection is open."""
        return self.is_lost or len(self.connections) > 0

    def compare(self, beside: list[Number | None]) -> bool:
        """Whether other files are there now, or were at any time; none is closed from then on."""
        if self.is_lost or beside != self.beside or self.index.contradicts_log():
            self.is_lost = True
            for connection in list(self.connections):
                _never_closed(connection)
            self.connections.clear()
        return self.is_lost


_NOTES: dict[Number, Note] = {}
_TURNS = [threading.RLock()]
_OPEN_AT_FORK: set[Number] = set()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """A turn of this process, in which connections are made and closed."""
    with _TURNS[0]:
        yield


class Connection(sqlite3.Connection):
    """A connection that is closed only while its log is the one at its name."""

    files: LogFiles | None = None
    file: Number | None = None

    def close(self) -> None:
        """Close, or leave all that is open to the end of the process."""
        with one_at_a_time():
            files, self.files = self.files, None
            if files is None:
                super().close()
            elif files.may_close(self):
                super().close()
                files.let_go(self)

    def __del__(self) -> None:
        with suppress(sqlite3.Error):
            self.close()


class LogFiles:
    """The log and its index beside one ledger."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._beside = [Path(f"{path}{ending}") for ending in ("-wal", "-shm")]

    def note(self, connection: Connection) -> None:
        """In the turn that made a connection, note what the first one of this process has open."""
        connection.execute(OPENS_BOTH).fetchone()
        connection.file = number(self._path)
        if connection.file is None:
            return
        beside = self._there()
        note = _NOTES.get(connection.file)
        if note is None:
            note = _NOTES[connection.file] = Note(beside, LogIndex(*self._beside))
        note.connections.add(connection)
        connection.files = self
        note.compare(beside)

    def are_lost(self) -> bool:
        """Whether what this process has open is not what is there."""
        with _TURNS[0]:
            # While one connection is noted SQLite does not touch them, and none is let go here.
            note = self._note()
            return note is not None and note.compare(self._there())

    def are_held(self) -> bool:
        """Whether a connection of this process keeps the files where they are."""
        with _TURNS[0]:
            return self._note() is not None

    def may_close(self, connection: Connection) -> bool:
        """Whether a connection may be closed; one that may not stays open for ever."""
        note = _NOTES.get(connection.file) if connection.file is not None else None
        if note is None:
            return True
        # From a file that is not at its name any more, SQLite itself writes nothing.
        is_there = number(self._path) == connection.file
        if note.is_lost or (is_there and note.compare(self._there())):
            _never_closed(connection)
            return False
        return True

    def let_go(self, connection: Connection) -> None:
        """Count no longer on a connection that was closed; the last one takes the index with it."""
        note = _NOTES.get(connection.file) if connection.file is not None else None
        if connection.file is None or note is None:
            return
        note.connections.discard(connection)
        if not note.is_in_use:
            note.index.close()
            del _NOTES[connection.file]

    def _note(self) -> Note | None:
        file = number(self._path)
        note = None if file is None else _NOTES.get(file)
        return note if note is not None and note.is_in_use else None

    def _there(self) -> list[Number | None]:
        return [number(path) for path in self._beside]


def number(path: Path) -> Number | None:
    """What tells a file from another that is put in its place under the same name."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _never_closed(connection: Connection) -> None:
    # One reference that nobody gives back: Python closes what is left over when it ends, too.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))


def is_open_here(path: Path) -> bool:
    """Whether this process has a connection to the file."""
    with one_at_a_time():
        file = number(path)
        return file is not None and file in _NOTES


def was_open_at_fork(path: Path) -> bool:
    """Whether this process has a connection to the file from the process that it was forked of."""
    return bool(_OPEN_AT_FORK) and number(path) in _OPEN_AT_FORK


def _begin_child() -> None:
    # A thread that does not exist in the child may have had the turn.
    _TURNS[0] = threading.RLock()
    for file, note in _NOTES.items():
        if note.is_in_use:
            _OPEN_AT_FORK.add(file)
            note.is_lost = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)
