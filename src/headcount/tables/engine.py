"""What headcount asks of an engine, and what all engines share.

Ibis writes the query; the engine's own Arrow path carries the answer. Everything that engines
spell differently is a method here, so that the rest of headcount never asks which engine it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from headcount.errors import EngineError, HeadcountError, MissingExtraError

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.tables.identity import Identity
    from headcount.tables.kinds import Kind
    from headcount.tables.workers import Workers


MAX_TEXT_BYTES = 1 << 20


class Engine(Protocol):
    """One database that can run a plan. Values passed in and out are Ibis expressions."""

    name: str
    connection: Any
    """Ibis's own, which compiles."""

    def kinds(self, expr: Any) -> Mapping[str, Kind]:
        """What each column holds, asked of the schema only. Reads no row."""
        ...

    def identity(self, expr: Any) -> Identity:
        """Where the rows of an expression really are, asked of the database itself."""
        ...

    def check_rows(self, expr: Any, user: str, *, trusted: bool) -> None:
        """Refuse an expression or a view whose rows are not each a function of one record."""
        ...

    def stream(self, expr: Any, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Run a query and yield its rows in the declared types. Any failure is an EngineError."""
        ...

    def relation(self, table: pa.Table) -> Any:
        """A small public table, visible to whichever connection will run a query that names it."""
        ...

    def keep(self, expr: Any, name: str) -> None:
        """Run a query into a temporary table of this name, where later queries can see it."""
        ...

    def drop(self, name: str) -> None:
        """Forget a temporary table."""
        ...

    def session(self) -> AbstractContextManager[None]:
        """A connection for what this thread asks until the block ends, shared with no other.

        Temporary tables and copies on disk go with it, however it ends. Where an engine has one
        connection only, sessions wait in turn.
        """
        ...

    def workers(self) -> Workers | None:
        """Processes that draw beside the data; nothing where all rows come through this one."""
        ...

    def description(self, expr: Any) -> Mapping[str, str]:
        """The columns of an expression and their types, as the engine has them now."""
        ...

    def sha256_hex(self, text: Any) -> Any:
        """SHA-256 of a text's UTF-8 bytes, as 64 lower-case hex digits."""
        ...

    def hash_order(self, text: Any) -> Any:
        """A value that sorts as the integer from the first 15 hex digits of the SHA-256."""
        ...

    def hash_limit(self, limit: int) -> Any:
        """A constant below 2**60 that values of ``hash_order`` can be compared with."""
        ...

    def readable(self, text: Any) -> Any:
        """Whether a text is UTF-8 of at most ``MAX_TEXT_BYTES``; any other counts as missing."""
        ...

    def nfc(self, text: Any) -> Any:
        """A text in Unicode normal form C, so that one visible word is one group."""
        ...

    def sort_key(self, value: Any) -> Any:
        """A value whose order is that of the UTF-8 bytes, whatever the collation."""
        ...

    def in_utc(self, time: Any) -> Any:
        """A time with a zone, as the clock in UTC showed it, without a zone.

        Missing outside the years 1 to 9999.
        """
        ...

    def clock(self, time: Any) -> Any:
        """A time without a zone in microseconds, rounded down; missing where that overflows."""
        ...

    def as_double(self, decimal: Any) -> Any:
        """The double nearest to a decimal number; missing where there is none."""
        ...

    def moment(self, time: datetime) -> Any:
        """A constant time without a zone."""
        ...

    def truncate(self, time: Any, to: str) -> Any:
        """A time without a zone, cut to a unit: a date, or for hours a time."""
        ...


@contextmanager
def withheld() -> Iterator[None]:
    """Turn whatever an engine says into the one fixed error; it may quote private rows."""
    try:
        yield
    except (HeadcountError, GeneratorExit, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:
        raise EngineError from None


@cache
def builtin(name: str, arguments: tuple[str, ...], result: str) -> Any:
    """A function the engine has and Ibis does not know."""
    import ibis

    def call(*_: Any) -> None: ...

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [f"argument_{index}" for index in range(len(arguments))]
    call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(argument, kind) for argument in names]
    )
    call.__name__ = name
    signature = (tuple(ibis.dtype(argument) for argument in arguments), ibis.dtype(result))
    return ibis.udf.scalar.builtin(call, name=name, signature=signature)


def cast_always(value: Any, kind: str) -> Any:
    """Cast even where Ibis thinks the type is already right; engines widen sums on their own."""
    import ibis
    import ibis.expr.operations as ops

    return ops.Cast(value, ibis.dtype(kind)).to_expr()


def double(value: float | int) -> Any:
    """A double constant; some engines read a bare 10.0 as a decimal."""
    import ibis

    return cast_always(ibis.literal(value), "float64")


def through_text(decimal: Any) -> Any:
    """The double nearest to a decimal: all engines read a text to the nearest one."""
    return cast_always(cast_always(decimal, "string"), "float64")


def cast_batches(batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Give every batch the declared types, without metadata that differs between engines."""
    import pyarrow as pa

    for batch in batches:
        columns = [
            column if column.type == field.type else column.cast(field.type)
            for column, field in zip(batch.columns, schema, strict=True)
        ]
        yield pa.record_batch(columns, schema=schema)


def require(module: str, extra: str, purpose: str) -> None:
    """Refuse early, and say what to install, when an optional part is missing."""
    try:
        found = find_spec(module) is not None
    except ModuleNotFoundError:
        found = False
    if not found:
        raise MissingExtraError(extra, purpose)
