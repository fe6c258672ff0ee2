"""A ledger in one SQLite file, for all processes of one machine."""

from __future__ import annotations

import os
import pwd
import sqlite3
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.exc import DisconnectionError

from headcount.errors import LedgerError
from headcount.ledger.address import Address, usual_place
from headcount.ledger.distrust import LOG_LOST, LOST_WITH_IT, NOTHING, distrusted, gone
from headcount.ledger.journal import Head
from headcount.ledger.steps import Rows
from headcount.ledger.stores.flush import Flush
from headcount.ledger.stores.log_files import (
    Connection,
    LogFiles,
    number,
    one_at_a_time,
    was_open_at_fork,
)
from headcount.ledger.stores.place import check_place
from headcount.ledger.stores.queue import in_line
from headcount.ledger.stores.store import SEEN, Store

WAIT = 60
"""Seconds that SQLite waits for a lock."""
NORMAL = 1
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"


def _settings(connection: Any) -> None:
    # SQLAlchemy and the store begin transactions; the driver must not.
    connection.isolation_level = None

    def ask(pragma: str) -> Any:
        row = connection.execute(f"PRAGMA {pragma}").fetchone()
        return None if row is None else row[0]

    journal = ask("journal_mode=WAL")
    # A commit is not flushed by SQLite, which would do so while everybody waits: ``Flush`` does it
    # once the lock is gone, and nothing is shown before.
    ask("synchronous=NORMAL")
    # On macOS a plain flush stops at the drive's own memory.
    ask("fullfsync=ON")
    ask("checkpoint_fullfsync=ON")
    if journal != "wal" or ask("synchronous") != NORMAL:
        raise LedgerError(
            f"SQLite did not take the settings that the ledger rests on: journal_mode is "
            f"{journal!r} and must be 'wal', synchronous must be NORMAL. Nothing was charged. Put "
            "the ledger on a local disk, in a folder that this user may write to."
        )


