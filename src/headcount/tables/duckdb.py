"""DuckDB: the default engine. Needs no server and reads files and frames in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from headcount.errors import HeadcountError, UsageError
from headcount.stops import raise_if_stopped
from headcount.tables.duckdb_identity import identity_of
from headcount.tables.duckdb_schema import collated, cursor_of, described
from headcount.tables.duckdb_views import DuckDBRelations
from headcount.tables.engine import (
    MAX_TEXT_BYTES,
    builtin,
    cast_always,
    cast_batches,
    through_text,
    withheld,
)
from headcount.tables.identity import Identity
from headcount.tables.interrupts import execute, interruptible
from headcount.tables.kinds import Kind, kinds_of
from headcount.tables.parquet_files import ParquetFiles
from headcount.tables.query_identity import query_identity
from headcount.tables.scratch import Scratch
from headcount.tables.sessions import Current, Relations, lock_of
from headcount.tables.views import check_expression

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_PER_BATCH = 65_536
FIRST_MOMENT, LAST_MOMENT = "0001-01-01 00:00:00", "9999-12-31 23:59:59.999999"


def _unreadable() -> UsageError:
    """Not linked to what DuckDB says, which may quote rows."""
    return UsageError(
        "The table cannot be read any more: its files are gone, or are no such files by now, or "
        "its connection was closed. Nothing was read and nothing was charged. Open it again."
    )


def _reader(connection: Any, query: str) -> Any:
    """The answer as record batches; releases before 1.5 have the reader by an older name only."""
    if hasattr(connection, "to_arrow_reader"):
        return interruptible(
            connection, lambda: connection.sql(query).to_arrow_reader(ROWS_PER_BATCH)
        )
    return execute(connection, query).fetch_record_batch(ROWS_PER_BATCH)


@dataclass(slots=True)
class _Session:
    """A DuckDB connection, what was registered on it, and whether its files were mended."""

    connection: Any
    shown: set[str] = field(default_factory=set)
    is_mended: bool = False


class DuckDBEngine:
    """Runs plans on DuckDB, each release on a cursor of its own, one stream at a time.

    show:   puts the rows on a connection, where they are not in the database for all to see
    files:  the files that are read, if there are any. They are mended when a query cannot read
            them to their end. What it can read of them stays the same, and a query that fails has
            given no answer yet: whatever it reads is summed up before its first row leaves.
    alone:  whether only the given connection sees the rows, so that releases wait in turn
    """

    name = "duckdb"

    def __init__(
        self,
        connection: Any,
        scratch: Scratch | None = None,
        *,
        show: Callable[[Any], None] | None = None,
        files: ParquetFiles | None = None,
        alone: bool = False,
    ) -> None:
        self.connection = connection
        self.scratch = scratch
        self._show, self._files, self._alone = show, files, alone
        self._turn = lock_of(connection)
        self._relations = Relations()
        self._current: Current[_Session] = Current()
        self._main = _Session(connection.con)

    @contextmanager
    def session(self) -> Iterator[None]:
        """A cursor of the same database: temporary views and tables are its own."""
        if self._alone:
            with self._turn, self._current.within(_Session(self._main.connection)):
                yield
            return
        try:
            with self._turn:
                session = _Session(cursor_of(self._main.connection))
        except Exception:
            raise _unreadable() from None
        try:
            self._begin(session)
            with self._current.within(session):
                yield
        finally:
            session.connection.close()

    def _begin(self, session: _Session) -> None:
        """Put the rows on the connection, as they are by now."""
        try:
            if self._show is not None:
                self._show(session.connection)
        except HeadcountError:
            raise
        except Exception:
            raise _unreadable() from None

    def _here(self) -> _Session:
        return self._current.session or self._main

    def kinds(self, expr: Any) -> Mapping[str, Kind]:
        """What each column holds; text under a collation is told apart by the compiled query."""
        kinds = kinds_of(expr)
        try:
            with self._turn:
                folded = collated(self.connection, expr)
        except Exception:
            raise _unreadable() from None
        return {
            name: Kind.FOLDED_TEXT if kind is Kind.TEXT and name in folded else kind
            for name, kind in kinds.items()
        }

    def description(self, expr: Any) -> Mapping[str, str]:
        """What this session's connection finds; a view is made of files as they are by now."""
        query = self.compiled(expr)
        with self._turn:
            return described(self._here().connection, query)

    def identity(self, expr: Any) -> Identity:
        """The files of the databases that hold the tables, and what is made of these."""
        with self._turn:
            query = query_identity(expr, self.connection.compile)
            return replace(identity_of(self.connection, expr), query=query)

    def check_rows(self, expr: Any, user: str, *, trusted: bool) -> None:
        """Refuse what mixes users, in the expression and in the views that it reads."""
        with self._turn:
            relations = DuckDBRelations(self.connection, trusted=trusted)
            check_expression(expr, user, relations.check_leaf, trusted=trusted)

    def compiled(self, expr: Any) -> str:
        """The query, once the tables that it names are on this session's connection."""
        here = self._here()
        for name, table in self._relations.named_in(expr).items():
            if name not in here.shown:
                here.connection.register(name, table)
                here.shown.add(name)
        with self._turn:
            return str(self.connection.compile(expr))

    def _run(self, query: str, ask: Callable[[Any, str], Any]) -> Any:
        here = self._here()
        raise_if_stopped()
        files = None if here.is_mended else self._files
        try:
            return ask(here.connection, query)
        except Exception:
            if files is None:
                raise
        # Outside the handler: whatever stops the rest is not linked to an error that quotes rows.
        raise_if_stopped()
        files.mend(here.connection)
        here.is_mended = True
        return ask(here.connection, query)

    def stream(self, expr: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Run the query through DuckDB's own record batch reader."""
        with withheld():
            reader = self._run(self.compiled(expr), _reader)
            yield from cast_batches(iter(reader), schema)

    def relation(self, table: pa.Table) -> Any:
        """An Arrow table, scanned in place."""
        return self._relations.add(self.connection, f"headcount_{token_hex(8)}", table)

    def keep(self, expr: Any, name: str) -> None:
        """A temporary table of the connection."""
        self._run(f"create temporary table {name} as {self.compiled(expr)}", execute)

    def drop(self, name: str) -> None:
        """Remove the temporary table."""
        self._here().connection.execute(f"drop table if exists {name}")

    def workers(self) -> None:
        """There are none: the rows come through this process."""
        return

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

    def readable(self, text: Any) -> Any:
        """DuckDB keeps no text that is not UTF-8."""
        return builtin("strlen", ("string",), "int64")(text) <= MAX_TEXT_BYTES

    def nfc(self, text: Any) -> Any:
        """Normal form C; DuckDB's own would cut a text off at NUL."""
        import ibis

        composed = builtin("nfc_normalize", ("string",), "string")(text)
        nul = builtin("chr", ("int32",), "string")(ibis.literal(0, "int32"))
        has_nul = builtin("contains", ("string", "string"), "boolean")(text, nul)
        return ibis.cases((has_nul, text), else_=composed)

    def sort_key(self, value: Any) -> Any:
        """DuckDB compares text by its bytes."""
        return value

    def in_utc(self, time: Any) -> Any:
        """The clock in UTC, whatever the session's own zone."""
        import ibis

        first, last = (
            cast_always(ibis.literal(f"{moment}+00"), "timestamp('UTC')")
            for moment in (FIRST_MOMENT, LAST_MOMENT)
        )
        shown = builtin("timezone", ("string", "timestamp('UTC')"), "timestamp")
        return ibis.cases((time.between(first, last), shown(ibis.literal("UTC"), time)))

    def clock(self, time: Any) -> Any:
        """Times in seconds, milliseconds or nanoseconds, compared in their own unit first."""
        import ibis

        scale = time.type().scale
        if scale == 9:
            # The numbers at both ends stand for infinities, or for no time at all.
            count = builtin("epoch_ns", ("timestamp(9)",), "int64")(time)
            count = ibis.cases((count.between(2 - (1 << 63), (1 << 63) - 2), count))
            whole = builtin("divide", ("int64", "int64"), "int64")(count, ibis.literal(1_000))
            below = ibis.cases((count % 1_000 < 0, 1), else_=0)
            return builtin("make_timestamp", ("int64",), "timestamp")(whole - below)
        if scale in (0, 3):
            ends = (FIRST_MOMENT, "9999-12-31 23:59:59" + (".999" if scale else ""))
            first, last = (cast_always(ibis.literal(end), f"timestamp({scale})") for end in ends)
            return ibis.cases((time.between(first, last), cast_always(time, "timestamp(6)")))
        return time

    def as_double(self, decimal: Any) -> Any:
        """Every decimal of DuckDB is within the doubles."""
        return through_text(decimal)

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
