"""PostgreSQL: the query runs where the data lives, and ADBC carries the answer as Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from headcount.errors import UsageError
from headcount.tables.engine import (
    MAX_TEXT_BYTES,
    builtin,
    cast_always,
    cast_batches,
    double,
    require,
    through_text,
    withheld,
)
from headcount.tables.identity import Identity
from headcount.tables.interrupts import execute_adbc
from headcount.tables.kinds import Kind, kinds_of
from headcount.tables.postgres_identity import identity_of
from headcount.tables.postgres_schema import (
    KINDS,
    check_encoding,
    check_storable,
    check_temporary,
    quoted,
    types_of,
)
from headcount.tables.postgres_views import PostgresRelations
from headcount.tables.query_identity import query_identity
from headcount.tables.sessions import Current, Relations, lock_of
from headcount.tables.views import check_expression

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(slots=True)
class _Session:
    """An ADBC connection and the names of the tables that were put on it."""

    connection: Any
    shown: set[str] = field(default_factory=set)


class PostgresEngine:
    """Compiles on Ibis's connection; each release has an ADBC connection to the same database."""

    name = "postgres"

    def __init__(self, connection: Any) -> None:
        require("adbc_driver_postgresql", "postgres", "Reading from PostgreSQL")
        from psycopg.conninfo import make_conninfo

        self.connection = connection
        check_encoding(connection)
        check_temporary(connection)
        info = connection.con.info
        parameters = info.get_parameters()
        if info.password:
            parameters["password"] = info.password
        self._address = make_conninfo(**parameters)
        self._turn = lock_of(connection)
        self._relations = Relations()
        self._current: Current[_Session] = Current()
        self._main: _Session | None = None

    def _connect(self) -> _Session:
        from adbc_driver_postgresql import dbapi

        try:
            return _Session(dbapi.connect(self._address, autocommit=True))
        except Exception:
            raise UsageError(
                "A second connection to the PostgreSQL server was refused. headcount needs one "
                "for each release. Nothing was read and nothing was charged."
            ) from None

    @contextmanager
    def session(self) -> Iterator[None]:
        """A new connection to the server; its temporary tables end with it."""
        session = self._connect()
        try:
            with self._current.within(session):
                yield
        finally:
            with suppress(Exception):
                session.connection.close()

    def _here(self) -> _Session:
        if self._current.session is not None:
            return self._current.session
        if self._main is None:
            self._main = self._connect()
        return self._main

    def _compiled(self, expr: Any) -> str:
        """The query, once the tables that it names are on this session's connection."""
        here = self._here()
        for name, table in self._relations.named_in(expr).items():
            if name not in here.shown:
                with here.connection.cursor() as cursor:
                    cursor.adbc_ingest(name, table, mode="create", temporary=True)
                    cursor.execute(f"analyze {name}")
                here.shown.add(name)
        with self._turn:
            return str(self.connection.compile(expr))

    def kinds(self, expr: Any) -> Mapping[str, Kind]:
        """What each column holds, checked on the connection that will run the query."""
        known = kinds_of(expr)
        with self.session():
            return self._kinds(expr, known)

    def description(self, expr: Any) -> Mapping[str, str]:
        """What the server finds."""
        query = self._compiled(expr)
        with self._turn:
            return types_of(self.connection, query)

    def _kinds(self, expr: Any, known: Mapping[str, Kind]) -> Mapping[str, Kind]:
        try:
            query = self._compiled(expr)
            types = types_of(self.connection, query)
            kinds = {
                name: KINDS[types[name]][1]
                if types[name] in KINDS and known[name] is not Kind.OTHER
                else Kind.OTHER
                for name in known
            }
            texts = [name for name, kind in kinds.items() if kind is Kind.TEXT]
            folds = ", ".join(
                "(select not collisdeterministic from pg_collation where oid = pg_collation_for("  # noqa: S608
                f"(select {quoted(name)} from ({query}) as q limit 0))::regcollation)"
                for name in texts
            )
            with self._here().connection.cursor() as cursor:
                cursor.execute(f"select * from ({query}) as q limit 0")  # noqa: S608
                cursor.fetchall()
                folding = self._row(cursor, f"select {folds}") if texts else ()
        except Exception:
            raise UsageError(
                "The table cannot be read through a new connection to the PostgreSQL server: "
                "temporary tables and tables of an open transaction are not visible there. "
                "Nothing was read and nothing was charged."
            ) from None
        for name, is_folding in zip(texts, folding, strict=True):
            if is_folding:
                kinds[name] = Kind.FOLDED_TEXT
        return kinds

    def identity(self, expr: Any) -> Identity:
        """The server's own number and the tables', and what is made of these."""
        with self._turn:
            query = query_identity(expr, self.connection.compile)
            return replace(identity_of(self.connection, expr), query=query)

    def check_rows(self, expr: Any, user: str, *, trusted: bool) -> None:
        """Refuse what mixes users, in the expression and in the views that it reads."""
        relations = PostgresRelations(self.connection, trusted=trusted)
        check_expression(expr, user, relations.check_leaf, trusted=trusted)

    @staticmethod
    def _row(cursor: Any, query: str) -> Any:
        cursor.execute(query)
        return cursor.fetchall()[0]

    def stream(self, expr: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Run the query as a binary copy that arrives in Arrow batches."""
        with withheld(), self._here().connection.cursor() as cursor:
            execute_adbc(cursor, self._compiled(expr))
            yield from cast_batches(iter(cursor.fetch_record_batch()), schema)

    def relation(self, table: pa.Table) -> Any:
        """A temporary table on each connection that runs a query with it."""
        check_storable(table)
        return self._relations.add(self.connection, f"headcount_{token_hex(8)}", table)

    def keep(self, expr: Any, name: str) -> None:
        """A temporary table on the connection that runs the queries."""
        query = self._compiled(expr)
        with self._here().connection.cursor() as cursor:
            execute_adbc(cursor, f"create temporary table {name} as {query}")
            execute_adbc(cursor, f"analyze {name}")

    def drop(self, name: str) -> None:
        """Remove the temporary table."""
        with self._here().connection.cursor() as cursor:
            cursor.execute(f"drop table if exists {name}")

    def workers(self) -> None:
        """There are none: the rows come through this process."""
        return

    def sha256_hex(self, text: Any) -> Any:
        """SHA-256 of the UTF-8 bytes, from PostgreSQL's own functions."""
        import ibis

        digest = builtin("sha256", ("binary",), "binary")(self.sort_key(text))
        return builtin("encode", ("binary", "string"), "string")(digest, ibis.literal("hex"))

    def hash_order(self, text: Any) -> Any:
        """The hex digits themselves, in byte order: fixed in length, so they sort as numbers."""
        return self.sort_key(self.sha256_hex(text).left(15))

    def hash_limit(self, limit: int) -> Any:
        """The 15 hex digits of the integer, in byte order."""
        import ibis

        return self.sort_key(ibis.literal(f"{limit:015x}"))

    def readable(self, text: Any) -> Any:
        """A database in UTF-8 keeps no other text."""
        return builtin("octet_length", ("string",), "int64")(text) <= MAX_TEXT_BYTES

    def nfc(self, text: Any) -> Any:
        """Normal form C; plain ASCII is left alone, because normalising is slow here."""
        import ibis

        n_bytes = builtin("octet_length", ("string",), "int64")(text)
        composed = builtin("normalize", ("string",), "string")(text)
        return ibis.cases((text.isnull() | (n_bytes == text.length()), text), else_=composed)

    def sort_key(self, value: Any) -> Any:
        """Bytes, since a collation may sort text in any order."""
        import ibis

        if not value.type().is_string():
            return value
        as_bytes = builtin("convert_to", ("string", "string"), "binary")
        return as_bytes(value, ibis.literal("UTF8"))

    def in_utc(self, time: Any) -> Any:
        """The clock in UTC, whatever the session's own zone."""
        import ibis

        shown = builtin("timezone", ("string", "timestamp('UTC')"), "timestamp")
        return shown(ibis.literal("UTC"), time)

    def clock(self, time: Any) -> Any:
        """PostgreSQL knows microseconds alone."""
        return time

    def as_double(self, decimal: Any) -> Any:
        """A numeric may lie beyond the doubles, be closer to 0 than all of them, or be no number.

        Comparisons are made in numerics, where NaN is above all; a cast would fail.
        """
        import ibis

        ends = ("-1e300", "-1e-300", "1e-300", "1e300")
        far_below, below, above, far_above = (cast_always(ibis.literal(x), "decimal") for x in ends)
        return ibis.cases(
            ((decimal > below) & (decimal < above), double(0)),
            (decimal.between(far_below, far_above), through_text(decimal)),
        )

    def moment(self, time: datetime) -> Any:
        """A constant time without a zone."""
        import ibis

        return cast_always(ibis.literal(time.isoformat(sep=" ")), "timestamp")

    def truncate(self, time: Any, to: str) -> Any:
        """Cut a time by PostgreSQL's calendar."""
        import ibis

        cut = builtin("date_trunc", ("string", "timestamp"), "timestamp")
        start = cut(ibis.literal(to), cast_always(time, "timestamp"))
        return start if to == "hour" else cast_always(start, "date")
