"""From what a person has to an engine and an Ibis table on it.

The rows of a table are the union, over its records, of a public function of one record. What
decides about types, names, refusals and success is said by whoever opens the table, or stands in
metadata; never in a cell.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any

from headcount.errors import HeadcountError, UsageError
from headcount.screens import quoted
from headcount.tables.address import (
    Address,
    is_address,
    parse_address,
    refuse_other_address,
)
from headcount.tables.engine import Engine, require
from headcount.tables.identity import Identity, hashed
from headcount.tables.source import CALLED, NOTHING, Options, Source


def find_source(source: object, user: str, options: Options) -> Source:
    """The engine, the table on it, and what is to be said of them."""
    package = type(source).__module__.split(".")[0]
    if isinstance(source, str) and is_address(source):
        options.refuse_for("a table in a database", "csv", "types")
        return _from_address(parse_address(source), options)
    if isinstance(source, str | Path):
        from headcount.tables.files import open_files

        options.refuse_for("files", "trusted_view")
        return open_files(str(source), user, options)
    options.refuse_for("a table that has types of its own", "csv", "types")
    if package == "ibis":
        options.refuse_for(
            "an Ibis table, whose connection has a limit of its own", "memory", "scratch"
        )
        return _from_ibis(source)
    if package == "pyspark":
        options.refuse_for("Spark, which has limits of its own", "memory", "scratch")
        return _from_spark(source)
    if package in ("pyarrow", "pandas", "polars"):
        options.refuse_for("a table in memory", "trusted_view")
        return _from_frame(source, package, options)
    raise UsageError(
        f"A table cannot be opened from a {type(source).__name__}. Give the path of Parquet or "
        "CSV files, a duckdb:// or postgres:// address, an Arrow, pandas or Polars table, an Ibis "
        f"table or a Spark data frame. {NOTHING}"
    )


def identify(source: str) -> Identity:
    """Where the rows of files or of an address are. Nothing is read."""
    if is_address(source):
        return _from_address(parse_address(source), Options()).identity
    refuse_other_address(source)
    from headcount.tables.files import paths_of
    from headcount.tables.identity import of_files

    return of_files(paths_of(source), source)


def _from_address(address: Address, options: Options) -> Source:
    if address.engine == "postgres":
        options.refuse_for("PostgreSQL, which has limits of its own", "memory", "scratch")
        return _from_postgres(address)
    from headcount.tables.duckdb import DuckDBEngine
    from headcount.tables.duckdb_own import own_duckdb
    from headcount.tables.duckdb_schema import described, named, table_on
    from headcount.tables.scratch import Scratch

    if not Path(address.database).is_file():
        raise UsageError(f"There is no DuckDB file at {quoted(address.database)}. {NOTHING}")
    scratch = Scratch(options.scratch)
    try:
        connection = own_duckdb(address.database, scratch, options.memory)
    except UsageError:
        raise
    except Exception:
        raise UsageError(
            f"{quoted(address.database)} cannot be opened as a DuckDB file; another process may be "
            f"writing to it. {NOTHING}"
        ) from None
    try:
        types = described(connection.con, named(address.table, address.schema))
    except Exception:
        raise UsageError(f"There is no table to read at {address}. {NOTHING}") from None
    table, others = table_on(connection, address.table, types, address.schema)
    engine = DuckDBEngine(connection, scratch)
    return _of_address(engine, table, address, others)


def _from_postgres(address: Address) -> Source:
    connection = _connect_postgres(address)
    from headcount.tables.postgres import PostgresEngine
    from headcount.tables.postgres_refusals import refuse_unreadable
    from headcount.tables.postgres_schema import table_on

    engine = PostgresEngine(connection)
    try:
        refuse_unreadable(connection.con, address.table, address.schema, str(address))
        table, others = table_on(connection, address.table, address.schema)
    except UsageError:
        raise
    except Exception:
        raise UsageError(
            f"There is no table to read at {address}. {NOTHING} Check its name and its schema: "
            "?table=public.events"
        ) from None
    return _of_address(engine, table, address, others)


def _of_address(engine: Engine, table: Any, address: Address, others: tuple[str, ...]) -> Source:
    identity = replace(engine.identity(table), query="", former=(str(address),))
    if not identity.covers:
        raise UsageError(f"There is no stored table at {address}. {NOTHING}")
    called = (address.table,) if address.schema is None else (address.schema, address.table)
    return Source(
        engine, table, str(address), others, is_view=True, identity=identity, called=called
    )


def _connect_postgres(address: Address) -> Any:
    require("psycopg", "postgres", "Reading from PostgreSQL")
    require("adbc_driver_postgresql", "postgres", "Reading from PostgreSQL")
    import ibis
    import psycopg

    from headcount.tables.postgres_refusals import why_no_connection

    try:
        return ibis.postgres.from_connection(psycopg.connect(address.database, autocommit=True))
    except Exception as error:
        refused = f"No connection to {address}: {why_no_connection(error)}. {NOTHING}"
    # Not linked to what the driver said, which may hold a password.
    raise UsageError(refused)


def _from_frame(frame: Any, package: str, options: Options) -> Source:
    """A frame in memory, read in place: pandas and Polars share their buffers with Arrow."""
    from headcount.tables.duckdb import DuckDBEngine
    from headcount.tables.duckdb_own import own_duckdb
    from headcount.tables.duckdb_schema import described, table_on
    from headcount.tables.files import ROWS, check_names, registers
    from headcount.tables.frames import frame_table
    from headcount.tables.scratch import Scratch

    table, others = frame_table(frame, package)
    check_names(table.column_names, others, f"this {package} table")
    scratch = Scratch(options.scratch)
    connection = own_duckdb(None, scratch, options.memory)
    show = registers(table)
    show(connection.con)
    known, more = table_on(connection, ROWS, described(connection.con, ROWS))
    engine = DuckDBEngine(connection, scratch, show=show)
    # Rows in memory have no place: the account's name and the columns say which they are.
    identity = Identity(query=hashed(repr([(c.name, str(c.type)) for c in table.schema])))
    return Source(engine, known, f"a {package} table", (*others, *more), identity=identity)


def _on_duckdb(connection: Any, table: Any) -> Engine:
    from headcount.tables.duckdb import DuckDBEngine
    from headcount.tables.duckdb_schema import seen_by_cursors
    from headcount.tables.sessions import lock_of

    with lock_of(connection):
        alone = not seen_by_cursors(connection, table)
    return DuckDBEngine(connection, alone=alone)


def _on_postgres(connection: Any, _: Any) -> Engine:
    from headcount.tables.postgres import PostgresEngine

    return PostgresEngine(connection)


def _on_spark(connection: Any, _: Any) -> Engine:
    from headcount.tables.spark import SparkEngine

    return SparkEngine(connection)


ENGINES: dict[str, Callable[[Any, Any], Engine]] = {
    "duckdb": _on_duckdb,
    "postgres": _on_postgres,
    "pyspark": _on_spark,
}
"""By what Ibis calls them: the engine of a connection that holds a table."""


def _from_ibis(table: Any) -> Source:
    if not hasattr(table, "schema"):
        raise UsageError(f"An Ibis value is not a table; give a table expression. {NOTHING}")
    try:
        connection = table.get_backend()
    except Exception:
        raise UsageError(f"The Ibis table is not bound to one connection. {NOTHING}") from None
    if connection.name not in ENGINES:
        raise UsageError(
            f"headcount runs on {', '.join(ENGINES)}, not on {connection.name}. {NOTHING}"
        )
    try:
        engine = ENGINES[connection.name](connection, table)
        sound = _with_sound_memory(table)
        identity = engine.identity(sound)
    except HeadcountError:
        raise
    except Exception:  # an engine may quote more than the reader should see
        raise UsageError(
            "The Ibis table cannot be read: a table behind it is gone, or its connection was "
            f"closed. {NOTHING}"
        ) from None
    return Source(
        engine, sound, "an Ibis table", is_view=True, identity=identity, called=_called(table)
    )


def _called(table: Any) -> tuple[str, ...]:
    """The name of a table that is one by itself; what is made of tables has none."""
    op = table.op()
    return (op.name,) if type(op).__name__ == "DatabaseTable" else (CALLED,)


def _with_sound_memory(table: Any) -> Any:
    """The expression with its tables in memory made sound, before an engine scans them.

    Public ones stay as they are: whether a query can read them depends on nobody.
    """
    import ibis

    from headcount.tables.public import private_leaves
    from headcount.tables.sound import sound

    mended = {}
    for op in private_leaves(table, "InMemoryTable"):
        try:
            rows = _arrow_of(op)
            kept, _ = sound(rows)
            for name in kept.column_names:
                place = rows.schema.get_field_index(name)
                rows = rows.set_column(place, name, kept[name].cast(rows.schema.field(place).type))
        except UsageError:
            raise
        except Exception:  # Arrow would quote a cell
            raise _misfit() from None
        mended[op] = ibis.memtable(rows, schema=op.schema).op()
    return table.op().replace(mended).to_expr() if mended else table


def _arrow_of(op: Any) -> Any:
    """A table in memory as Arrow. Objects of pandas are text, and fit where a text is declared."""
    import pyarrow as pa

    from headcount.tables.frames import pandas_column

    wanted = op.schema.to_pyarrow()
    frame = op.data.to_frame() if type(op.data).__name__ == "PandasDataFrameProxy" else None
    if frame is None:
        return op.data.to_pyarrow(op.schema)
    columns = []
    for place, field in enumerate(wanted):
        column = frame.iloc[:, place]
        if column.dtype == object and field.type not in (pa.string(), pa.large_string()):
            raise _misfit()
        found = pandas_column(column)
        columns.append(found if found.type == field.type else found.cast(field.type))
    return pa.table(columns, schema=wanted)


def _misfit() -> UsageError:
    return UsageError(
        "A pandas table in this Ibis expression holds columns that do not fit its schema: columns "
        "of objects are text, and no others become another type. Give ibis.memtable an Arrow table "
        f"with these types, or declare the columns as they are. {NOTHING}"
    )


def _from_spark(frame: Any) -> Source:
    require("ibis", "spark", "Reading a Spark data frame")
    from headcount.tables.spark import SparkEngine, compiler_of, countable

    if not hasattr(frame, "createOrReplaceTempView"):
        raise UsageError(f"Give a Spark data frame, not a {type(frame).__name__}. {NOTHING}")
    connection = compiler_of(frame.sparkSession)
    rows, others = countable(frame)
    view = f"headcount_{token_hex(8)}"
    rows.createOrReplaceTempView(view)
    table = connection.table(view)
    engine = SparkEngine(connection)
    identity = engine.identity(table)
    return Source(engine, table, "a Spark data frame", others, is_view=True, identity=identity)