class SQLiteStore(Store):
    """A file, its write-ahead log, and a lock file in which writers queue."""

    def __init__(self, address: Address) -> None:
        check_place(address)
        self._files = LogFiles(address.path)
        engine = self._engine(address)
        sa.event.listen(engine, "begin", _begin)
        super().__init__(address, engine)
        self._queue_file = Path(f"{address.path}.queue")
        log = Path(f"{address.path}-wal")
        self._flush = Flush(self._queue_file, log, self._files.are_held)

    def _engine(self, address: Address) -> sa.Engine:
        engine = sa.create_engine(
            address.url, paramstyle="named", creator=lambda: self._connected(address.path)
        )
        sa.event.listen(engine, "checkout", self._refuse_other_file)
        return engine

    def _connected(self, path: Path) -> sqlite3.Connection:
        # Before SQLite opens anything: a new connection would use what an old one has open.
        self._refuse_lost_log()
        with one_at_a_time():
            connection = _connected(path)
            try:
                _settings(connection)
                self._files.note(connection)
            except BaseException:
                connection.close()
                raise
        self._refuse_lost_log()
        return connection

    def tables(self) -> set[str]:
        """The tables in the file, if there is one. Nothing is made and no setting is changed."""
        path = self.address.path
        if not path.exists() or path.stat().st_size == 0:
            return set()
        with one_at_a_time(), closing(_connected(path)) as connection:
            return {str(row[0]) for row in connection.execute(TABLES)}

    def make_place(self) -> None:
        """Make the file, and the usual folder where nobody named another."""
        path = self.address.path
        if path == usual_place().resolve():
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            except OSError:
                raise LedgerError(
                    f"The folder {str(path.parent)!r} for the ledger cannot be made. Say where the "
                    "ledger is: ledger='ledger.db', or set HEADCOUNT_LEDGER."
                ) from None
        _create(path)

    def _refuse_other_file(self, connection: Connection, _record: object, _proxy: object) -> None:
        """A connection stays with a file that another was put in the place of; get a new one."""
        self._refuse_lost_log()
        if connection.file is None or connection.file != number(self.address.path):
            raise DisconnectionError

    def _refuse_lost_log(self, *_: object, happened: str = NOTHING) -> None:
        if was_open_at_fork(self.address.path):
            raise LedgerError(
                f"This process was forked while another thread was using the ledger "
                f"{str(self.address)!r}, and cannot use it: SQLite's locks stay with the process "
                "that took them. Nothing was charged. Start processes by 'spawn' or 'forkserver', "
                "or before any thread uses the ledger."
            )
        if self._files.are_lost():
            raise distrusted(self.address, LOG_LOST, happened) from None

    @contextmanager
    def queue(self) -> Iterator[None]:
        """Wait in line at a file beside the ledger."""
        try:
            # The same people may write both.
            with in_line(self._queue_file, os.stat(self.address.path)):
                yield
        except OSError:
            raise LedgerError(
                f"The file {str(self._queue_file)!r}, at which writers of the ledger wait in line, "
                "cannot be used. Nothing is released. Check the folder's permissions and free "
                "space; trying again under the same key never charges twice."
            ) from None

    def begin(self, connection: Any, *, turn: bool) -> None:
        """Take the write lock. There is no writing without a turn in one file."""
        connection.execute("BEGIN IMMEDIATE")

    def send(self, connection: Any, steps: Sequence[tuple[str, Any]]) -> list[Rows]:
        """Run each statement."""
        return [connection.execute(text, values).fetchall() for text, values in steps]

    def commit(self, connection: Any) -> int:
        """Commit, and note in the queue's file that there is something to flush."""
        self._refuse_lost_log()
        ticket = self._flush.take_number()
        connection.execute("COMMIT")
        self._flush.made(ticket)
        return ticket

    def settle(self, head: Head, ticket: int | None = None) -> None:
        """Flush the write-ahead log, unless somebody did since; refuse if it is not ours."""
        if not self._files.are_held():
            # Closed since, as before a fork. Whoever closes last empties the log into the file.
            self._look_for(head)
        try:
            self._flushed(ticket)
        except LedgerError:
            self._refuse_lost_log(happened=LOST_WITH_IT)
            raise
        self._refuse_lost_log(happened=LOST_WITH_IT)

    def _look_for(self, head: Head) -> None:
        with self.reading() as connection:
            found = connection.execute(SEEN, {"seen": head.sequence}).scalars().all()
        if head.sequence > 0 and found != [head.hash]:
            raise distrusted(self.address, gone(head.sequence), LOST_WITH_IT)

    def _flushed(self, ticket: int | None) -> None:
        try:
            self._flush.settle(ticket)
        except OSError:
            raise LedgerError(
                f"The ledger {str(self.address)!r} could not be flushed to its disk. It is unknown "
                "whether this was written, so count it as spent. Nothing is released. Check the "
                "disk; trying again under the same key never charges twice."
            ) from None

    def keep_others_out(self) -> None:
        """Take the rights of all but the owner and the group away from a ledger's files."""
        self._change_modes(lambda mode: mode & ~stat.S_IRWXO)

    def mend_modes(self) -> None:
        """Close a file to others that everybody may read, as a copy is that was put back.

        The group loses what everybody had: a umask gave it that, and nobody asked for it.
        """

        def mended(mode: int) -> int:
            others = mode & stat.S_IRWXO
            if not others:
                return mode
            is_from_umask = mode >> 3 & stat.S_IRWXO == others
            return mode & ~stat.S_IRWXO & ~(stat.S_IRWXG if is_from_umask else 0)

        self._change_modes(mended)

    def _change_modes(self, changed: Callable[[int], int]) -> None:
        for ending in ("", "-wal", "-shm", ".queue"):
            path = f"{self.address.path}{ending}"
            # Only the owner can, and not every file is there.
            with suppress(OSError):
                mode = stat.S_IMODE(os.stat(path).st_mode)
                if changed(mode) != mode:
                    os.chmod(path, changed(mode))

    def lock(self, connection: sa.Connection) -> None:
        """Nothing more to do: BEGIN IMMEDIATE has the lock."""

    def damage(self, connection: sa.Connection) -> str | None:
        """What SQLite's own check of every page finds."""
        found = connection.exec_driver_sql("PRAGMA integrity_check").scalar()
        return None if found == "ok" else "SQLite finds pages that do not fit together"

    def analyst(self) -> str:
        """The user of the operating system; names from the environment can be made up."""
        try:
            return pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            return f"uid-{os.getuid()}"


def _connected(path: Path) -> Connection:
    """A connection to a file that is there: SQLite must never put an empty one in its place."""
    place = f"file:{quote(str(path))}?mode=rw"
    return sqlite3.connect(
        place, uri=True, timeout=WAIT, check_same_thread=False, factory=Connection
    )


def _begin(connection: sa.Connection) -> None:
    immediate = connection.get_execution_options().get("immediate", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _create(path: Path) -> None:
    """Make a new file that only its owner can read; SQLite gives its own files the same mode."""
    with suppress(OSError):
        file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        try:
            os.fchmod(file, 0o600)
        finally:
            os.close(file)
