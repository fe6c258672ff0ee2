"""A ledger in a PostgreSQL database, for a team on several machines."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from threading import Timer
from typing import Any, ClassVar

import sqlalchemy as sa

from headcount.errors import LedgerError, MissingExtraError
from headcount.ledger.address import Address
from headcount.ledger.distrust import distrusted, gone
from headcount.ledger.journal import Head
from headcount.ledger.schema import VERSION_TABLE
from headcount.ledger.steps import Rows
from headcount.ledger.stores.refusals import forbidden
from headcount.ledger.stores.store import Store

log = logging.getLogger("headcount")

PATIENCE = 5.0
"""Seconds after which whoever waits for the server is told so."""
POOL_PATIENCE = 600.0
"""Seconds that a thread waits for one of the connections that other threads have."""
WAITING = "waiting for the server to flush (a synchronous standby may be away)"
# The lock of a database in which writers queue: first come, first served. Any fixed number does.
QUEUE = 4_845_414_443_455_544
TAKE_TURN = f"SELECT pg_advisory_xact_lock({QUEUE})"
SET_ISOLATION = "SET default_transaction_isolation = 'read committed'"
BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
COMMIT = "SET LOCAL synchronous_commit = off; COMMIT"
SETTLE = (
    "SELECT pg_logical_emit_message(true, 'headcount', ''), %(sequence)s = 0 OR EXISTS "
    "(SELECT FROM entries WHERE sequence = %(sequence)s AND hash = %(hash)s)"
)
# The same without a word to the server's log: whether what can be seen is on its disk, and no
# standby is to have it too. The position that must be flushed is asked for first.
IS_SETTLED = (
    "SELECT pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn() AND "
    "(current_setting('synchronous_standby_names') = '' OR "
    "current_setting('synchronous_commit') = 'local'), %(sequence)s = 0 OR EXISTS "
    "(SELECT FROM entries WHERE sequence = %(sequence)s AND hash = %(hash)s)"
)
# A ledger in a schema of the search path that this role may not use: it would seem empty.
HIDDEN = (
    "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
    "WHERE relname = %(table)s AND NOT has_schema_privilege(n.oid, 'USAGE') AND "
    "nspname = ANY (string_to_array(translate(current_setting('search_path'), ' \"', ''), ','))"
)
CANCELLED = "57014"
NAMES = (
    "synchronous_commit",
    "synchronous_standby_names",
    "fsync",
    "full_page_writes",
    "server_encoding",
    "in_hot_standby",
    "default_transaction_isolation",
)


def settings_of(connection: Any) -> tuple[str, dict[str, str]]:
    """Who logged in on a driver's connection, and the settings that a promise rests on."""
    asked = ", ".join(f"current_setting('{name}')" for name in NAMES)
    row = connection.execute(f"SELECT session_user, {asked}").fetchone()
    settings = dict(zip(NAMES, map(str, row[1:]), strict=True))
    if settings["default_transaction_isolation"] != "read committed":
        # A statement by itself takes the server's default.
        connection.execute(SET_ISOLATION)
    connection.commit()
    return str(row[0]), settings


def wrong_settings(settings: Mapping[str, str], what: str = "charges") -> str | None:
    """What is wrong with a server's settings and how to mend it; nothing if all is well.

    what: what is acknowledged, and must not be lost
    """
    apply = "; SELECT pg_reload_conf();"
    commit = settings["synchronous_commit"]
    if commit == "off" or (commit == "local" and settings["synchronous_standby_names"]):
        lost = "the server crashes" if commit == "off" else "a standby takes over"
        return (
            f"synchronous_commit is {commit}, so {what} that were acknowledged can be lost when "
            f"{lost}. Run: ALTER SYSTEM SET synchronous_commit = on{apply} and look for a "
            "role or database that sets it"
        )
    for name in ("fsync", "full_page_writes"):
        if settings[name] != "on":
            return (
                f"{name} is off, so a crash can lose or tear {what} that were acknowledged. "
                f"Run: ALTER SYSTEM SET {name} = on{apply}"
            )
    if settings["server_encoding"] != "UTF8":
        return "its encoding is not UTF8. Make a new one: CREATE DATABASE ... ENCODING 'UTF8'"
    if settings["in_hot_standby"] == "on":
        return "it is a standby, which cannot be written to. Give the address of the primary"
    return None


def _leave_to_us(connection: Any) -> None:
    """Our messages say where a transaction begins and ends; the driver must not."""
    if not connection.autocommit:
        connection.autocommit = True


@contextmanager
def _warnings(connection: Any) -> Iterator[list[Any]]:
    """What the server warns of meanwhile."""
    heard: list[Any] = []

    def hear(said: Any) -> None:
        if said.severity_nonlocalized == "WARNING":
            heard.append(said.sqlstate)

    connection.add_notice_handler(hear)
    try:
        yield heard
    finally:
        connection.remove_notice_handler(hear)


def _is_hidden(connection: sa.Connection) -> bool:
    found = connection.exec_driver_sql(HIDDEN, {"table": VERSION_TABLE}).first()
    return found is not None


