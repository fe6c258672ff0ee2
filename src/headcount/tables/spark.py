"""Spark: the distributed engine. Only the finished tally leaves the cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from secrets import token_hex
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from headcount.errors import UsageError
from headcount.tables.engine import (
    MAX_TEXT_BYTES,
    builtin,
    cast_always,
    cast_batches,
    through_text,
    withheld,
)
from headcount.tables.identity import FilePart, Identity, Read, hashed
from headcount.tables.kinds import Kind, kinds_of
from headcount.tables.query_identity import said_in_memory
from headcount.tables.sessions import Current, Relations, lock_of
from headcount.tables.spark_log import quiet
from headcount.tables.spark_plan import check_plan
from headcount.tables.spark_tables import SparkTables
from headcount.tables.spark_workers import SparkWorkers
from headcount.tables.views import check_expression

if TYPE_CHECKING:
    import pyarrow as pa

# Microseconds since 1970 of the years 1 to 9999, outside which intervals overflow.
FIRST_MICROSECOND = -62_135_596_800_000_000
LAST_MICROSECOND = 253_402_300_799_999_999
BY_BYTES = "UTF8_BINARY"


class SparkEngine:
    """Runs plans on one Spark session."""

    name = "spark"

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.spark = connection._session
        self._turn = lock_of(connection)
        self._relations = Relations()
        self._current: Current[SparkTables] = Current()
        self._main = SparkTables(self.spark)

    @property
    def _here(self) -> SparkTables:
        return self._current.session or self._main

    def _compiled(self, expr: Any) -> str:
        """The query, once the tables that it names are in the session."""
        for name, table in self._relations.own_in(expr).items():
            self._here.show(name, table)
        with self._turn:
            self.connection._register_in_memory_tables(expr)
            return str(self.connection.compile(expr))

    def _query(self, expr: Any) -> Any:
        query = self._compiled(expr)
        with quiet():
            return self.spark.sql(query)

    def kinds(self, expr: Any) -> Mapping[str, Kind]:
        """What each column holds; Ibis does not tell Spark's two kinds of time apart."""
        from pyspark.sql import types

        kinds = kinds_of(expr)
        try:
            fields = self._query(expr).schema.fields
        except Exception:
            raise UsageError(
                "Spark cannot read this table. Nothing was read and nothing was charged."
            ) from None
        for field in fields:
            if isinstance(field.dataType, types.TimestampType):
                kinds[field.name] = Kind.ZONED_TIME
            elif getattr(field.dataType, "collation", BY_BYTES) != BY_BYTES:
                kinds[field.name] = Kind.FOLDED_TEXT
        return kinds

    def description(self, expr: Any) -> Mapping[str, str]:
        """What the data frame was made with; it stays that, whatever becomes of its files."""
        return {field.name: field.dataType.simpleString() for field in self._query(expr).schema}

    def identity(self, expr: Any) -> Identity:
        """The files that Spark would read, and the plan that it makes of them."""
        said = said_in_memory(expr)
        try:
            frame = self._query(expr)
            files = [unquote(urlsplit(place).path) for place in frame.inputFiles()]
            plan = (
                f"{frame.semanticHash()} {frame._jdf.queryExecution().analyzed().canonicalized()}"
                + (f" {said}" if said else "")
            )
        except Exception:
            return Identity()
        there = tuple(FilePart(os.path.realpath(path)) for path in files)
        rows = tuple(Read(file.key) for file in there)
        return Identity(files=tuple(dict.fromkeys(there)), rows=rows, query=hashed(plan))

    def check_rows(self, expr: Any, user: str, *, trusted: bool) -> None:
        """Refuse what mixes users, in the expression and in how its tables were made."""

        def check_leaf(op: Any, column: str | None) -> None:
            if type(op).__name__ == "DatabaseTable":
                place = ".".join(f"`{part}`" for part in (*_namespace(op), op.name))
                plan = self.spark.table(place)._jdf.queryExecution().analyzed()
                check_plan(plan, column, trusted=trusted)

        check_expression(expr, user, check_leaf, trusted=trusted)

    def stream(self, expr: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Run the query and collect it as Arrow; ``toArrow`` keeps the order of the query.

        It hands nothing out before all is there, so a query that failed may be asked again.
        """
        with withheld():
            query = self._compiled(expr)
            with quiet():
                table = self._here.run(lambda: self.spark.sql(query).toArrow())
            yield from cast_batches(iter(table.to_batches()), schema)

    def relation(self, table: pa.Table) -> Any:
        """A view in the session, made by the release that runs a query with it."""
        return self._relations.add(self.connection, f"headcount_{token_hex(8)}", table)

    def keep(self, expr: Any, name: str) -> None:
        """A view of rows that are computed here, and made again when executors are lost."""
        query = self._compiled(expr)
        with quiet():
            self._here.keep(name, query)

    def drop(self, name: str) -> None:
        """Remove the temporary table."""
        self._here.drop(name)

    @contextmanager
    def session(self) -> Iterator[None]:
        """Spark runs what many threads ask; what this one makes meanwhile goes with the block."""
        tables = SparkTables(self.spark)
        try:
            with self._current.within(tables):
                yield
        finally:
            tables.end()

    def workers(self) -> SparkWorkers:
        """The executors of the session."""
        return SparkWorkers(self.spark, self._query)

    def sha256_hex(self, text: Any) -> Any:
        """SHA-256, as DuckDB and Spark spell it."""
        return text.hexdigest("sha256")

    def hash_order(self, text: Any) -> Any:
        """The first 60 bits as an integer."""
        import ibis

        convert = builtin("conv", ("string", "int32", "int32"), "string")
        digits = self.sha256_hex(text).left(15)
        return cast_always(convert(digits, ibis.literal(16), ibis.literal(10)), "int64")

    def hash_limit(self, limit: int) -> Any:
        """The integer itself."""
        import ibis

        return ibis.literal(limit, "int64")

    def readable(self, text: Any) -> Any:
        """Spark keeps whatever bytes a file holds as text."""
        n_bytes = builtin("octet_length", ("string",), "int64")(text)
        return (n_bytes <= MAX_TEXT_BYTES) & builtin("is_valid_utf8", ("string",), "boolean")(text)

    def nfc(self, text: Any) -> Any:
        """Normal form C from the ICU library that Spark ships; plain ASCII is left alone."""
        import ibis

        n_bytes = builtin("octet_length", ("string",), "int64")(text)
        call = builtin("reflect", ("string", "string", "string", "boolean"), "string")
        composed = call(
            ibis.literal("com.ibm.icu.text.Normalizer"),
            ibis.literal("compose"),
            text,
            ibis.literal(False),
        )
        # A text with NUL stays as it is, as on every engine.
        nul = builtin("char", ("int64",), "string")(ibis.literal(0, "int64"))
        has_nul = builtin("contains", ("string", "string"), "boolean")(text, nul)
        is_kept = text.isnull() | (n_bytes == text.length()) | has_nul
        return ibis.cases((is_kept, text), else_=composed)

    def sort_key(self, value: Any) -> Any:
        """Spark compares text by its bytes."""
        return value

    def in_utc(self, time: Any) -> Any:
        """The clock in UTC, from the microseconds since 1970.

        Spark's own conversions pass through the session's zone, where an hour of each year is
        missing and another comes twice.
        """
        import ibis

        micros = builtin("unix_micros", ("timestamp",), "int64")(time)
        micros = ibis.cases((micros.between(FIRST_MICROSECOND, LAST_MICROSECOND), micros))
        rest = builtin("pmod", ("int64", "int64"), "int64")(
            micros, ibis.literal(1_000_000, "int64")
        )
        seconds = builtin("unix_seconds", ("timestamp",), "int64")(time)
        # A fraction spelled as text is exact; a division of decimals is not always.
        digits = rest.cast("string").lpad(6, "0")
        fraction = cast_always(ibis.literal("0.").concat(digits), "decimal(18, 6)")
        start = self.moment(datetime(1970, 1, 1))
        inside = ibis.cases((rest.notnull(), cast_always(seconds, "decimal(18, 6)")))
        return start + _interval(0, inside) + _interval(0, fraction)

    def clock(self, time: Any) -> Any:
        """Spark knows microseconds alone."""
        return time

    def as_double(self, decimal: Any) -> Any:
        """Every decimal of Spark is within the doubles."""
        return through_text(decimal)

    def moment(self, time: datetime) -> Any:
        """A constant time without a zone."""
        import ibis

        return builtin("to_timestamp_ntz", ("string",), "timestamp")(
            ibis.literal(time.isoformat(sep=" "))
        )

    def truncate(self, time: Any, to: str) -> Any:
        """Cut a time by Spark's calendar, through dates, which have no zone."""
        import ibis

        if to == "hour":
            part = builtin("date_part", ("string", "timestamp"), "decimal(8, 6)")
            minutes = builtin("minute", ("timestamp",), "int32")(time)
            return time - _interval(minutes, part(ibis.literal("SECOND"), time))
        day = cast_always(time, "date")
        if to == "day":
            return day
        return builtin("trunc", ("date", "string"), "date")(day, ibis.literal(to.upper()))


def compiler_of(spark: Any) -> Any:
    """Ibis's connection for a session, whose settings stay as they are: connecting changes two."""
    import ibis
    from ibis.backends.pyspark import Backend

    if ibis.options.pyspark is None:
        Backend.register_options()
    connection = Backend(spark)
    connection._session, connection._mode = spark, "batch"
    return connection


def countable(frame: Any) -> tuple[Any, tuple[str, ...]]:
    """The frame with the columns that something can be counted by, and the names of the others."""
    from pyspark.sql import types

    known = (
        types.BooleanType,
        types.IntegralType,
        types.FloatType,
        types.DoubleType,
        types.DecimalType,
        types.StringType,
        types.DateType,
        types.TimestampType,
        types.TimestampNTZType,
    )
    fields = frame.schema.fields
    names = [field.name for field in fields if isinstance(field.dataType, known)]
    everything = [field.name for field in fields]
    if len({name.casefold() for name in everything}) < len(everything):
        raise UsageError(
            "Two columns of this Spark data frame have one name, or names that differ only in "
            "upper and lower case. Rename one of them. Nothing was read and nothing was charged."
        )
    quoted = [frame["`" + name.replace("`", "``") + "`"] for name in names]
    others = tuple(name for name in everything if name not in names)
    return (frame.select(*quoted) if others else frame), others


def _interval(minutes: Any, seconds: Any) -> Any:
    import ibis

    make = builtin(
        "make_dt_interval", ("int32", "int32", "int32", "decimal(18, 6)"), "interval('s')"
    )
    zero = ibis.literal(0, "int32")
    return make(zero, zero, zero if isinstance(minutes, int) else minutes, seconds)


def _namespace(op: Any) -> list[str]:
    """Where a table is, outermost first."""
    return [part for part in (op.namespace.catalog, op.namespace.database) if part]
