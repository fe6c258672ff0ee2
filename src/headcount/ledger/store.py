"""A database for the ledger: how it is written to, read from, and locked.

All statements are the same on every store and live elsewhere. A store knows four things: how its
connections must be set up, how writers queue, how a batch of statements is sent, and who is
asking.
"""

from __future__ import annotations

import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from headcount.ledger.address import Address

Step = tuple[sa.sql.expression.Executable, Mapping[str, Any]]
Rows = Sequence[Any]


class Writer:
    """One write transaction, on the driver's own connection.

    Statements are SQLAlchemy's, compiled once per store. The driver runs them directly because a
    charge is half a dozen small statements around one disk flush.
    """

    def __init__(self, store: Store, connection: Any) -> None:
        self._store = store
        self._connection = connection
        self._first = True

    def run(self, *steps: Step) -> list[Rows]:
        """Run statements in order and return the rows of each."""
        return self._send(steps, commit=False)

    def finish(self, *steps: Step) -> None:
        """Run the last statements and commit. When this returns, all of it is on disk."""
        self._send(steps, commit=True)

    def _send(self, steps: Sequence[Step], commit: bool) -> list[Rows]:
        spelled = [(self._store.spell(statement), values) for statement, values in steps]
        first, self._first = self._first, False
        return self._store.send(self._connection, spelled, first=first, commit=commit)


class Store(ABC):
    """A database that a ledger is kept in."""

    def __init__(self, address: Address, engine: sa.Engine) -> None:
        self.address = address
        self.engine = engine
        self._spelled: dict[int, tuple[object, str]] = {}
        driver: Any = engine.dialect.loaded_dbapi
        self.errors: tuple[type[Exception], ...] = (driver.Error, SQLAlchemyError)
        _STORES.add(self)

    def spell(self, statement: Any) -> str:
        """The statement in this store's SQL."""
        known = self._spelled.get(id(statement))
        if known is None:
            # The statement is kept too, so that its id stays its own.
            known = statement, str(statement.compile(dialect=self.engine.dialect))
            self._spelled[id(statement)] = known
        return known[1]

    @contextmanager
    def writing(self) -> Iterator[Writer]:
        """A write transaction, after all that were asked for earlier; rolled back if unfinished."""
        with self.queue():
            connection = self.engine.raw_connection()
            try:
                yield Writer(self, connection.driver_connection)
            except self.errors as error:
                if self.is_lost(error):
                    # The others went the same way, more likely than not.
                    connection.invalidate()
                    self.engine.dispose()
                raise
            finally:
                with suppress(*self.errors):
                    # The pool rolls back whatever was not committed.
                    connection.close()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A read transaction that sees one moment."""
        with self.engine.connect().execution_options(**self.snapshot) as connection:
            yield connection

    @contextmanager
    def changing(self) -> Iterator[sa.Connection]:
        """A transaction that changes the schema, alone."""
        connecting = self.engine.connect().execution_options(immediate=True)
        with self.queue(), connecting as connection, connection.begin():
            self.lock(connection)
            yield connection

    def is_lost(self, error: BaseException) -> bool:
        """Whether an error means that the connection is gone, and not that a statement failed."""
        return False

    snapshot: ClassVar[Mapping[str, Any]] = {}

    def queue(self) -> AbstractContextManager[None]:
        """Wait in line before a write transaction begins."""
        return nullcontext()

    @abstractmethod
    def lock(self, connection: sa.Connection) -> None:
        """Keep every other writer out until this transaction ends."""

    def damage(self, connection: sa.Connection) -> str | None:
        """What the database itself finds wrong with its files."""
        return None

    @abstractmethod
    def send(
        self, connection: Any, steps: Sequence[tuple[str, Any]], *, first: bool, commit: bool
    ) -> list[Rows]:
        """Run statements on the driver's connection."""

    @abstractmethod
    def analyst(self) -> str:
        """Who is asking, as the store knows it and not as they say."""


_STORES: weakref.WeakSet[Store] = weakref.WeakSet()


def _close_all() -> None:
    for store in list(_STORES):
        with suppress(Exception):
            store.engine.dispose()


# A connection must not be shared with a forked child: SQLite would believe in locks that the child
# does not have, and two processes would speak on one socket.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_close_all)