@contextmanager
def _after_a_while(job: Callable[[], object]) -> Iterator[None]:
    """Do something once, if the block takes long."""
    timer = Timer(PATIENCE, job)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class PostgresStore(Store):
    """A database whose writers queue in one advisory lock, at READ COMMITTED."""

    has_functions = True
    waits_for_others = True
    # Said each time: a connection of the pool may have been told to leave transactions to us.
    change: ClassVar[Mapping[str, Any]] = {"isolation_level": "READ COMMITTED"}
    snapshot: ClassVar[Mapping[str, Any]] = {
        "isolation_level": "REPEATABLE READ",
        "postgresql_readonly": True,
    }

    def __init__(self, address: Address) -> None:
        if find_spec("psycopg") is None:
            raise MissingExtraError("postgres", "A ledger on PostgreSQL")
        # Not SERIALIZABLE: every charge meets every other on the same rows, so all but one of a
        # crowd would fail and try again. Locks make them wait their turn instead.
        engine = sa.create_engine(
            address.url,
            isolation_level="READ COMMITTED",
            # Threads beyond the pool wait as long as those wait that hold a connection.
            pool_timeout=POOL_PATIENCE,
            connect_args={"connect_timeout": 10, "application_name": "headcount ledger"},
        )
        self._analyst = ""
        sa.event.listen(engine, "connect", self._settings)
        super().__init__(address, engine)

    def _settings(self, connection: Any, _record: object) -> None:
        self._analyst, settings = settings_of(connection)
        wrong = wrong_settings(settings)
        if wrong is not None:
            connection.close()
            raise LedgerError(
                f"The database {str(self.address)!r} cannot keep the ledger's promise: {wrong}. "
                "Nothing was charged."
            )

    def begin(self, connection: Any, *, turn: bool) -> None:
        """Begin, and take a turn."""
        with connection.cursor() as cursor:
            _leave_to_us(connection)
            cursor.execute(f"{BEGIN}; {TAKE_TURN}" if turn else BEGIN)

    def send(self, connection: Any, steps: Sequence[tuple[str, Any]]) -> list[Rows]:
        """Run each statement; outside a transaction that was begun, each is one of its own."""
        _leave_to_us(connection)
        rows: list[Rows] = []
        with connection.cursor() as cursor:
            for text, values in steps:
                cursor.execute(text, values)
                rows.append(cursor.fetchall() if cursor.description else [])
        return rows

    def commit(self, connection: Any) -> int:
        """Commit, without a flush: ``settle`` waits for that when the turn is over."""
        with connection.cursor() as cursor:
            cursor.execute(COMMIT)
        return 0

    def settle(self, head: Head, ticket: int | None = None) -> None:
        """Write one more record to the server's log and wait for it: all before it is on disk too.

        The server flushes for all who wait at once, to its standbys as well. A server that was
        started anew meanwhile, or another one, may have lost the entry; it is looked for.
        """
        with _after_a_while(lambda: log.warning(WAITING)):
            _, was_ended = self._ask(SETTLE, head)
        if was_ended:
            # A wait for a standby that somebody ended is no error to the server.
            raise LedgerError(
                f"The ledger {str(self.address)!r}: entry {head.sequence} was written, and whether "
                "a standby has it is unknown. Count it as spent. Nothing is released. Trying again "
                "under the same key never charges twice."
            )

    def is_settled(self, head: Head, *, patiently: bool) -> bool:
        """Whether the entry is on disk, from what the server knows or by a wait that ends."""
        is_known, _ = self._ask(IS_SETTLED, head)
        if is_known or not patiently:
            return is_known
        try:
            _, was_ended = self._ask(SETTLE, head, until_tired=True)
        except self.errors as error:
            if getattr(error, "sqlstate", None) == CANCELLED:
                return False
            raise
        return not was_ended

    def _ask(self, question: str, head: Head, *, until_tired: bool = False) -> tuple[bool, bool]:
        """What the server says of an entry, which must be there; and whether a wait was ended."""
        named = {"sequence": head.sequence, "hash": head.hash}
        with (
            self.driver_connection() as driver,
            _warnings(driver) as warnings,
            _after_a_while(driver.cancel) if until_tired else nullcontext(),
        ):
            ((row,),) = self.send(driver, [(question, named)])
        if not row[1]:
            raise distrusted(self.address, gone(head.sequence))
        return bool(row[0]), bool(warnings)

    def is_lost(self, error: BaseException) -> bool:
        """Whether the server went away: no word from it, or a word that it is going."""
        original = getattr(error, "orig", None) or error
        if not isinstance(original, self.engine.dialect.loaded_dbapi.OperationalError):
            return False
        state = getattr(original, "sqlstate", None)
        return state is None or state[:3] in ("08P", "080", "57P")

    def tables(self) -> set[str]:
        """The tables in the schema that comes first."""
        with self.reading() as connection:
            found = set(sa.inspect(connection).get_table_names())
            if not found and _is_hidden(connection):
                raise forbidden(self.address, self._analyst)
            return found

    def lock(self, connection: sa.Connection) -> None:
        """Take the turn of a writer for the whole transaction."""
        connection.exec_driver_sql(TAKE_TURN)

    def analyst(self) -> str:
        """The role that logged in; ``SET ROLE`` does not change it."""
        if not self._analyst:
            with self.reading() as connection:
                self._analyst = str(connection.exec_driver_sql("SELECT session_user").scalar())
        return self._analyst
