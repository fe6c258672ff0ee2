"""DuckDB: the default engine. Needs no server and reads files and frames in place."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from headcount.tables.engine import builtin, cast_always, cast_batches, withheld
from headcount.tables.kinds import Kind, kinds_of

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_BATCH = 65_536


class DuckDBEngine:
    """Runs plans on one DuckDB connection, one stream at a time."""

    name = "duckdb"

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def kinds(self, expr: Any) -> Mapping[str, Kind]:
        """What each column holds; text under a collation is told apart by its schema."""
        return _without_collated(self.connection, expr, kinds_of(expr))

    def stream(self, expr: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Run the query through DuckDB's own record batch reader."""
        with withheld():
            connection = self.connection
            connection._register_in_memory_tables(expr)
            result = connection.con.execute(connection.compile(expr))
            # Older releases know the reader only by its older name.
            open_reader = getattr(result, "to_arrow_reader", None) or result.fetch_record_batch
            yield from cast_batches(iter(open_reader(ROWS_PER_BATCH)), schema)

    def relation(self, table: pa.Table) -> Any:
        """An Arrow table, scanned in place, and let go with the last query that names it."""
        name = f"headcount_{token_hex(8)}"
        self.connection.con.register(name, table)
        relation = self.connection.table(name)
        weakref.finalize(relation.op(), _forget, self.connection.con, name)
        return relation

    def keep(self, expr: Any, name: str) -> None:
        """A temporary table of the connection."""
        self.connection._register_in_memory_tables(expr)
        self.connection.con.execute(
            f"create temporary table {name} as {self.connection.compile(expr)}"
        )

    def drop(self, name: str) -> None:
        """Forget it."""
        self.connection.con.execute(f"drop table if exists {name}")

    def sha256_hex(self, text: Any) -> Any:
        """SHA-256, as DuckDB and Spark spell it."""
        return text.hexdigest("sha256")

    def hash_order(self, text: Any) -> Any:
        """The first 60 bits as an integer: sorting integers takes half the memory of texts."""
        import ibis

        digits = self.sha256_hex(text).left(15)
        return cast_always(ibis.literal("0x").concat(digits), "int64")

    def hash_limit(self, limit: int) -> Any:
        """The integer itself."""
        import ibis

        return ibis.literal(limit, "int64")

    def nfc(self, text: Any) -> Any:
        """Normal form C; text that is plain ASCII passes through untouched."""
        return builtin("nfc_normalize", ("string",), "string")(text)

    def sort_key(self, value: Any) -> Any:
        """DuckDB compares text by its bytes."""
        return value

    def in_utc(self, time: Any) -> Any:
        """The clock in UTC, whatever the session's own zone."""
        import ibis

        shown = builtin("timezone", ("string", "timestamp('UTC')"), "timestamp")
        return shown(ibis.literal("UTC"), time)

    def moment(self, time: datetime) -> Any:
        """A constant time without a zone."""
        import ibis

        return ibis.literal(time, "timestamp")

    def truncate(self, time: Any, to: str) -> Any:
        """Cut a time by DuckDB's calendar."""
        import ibis

        cut = builtin("date_trunc", ("string", "timestamp"), "timestamp")
        start = cut(ibis.literal(to), cast_always(time, "timestamp"))
        return start if to == "hour" else cast_always(start, "date")


def _forget(connection: Any, name: str) -> None:
    with suppress(Exception):
        connection.unregister(name)


def _without_collated(connection: Any, expr: Any, kinds: dict[str, Kind]) -> dict[str, Kind]:
    """Mark text as folded when any table in the database was declared with a collation."""
    declared = connection.con.execute(
        "select count(*) from duckdb_tables() where sql ilike '% collate %'"
    ).fetchone()[0]
    default = connection.con.execute("select current_setting('default_collation')").fetchone()[0]
    if not declared and default.lower() in ("", "binary", "c", "posix"):
        return kinds
    return {name: Kind.FOLDED_TEXT if kind is Kind.TEXT else kind for name, kind in kinds.items()}
