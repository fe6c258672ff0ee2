"""From what a person has to an engine and an Ibis table on it."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import Any

from headcount.errors import MissingExtraError, UsageError
from headcount.tables.address import Address, is_address, parse_address
from headcount.tables.engine import Engine, require

NOTHING = "Nothing was read and nothing was charged."
FRAME = "headcount_frame"


def find_source(source: object) -> tuple[Engine, Any, str]:
    """The engine, the table on it, and how to name the source in a sentence."""
    package = type(source).__module__.split(".")[0]
    if isinstance(source, str) and is_address(source):
        address = parse_address(source)
        return *_from_address(address), str(address)
    if isinstance(source, str | Path):
        return *_from_files(str(source)), str(source)
    if package == "ibis":
        return *_from_ibis(source), "an Ibis table"
    if package == "pyspark":
        return *_from_spark(source), "a Spark data frame"
    if package in ("pyarrow", "pandas", "polars"):
        return *_from_frame(source, package), f"a {package} table"
    raise UsageError(
        f"A table cannot be opened from a {type(source).__name__}. Give the path of Parquet or "
        "CSV files, a duckdb:// or postgres:// address, an Arrow, pandas or Polars table, an Ibis "
        f"table or a Spark data frame. {NOTHING}"
    )


def _new_duckdb(path: str | None = None) -> Any:
    import ibis

    connection = ibis.duckdb.connect(path, read_only=True) if path else ibis.duckdb.connect()
    connection.con.execute("set enable_progress_bar = false")
    return connection


def _from_files(pattern: str) -> tuple[Engine, Any]:
    from headcount.tables.duckdb import DuckDBEngine

    names = sorted(glob.glob(pattern, recursive=True)) or [pattern]
    if not all(Path(name).is_file() for name in names):
        raise UsageError(f"There is no file at {pattern!r}. {NOTHING}")
    endings = {_ending(name) for name in names}
    if endings not in ({"parquet"}, {"csv"}):
        raise UsageError(
            f"The files at {pattern!r} must all be .parquet or all be .csv (or .csv.gz). {NOTHING}"
        )
    connection = _new_duckdb()
    try:
        if endings == {"parquet"}:
            table = connection.read_parquet(names, table_name=FRAME)
        else:
            # Types guessed from the cells would let one user's rows change the schema.
            table = connection.read_csv(names, table_name=FRAME, all_varchar=True, header=True)
    except Exception:
        kind = "Parquet" if endings == {"parquet"} else "CSV"
        raise UsageError(
            f"The files at {pattern!r} cannot be read as {kind} with one schema. {NOTHING}"
        ) from None
    return DuckDBEngine(connection), table


def _ending(name: str) -> str:
    path = Path(name.lower())
    return "csv" if path.name.endswith((".csv", ".csv.gz")) else path.suffix.lstrip(".")


def _from_address(address: Address) -> tuple[Engine, Any]:
    engine: Engine
    if address.engine == "duckdb":
        from headcount.tables.duckdb import DuckDBEngine

        if not Path(address.database).is_file():
            raise UsageError(f"There is no DuckDB file at {address.database!r}. {NOTHING}")
        try:
            connection = _new_duckdb(address.database)
        except Exception:
            raise UsageError(
                f"{address.database!r} cannot be opened as a DuckDB file; another process may be "
                f"writing to it. {NOTHING}"
            ) from None
        engine = DuckDBEngine(connection)
    else:
        connection = _connect_postgres(address)
        from headcount.tables.postgres import PostgresEngine

        engine = PostgresEngine(connection)
    try:
        table = connection.table(address.table, database=address.schema)
    except Exception:
        raise UsageError(f"There is no table to read at {address}. {NOTHING}") from None
    return engine, table


def _connect_postgres(address: Address) -> Any:
    require("psycopg", "postgres", "Reading from PostgreSQL")
    require("adbc_driver_postgresql", "postgres", "Reading from PostgreSQL")
    import ibis
    import psycopg

    try:
        return ibis.postgres.from_connection(psycopg.connect(address.database, autocommit=True))
    except Exception:
        raise UsageError(
            f"The server at {address} did not accept the connection. {NOTHING}"
        ) from None


def _from_frame(source: Any, package: str) -> tuple[Engine, Any]:
    """A frame in memory, read in place: pandas and Polars share their buffers with Arrow."""
    from headcount.tables.duckdb import DuckDBEngine

    try:
        if package == "pandas":
            import pyarrow as pa

            source = pa.Table.from_pandas(source, preserve_index=False)
        elif package == "polars":
            source = (source.collect() if hasattr(source, "collect") else source).to_arrow()
        connection = _new_duckdb()
        connection.con.register(FRAME, source)
        return DuckDBEngine(connection), connection.table(FRAME)
    except MissingExtraError:
        raise
    except Exception:
        raise UsageError(
            f"This {package} table has a column that cannot be read as one type. {NOTHING}"
        ) from None


def _from_ibis(table: Any) -> tuple[Engine, Any]:
    if not hasattr(table, "schema"):
        raise UsageError(f"An Ibis value is not a table; give a table expression. {NOTHING}")
    try:
        connection = table.get_backend()
    except Exception:
        raise UsageError(f"The Ibis table is not bound to one connection. {NOTHING}") from None
    if connection.name == "duckdb":
        from headcount.tables.duckdb import DuckDBEngine

        return DuckDBEngine(connection), table
    if connection.name == "postgres":
        from headcount.tables.postgres import PostgresEngine

        return PostgresEngine(connection), table
    if connection.name == "pyspark":
        from headcount.tables.spark import SparkEngine

        return SparkEngine(connection), table
    raise UsageError(
        f"headcount runs on DuckDB, PostgreSQL and Spark, not on {connection.name}. {NOTHING}"
    )


def _from_spark(frame: Any) -> tuple[Engine, Any]:
    from secrets import token_hex

    require("ibis", "spark", "Reading a Spark data frame")
    import ibis

    from headcount.tables.spark import SparkEngine

    if not hasattr(frame, "createOrReplaceTempView"):
        raise UsageError(f"Give a Spark data frame, not a {type(frame).__name__}. {NOTHING}")
    session = frame.sparkSession
    # Ibis changes these two settings of a session it is given; they are the session owner's.
    names = ("spark.sql.session.timeZone", "spark.sql.mapKeyDedupPolicy")
    before = {name: session.conf.get(name) for name in names}
    connection = ibis.pyspark.connect(session)
    for name, value in before.items():
        session.conf.set(name, value)
    view = f"headcount_{token_hex(8)}"
    frame.createOrReplaceTempView(view)
    return SparkEngine(connection), connection.table(view)
