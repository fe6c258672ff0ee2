"""A ledger in a PostgreSQL database, for a team on several machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, ClassVar

import sqlalchemy as sa

from headcount.errors import LedgerError, MissingExtraError
from headcount.ledger.address import Address
from headcount.ledger.store import Rows, Store

# The lock of a database in which writers queue: first come, first served. Any fixed number does.
QUEUE = 4_845_414_443_455_544
TAKE_TURN = f"SELECT pg_advisory_xact_lock({QUEUE})"
BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED"
NAMES = (
    "synchronous_commit",
    "synchronous_standby_names",
    "fsync",
    "full_page_writes",
    "server_encoding",
    "in_hot_standby",
)


def wrong_settings(settings: Mapping[str, str]) -> str | None:
    """What is wrong with a server's settings and how to mend it; nothing if all is well."""
    apply = "; SELECT pg_reload_conf();"
    commit = settings["synchronous_commit"]
    if commit == "off" or (commit == "local" and settings["synchronous_standby_names"]):
        lost = "the server crashes" if commit == "off" else "a standby takes over"
        return (
            f"synchronous_commit is {commit}, so charges that were acknowledged can be lost when "
            f"{lost}. Run: ALTER SYSTEM SET synchronous_commit = on{apply} and look for a "
            "role or database that sets it"
        )
    for name in ("fsync", "full_page_writes"):
        if settings[name] != "on":
            return (
                f"{name} is off, so a crash can lose or tear charges that were acknowledged. "
                f"Run: ALTER SYSTEM SET {name} = on{apply}"
            )
    if settings["server_encoding"] != "UTF8":
        return "its encoding is not UTF8. Make a new one: CREATE DATABASE ... ENCODING 'UTF8'"
    if settings["in_hot_standby"] == "on":
        return "it is a standby, which cannot be written to. Give the address of the primary"
    return None


class PostgresStore(Store):
    """A database whose writers queue in one advisory lock, at READ COMMITTED."""

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
            connect_args={"connect_timeout": 10, "application_name": "headcount ledger"},
        )
        self._analyst = ""
        sa.event.listen(engine, "connect", self._settings)
        super().__init__(address, engine)

    def _settings(self, connection: Any, _record: object) -> None:
        asked = ", ".join(f"current_setting('{name}')" for name in NAMES)
        row = connection.execute(f"SELECT session_user, {asked}").fetchone()
        connection.rollback()
        self._analyst = str(row[0])
        wrong = wrong_settings(dict(zip(NAMES, map(str, row[1:]), strict=True)))
        if wrong is not None:
            connection.close()
            raise LedgerError(
                f"The database {str(self.address)!r} cannot keep the ledger's promise: {wrong}. "
                "Nothing was charged."
            )

    def send(
        self, connection: Any, steps: Sequence[tuple[str, Any]], *, first: bool, commit: bool
    ) -> list[Rows]:
        """Run each statement, after taking a turn: four messages make a charge."""
        with connection.cursor() as cursor:
            if first:
                # Our messages say where the transaction begins and ends; the driver must not.
                connection.autocommit = True
                cursor.execute(f"{BEGIN}; {TAKE_TURN}")
            rows: list[Rows] = []
            for text, values in steps:
                cursor.execute(text, values)
                rows.append(cursor.fetchall() if cursor.description else [])
            if commit:
                cursor.execute("COMMIT")
        return rows

    def is_lost(self, error: BaseException) -> bool:
        """Whether the server went away: no word from it, or a word that it is going."""
        original = getattr(error, "orig", None) or error
        if not isinstance(original, self.engine.dialect.loaded_dbapi.OperationalError):
            return False
        state = getattr(original, "sqlstate", None)
        return state is None or state[:3] in ("08P", "080", "57P")

    def lock(self, connection: sa.Connection) -> None:
        """Take the turn of a writer for the whole transaction."""
        connection.exec_driver_sql(TAKE_TURN)

    def analyst(self) -> str:
        """The role that logged in; ``SET ROLE`` does not change it."""
        if not self._analyst:
            with self.reading() as connection:
                self._analyst = str(connection.exec_driver_sql("SELECT session_user").scalar())
        return self._analyst
