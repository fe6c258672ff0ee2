"""Parquet and CSV files, read by DuckDB."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from headcount.errors import SchemaError, UsageError
from headcount.privacy.argument import shown
from headcount.tables.address import is_address, parse_address
from headcount.tables.csv import Csv
from headcount.tables.csv_files import csv_columns, csv_dataset
from headcount.tables.declared_types import check_types, type_rules, typed
from headcount.tables.duckdb import DuckDBEngine, own_duckdb
from headcount.tables.duckdb_schema import table_on
from headcount.tables.folders import folder_columns
from headcount.tables.parquet_files import ParquetFiles, check_schemas
from headcount.tables.scratch import Scratch
from headcount.tables.source import NOTHING, Options, Source

ROWS = "headcount_rows"
FOLDER_RULE = "What stands in the names of folders is text."
MENDED_RULE = (
    "Texts that are not UTF-8 and times that cannot be read count as missing; row groups of a "
    "damaged file that cannot be read are left out."
)


def open_files(pattern: str, user: str, options: Options) -> Source:
    """The files of a path or a pattern as one table."""
    paths = _paths(pattern)
    endings = {_ending(path) for path in paths}
    if endings == {"parquet"}:
        options.refuse_for("Parquet files", "csv")
        return _parquet(pattern, paths, user, options)
    if endings == {"csv"}:
        return _csv(pattern, paths, user, options)
    raise UsageError(
        f"The files at {pattern!r} must all be .parquet or all be .csv (or .csv.gz). {NOTHING}"
    )


def files_at(source: str) -> list[Path]:
    """The files that a source is read from; none for a table on a server."""
    if is_address(source):
        address = parse_address(source)
        return [Path(address.database)] if address.engine == "duckdb" else []
    return [Path(path) for path in _paths(source)]


def _paths(pattern: str) -> list[str]:
    if "\x00" in pattern or not pattern:
        raise UsageError(f"A path must be a text such as 'events.parquet'. {NOTHING}")
    names = sorted(glob.glob(pattern, recursive=True)) or [pattern]
    paths = [os.path.abspath(name) for name in names if _is_text(name)]
    if not paths or not all(os.path.isfile(path) for path in paths):
        raise UsageError(
            f"There is no file at {shown(pattern)}. Give the path of Parquet or CSV files. "
            f"{NOTHING}"
        )
    return paths


def _is_text(name: str) -> bool:
    """A file whose name is not UTF-8 is left out: engines cannot be told of it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _ending(path: str) -> str:
    name = Path(path.lower())
    return "csv" if name.name.endswith((".csv", ".csv.gz")) else name.suffix.lstrip(".")


def check_names(countable: Sequence[str], others: Sequence[str], where: str) -> None:
    """Refuse names that DuckDB takes for one, and a table of which nothing can be counted."""
    names = [*countable, *others]
    if not countable:
        raise SchemaError(
            f"No column of {where} holds numbers, texts, booleans or times; all are of kind other. "
            f"{NOTHING}"
        )
    if len({name.casefold() for name in names}) < len(names):
        raise UsageError(
            f"Two columns of {where} have one name, or names that differ only in upper and "
            f"lower case. Rename one of them. {NOTHING}"
        )


def _csv(pattern: str, paths: list[str], user: str, options: Options) -> Source:
    csv = options.csv or Csv()
    folders = folder_columns(paths, pattern)
    columns = csv_columns(paths, csv, pattern)
    check_names([*columns, *folders[0]], (), pattern)
    check_types(options.types, [*columns, *folders[0]], user)
    scratch = Scratch()
    connection = own_duckdb(None, scratch, options.memory)
    connection.con.register(ROWS, csv_dataset(paths, csv, columns, folders))
    names = [*columns, *folders[0]]
    table, _ = table_on(connection, ROWS, dict.fromkeys(names, "VARCHAR"))
    rules = (str(csv), *type_rules(options.types))
    return Source(
        DuckDBEngine(connection, scratch),
        typed(table, options.types),
        pattern,
        rules=rules,
        lists_columns=csv.columns is not None,
    )


def _parquet(pattern: str, paths: list[str], user: str, options: Options) -> Source:
    folders = folder_columns(paths, pattern)
    countable, others = check_schemas(paths, pattern)
    check_names([*countable, *folders[0]], others, pattern)
    check_types(options.types, folders[0], user)
    scratch = Scratch()
    connection = own_duckdb(None, scratch, options.memory)
    files = ParquetFiles(connection, ROWS, paths, folders, scratch)
    try:
        types = files.open()
    except Exception:
        raise UsageError(f"A file at {pattern!r} cannot be read as Parquet. {NOTHING}") from None
    wanted = {name: kind for name, kind in types.items() if name not in others}
    table, more = table_on(connection, ROWS, wanted)
    return Source(
        DuckDBEngine(connection, scratch, files),
        typed(table, options.types),
        pattern,
        others=(*others, *more),
        rules=(MENDED_RULE, *([FOLDER_RULE] if folders[0] else []), *type_rules(options.types)),
    )
