"""PostgreSQL: the query runs where the data lives, and ADBC carries the answer as Arrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from headcount.errors import UsageError
from headcount.tables.engine import builtin, cast_always, cast_batches, require, withheld
from headcount.tables.kinds import Kind, kinds_of

if TYPE_CHECKING:
    import pyarrow as pa


class PostgresEngine:
    """Compiles on Ibis's connection and runs on an ADBC connection to the same database."""

    name = "postgres"

    def __init__(self, connection: Any) -> None:
        require("adbc_driver_postgresql", "postgres", "Reading from PostgreSQL")
        from adbc_driver_postgresql import dbapi
        from psycopg.conninfo import make_conninfo

        self.connection = connection
        info = connection.con.info
        parameters = info.get_parameters()
        if info.password:
            parameters["password"] = info.password
        try:
            self.adbc = dbapi.connect(make_conninfo(**parameters), autocommit=True)
        except Exception:
            raise UsageError(
                "A second connection to the PostgreSQL server was refused. headcount needs one "
                "to carry results. Nothing was read and nothing was charged."
            ) from None

    def kinds(self, expr: Any) -> Mapping[str, Kind]:
        """What each column holds, checked on the connection that will run the query."""
        kinds = kinds_of(expr)
        texts = [name for name, kind in kinds.items() if kind is Kind.TEXT]
        query = self.connection.compile(expr)
        collations = ", ".join(
            f"pg_collation_for((select {_quoted(name)} from ({query}) as q limit 0))"  # noqa: S608
            for name in texts
        )
        try:
            with self.adbc.cursor() as cursor:
                cursor.execute(f"select * from ({query}) as q limit 0")  # noqa: S608
                cursor.fetchall()
                used = self._row(cursor, f"select {collations}") if texts else ()
                folding = self._row(
                    cursor,
                    "select coalesce(string_agg(collname, ','), '') from pg_collation "
                    "where not collisdeterministic",
                )[0].split(",")
        except Exception:
            raise UsageError(
                "The table cannot be read through a new connection to the PostgreSQL server: "
                "temporary tables and tables of an open transaction are not visible there. "
                "Nothing was read and nothing was charged."
            ) from None
        for name, collation in zip(texts, used, strict=True):
            if collation is not None and collation.split(".")[-1].strip('"') in folding:
                kinds[name] = Kind.FOLDED_TEXT
        return kinds

    @staticmethod
    def _row(cursor: Any, query: str) -> Any:
        cursor.execute(query)
        return cursor.fetchall()[0]

    def stream(self, expr: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Run the query as a binary copy that arrives in Arrow batches."""
        with withheld(), self.adbc.cursor() as cursor:
            cursor.execute(self.connection.compile(expr))
            yield from cast_batches(iter(cursor.fetch_record_batch()), schema)

    def relation(self, table: pa.Table) -> Any:
        """A temporary table on the connection that runs the query."""
        import ibis
        import ibis.expr.operations as ops

        name = f"headcount_{token_hex(8)}"
        try:
            with self.adbc.cursor() as cursor:
                cursor.adbc_ingest(name, table, mode="create", temporary=True)
                cursor.execute(f"analyze {name}")
        except Exception:
            raise UsageError(
                "The list of groups could not be stored as a temporary table in PostgreSQL: the "
                "role needs the right to make one, and a text cannot hold the character NUL."
            ) from None
        return ops.DatabaseTable(
            name=name,
            schema=ibis.Schema.from_pyarrow(table.schema),
            source=self.connection,
            namespace=ops.Namespace(),
        ).to_expr()

    def keep(self, expr: Any, name: str) -> None:
        """A temporary table on the connection that runs the queries."""
        with self.adbc.cursor() as cursor:
            cursor.execute(f"create temporary table {name} as {self.connection.compile(expr)}")
            cursor.execute(f"analyze {name}")

    def drop(self, name: str) -> None:
        """Forget it."""
        with self.adbc.cursor() as cursor:
            cursor.execute(f"drop table if exists {name}")

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


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
