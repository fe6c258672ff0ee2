"""A database for the ledger: how it is written to, read from, and locked.

All statements are the same on every store and live elsewhere. A store knows five things: how its
connections must be set up, how writers queue, how a batch of statements is sent, when it is on
disk, and who is asking.
"""

from __future__ import annotations

import os
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, ClassVar

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from headcount.ledger.address import Address
from headcount.ledger.distrust import NOTHING, distrusted, gone
from headcount.ledger.schema import entries
from headcount.ledger.steps import Rows, Step

if TYPE_CHECKING:
    from headcount.ledger.journal import Head

SEEN = sa.select(entries.c.hash).where(entries.c.sequence == sa.bindparam("seen"))


class Writer:
    """One write transaction, on the driver's own connection.

    Statements are SQLAlchemy's, compiled once per store. The driver runs them directly because a
    charge is half a dozen small statements around one disk flush. The first thing that a
    transaction does is to look for the entry that this machine saw last.
    """

    def __init__(
        self, store: Store, connection: Any, seen: Head | None, happened: str = NOTHING
    ) -> None:
        self.store = store
        self.seen = seen
        self.happened = happened
        self.ticket = 0
        self._connection = connection
        self._begun = False

    def begin(self, *, turn: bool = True) -> None:
        """Begin, after all who came earlier; or without a turn, for what is in nobody's way."""
        self.store.begin(self._connection, turn=turn)
        self._begun = True
        if self.seen is not None and self.seen.sequence > 0:
            (found,) = self._send([(SEEN, {"seen": self.seen.sequence})])
            if [row[0] for row in found] != [self.seen.hash]:
                raise distrusted(self.store.address, gone(self.seen.sequence), self.happened)

    def run(self, *steps: Step) -> list[Rows]:
        """Run statements in order and return the rows of each."""
        if not self._begun:
            self.begin()
        return self._send(steps)

    def call(self, step: Step) -> Any:
        """Run a function that takes its own turn, and return its one row.

        Outside a transaction that was begun it is one of its own.
        """
        return self._send([step])[0][0]

    def finish(self, *steps: Step) -> None:
        """Run the last statements and commit; ``Store.settle`` says when it is on disk."""
        self._send(steps)
        if self._begun:
            self.ticket = self.store.commit(self._connection)

    def _send(self, steps: Sequence[Step]) -> list[Rows]:
        spelled = [(self.store.spell(statement), values) for statement, values in steps]
        return self.store.send(self._connection, spelled)


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
    def writing(self, seen: Head | None, happened: str = NOTHING) -> Iterator[Writer]:
        """A write transaction, rolled back if unfinished. ``seen`` is what it must find there.

        happened: what is said of charges where it does not
        """
        with self.queue(), self.driver_connection() as driver:
            yield Writer(self, driver, seen, happened)

    @contextmanager
    def driver_connection(self) -> Iterator[Any]:
        """The driver's own connection; one that was lost takes the others of the pool with it."""
        connection = self.engine.raw_connection()
        try:
            yield connection.driver_connection
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
        connecting = self.engine.connect().execution_options(**self.change)
        with self.queue(), connecting as connection, connection.begin():
            self.lock(connection)
            yield connection

    def is_lost(self, error: BaseException) -> bool:
        """Whether an error means that the connection is gone, and not that a statement failed."""
        return False

    snapshot: ClassVar[Mapping[str, Any]] = {}
    change: ClassVar[Mapping[str, Any]] = {"immediate": True}
    has_functions: ClassVar[bool] = False
    """Whether the database charges and stores by functions of its own."""
    waits_for_others: ClassVar[bool] = False
    """Whether a flush may wait for another machine, and for how long nobody knows."""
    only_reads: ClassVar[bool] = False
    """Whether this user may read the ledger and not write to it."""

    def keep_others_out(self) -> None:  # noqa: B027  a server has no files of its own
        """Take rights away that an earlier version left to everybody."""

    def mend_modes(self) -> None:  # noqa: B027  as above
        """Take rights away that a copy was put back with, before the first write."""

    def queue(self) -> AbstractContextManager[None]:
        """Wait in line before a write transaction begins."""
        return nullcontext()

    @abstractmethod
    def tables(self) -> set[str]:
        """The names of the tables that are there. Nothing is made."""

    def make_place(self) -> None:  # noqa: B027  a database is there, or is not
        """Make what a new ledger is kept in."""

    @abstractmethod
    def lock(self, connection: sa.Connection) -> None:
        """Keep every other writer out until this transaction ends."""

    def damage(self, connection: sa.Connection) -> str | None:
        """What the database itself finds wrong with its files."""
        return None

    @abstractmethod
    def begin(self, connection: Any, *, turn: bool) -> None:
        """Begin a transaction on the driver's connection, after all who came earlier."""

    @abstractmethod
    def send(self, connection: Any, steps: Sequence[tuple[str, Any]]) -> list[Rows]:
        """Run statements on the driver's connection."""

    @abstractmethod
    def commit(self, connection: Any) -> int:
        """Commit, and return a ticket for ``settle``."""

    @abstractmethod
    def settle(self, head: Head, ticket: int | None = None) -> None:
        """Return when the entry ``head`` is on disk, or refuse if it was lost on the way.

        Nothing may be shown, and no head moved, before. Whoever waits shares one flush; ``ticket``
        is what ``commit`` gave, where this process made the entry.
        """

    def is_settled(self, head: Head, *, patiently: bool) -> bool:
        """Whether the entry ``head`` is known to be on disk; refuse if it was lost.

        For whoever looks, and must not wait for others; ``patiently``: for a few seconds at most.
        """
        self.settle(head)
        return True

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
