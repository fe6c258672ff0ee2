"""A ledger in a SQLite file for someone who may read it and not write to it.

While a writer has it open, there are files beside it that readers share. Otherwise SQLite would
make them, which it cannot in a folder that may not be written to, and which must not be done for
others: the next writer might then not be let into files of ours. So the file is read as if it
could not change, and what was read is dropped if it did.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa

from headcount.errors import LedgerError
from headcount.ledger.address import Address
from headcount.ledger.journal import Head
from headcount.ledger.stores.sqlite import TABLES, WAIT, SQLiteStore

BESIDE = ("-wal", "-shm", ".queue")


def may_only_read(path: Path) -> bool:
    """Whether a ledger is there that this user cannot write to."""
    if not path.exists():
        return False
    if not _writable(path):
        return True
    beside = [Path(f"{path}{ending}") for ending in BESIDE]
    return not _writable(path.parent) and not all(map(_writable, beside))


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


class ChangedError(sqlite3.OperationalError):
    """Somebody wrote to a file that was read as if nobody could."""


class SQLiteReader(SQLiteStore):
    """A file that is only read. Each reading is a connection of its own."""

    only_reads = True

    def _engine(self, address: Address) -> sa.Engine:
        def connect() -> sqlite3.Connection:
            how = "mode=ro" if self._log.exists() else "mode=ro&immutable=1"
            place = f"file:{quote(str(address.path))}?{how}"
            connection = sqlite3.connect(
                place, uri=True, isolation_level=None, timeout=WAIT, check_same_thread=False
            )
            connection.execute("PRAGMA query_only = ON")
            return connection

        self._log = Path(f"{address.path}-wal")
        return sa.create_engine(
            "sqlite://", creator=connect, paramstyle="named", poolclass=sa.pool.NullPool
        )

    def tables(self) -> set[str]:
        """The tables in the file, as a reader sees them."""
        with self.reading() as connection:
            return set(connection.exec_driver_sql(TABLES).scalars())

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A read transaction that sees one moment, or is tried again."""
        before = self._unshared()
        try:
            with super().reading() as connection:
                yield connection
        except Exception:
            self._refuse_if_changed(before)
            raise
        self._refuse_if_changed(before)

    def _unshared(self) -> tuple[int, ...] | None:
        """What would change with the file; nothing while a writer shares it."""
        if self._log.exists():
            return None
        found = os.stat(self.address.path)
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def _refuse_if_changed(self, before: tuple[int, ...] | None) -> None:
        if before is not None and self._unshared() != before:
            raise ChangedError("written to while it was read") from None

    def settle(self, head: Head, ticket: int | None = None) -> None:
        """Flush what is there: no connection of ours keeps the log in its place."""
        self._flushed(ticket)

    def is_lost(self, error: BaseException) -> bool:
        """Whether a writer came or left meanwhile, so that it must be opened anew."""
        original = getattr(error, "orig", None) or error
        return isinstance(original, ChangedError) or "unable to open" in str(original)

    @contextmanager
    def queue(self) -> Iterator[None]:
        """Refuse, before anything is read."""
        raise LedgerError(
            f"The ledger {str(self.address)!r} may be read by this user and not written to. "
            "Nothing was charged. Ask its owner for a right to write to the file and to its folder."
        )
        yield
