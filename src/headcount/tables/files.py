"""Parquet and CSV files, read by DuckDB."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headcount.errors import SchemaError, UsageError
from headcount.screens import quoted
from headcount.tables.address import is_address, parse_address, refuse_other_address
from headcount.tables.csv import Csv
from headcount.tables.csv_files import csv_columns, csv_dataset
from headcount.tables.declared_types import check_types, type_rules, typed
from headcount.tables.duckdb import DuckDBEngine
from headcount.tables.duckdb_own import own_duckdb
from headcount.tables.duckdb_schema import table_on
from headcount.tables.folders import folder_columns
from headcount.tables.identity import of_files
from headcount.tables.parquet_files import ParquetFiles
from headcount.tables.parquet_schema import check_schemas
from headcount.tables.scratch import Scratch
from headcount.tables.source import CALLED, NOTHING, Options, Source

ROWS = "headcount_rows"
SHORT_RULE = "A compressed file that is cut short or damaged counts as far as it can be read."
FOLDER_RULE = "What stands in the names of folders is text."
MENDED_RULE = (
    "Texts that are not UTF-8 and times that cannot be read count as missing, and so does a column "
    "of a damaged file in those row groups where it cannot be read."
)


def open_files(pattern: str, user: str, options: Options) -> Source:
    """The files of a path or a pattern as one table.

    They are read where links lead to now. A link that leads elsewhere later is another source.
    """
    paths = paths_of(pattern)
    endings = {_ending(path) for path in paths}
    if endings == {"parquet"}:
        options.refuse_for("Parquet files", "csv")
        return _parquet(pattern, paths, user, options)
    if endings == {"csv"}:
        return _csv(pattern, paths, user, options)
    raise UsageError(
        f"The files at {quoted(pattern)} must all end in .parquet or all in .csv or "
        ".csv.gz; rename them if they are such files. Tables of a DuckDB file are opened by an "
        f"address: duckdb://file.duckdb?table=name. {NOTHING}"
    )


def files_at(source: str) -> list[Path]:
    """The files that a source is read from; none for a table on a server."""
    if is_address(source):
        address = parse_address(source)
        return [Path(address.database)] if address.engine == "duckdb" else []
    return [Path(path) for path in paths_of(source)]


def paths_of(pattern: str) -> list[str]:
    """The files of a path or a pattern, in order."""
    if "\x00" in pattern or not pattern:
        raise UsageError(f"A path must be a text such as 'events.parquet'. {NOTHING}")
    # A file that is called so is meant, whatever the name would match as a pattern.
    is_name = os.path.isfile(pattern)
    names = [pattern] if is_name else sorted(glob.glob(pattern, recursive=True)) or [pattern]
    paths = [os.path.abspath(name) for name in names if _is_text(name)]
    if [pattern] == names and os.path.isdir(pattern):
        raise UsageError(
            f"{quoted(pattern)} is a folder. Say which of its files, such as /*.parquet at its "
            f"end, or /**/*.parquet with those of folders below. {NOTHING}"
        )
    # A file that is open and deleted can be read through its handle, and is nowhere.
    if not paths or not all(os.path.isfile(os.path.realpath(path)) for path in paths):
        refuse_other_address(pattern)
        raise UsageError(
            f"There is no file at {quoted(pattern)}. Give the path of Parquet or CSV files. "
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


def _followed(paths: Sequence[str]) -> list[str]:
    """The files that links lead to; by the link itself only where its ending says how to read."""
    real = [os.path.realpath(path) for path in paths]
    return [
        there if there.lower().endswith(".gz") == path.lower().endswith(".gz") else path
        for path, there in zip(paths, real, strict=True)
    ]


def _ending(path: str) -> str:
    name = Path(path.lower())
    return "csv" if name.name.endswith((".csv", ".csv.gz")) else name.suffix.lstrip(".")


def _called(pattern: str) -> tuple[str, ...]:
    """A file's name without its ending; the files of a pattern have none in common."""
    name = os.path.basename(pattern)
    for ending in (".gz", ".csv", ".parquet"):
        name = name[: -len(ending)] if name.lower().endswith(ending) else name
    return (name,) if name and os.path.isfile(pattern) else (CALLED,)


def check_names(countable: Sequence[str], others: Sequence[str], where: str) -> None:
    """Refuse names that DuckDB takes for one, and a table of which nothing can be counted."""
    names = [*countable, *others]
    if not countable:
        raise SchemaError(
            f"No column of {where} holds numbers, texts, booleans or times; all are of kind other. "
            f"{NOTHING}"
        )
    if any("\0" in name for name in names):
        raise UsageError(
            f"A column of {where} has the character NUL in its name. Rename it. {NOTHING}"
        )
    if len({name.casefold() for name in names}) < len(names):
        raise UsageError(
            f"Two columns of {where} have one name, or names that differ only in upper and "
            f"lower case. Rename one of them. {NOTHING}"
        )


def registers(rows: object) -> Callable[[Any], None]:
    """What puts rows that Arrow holds or reads on a connection."""
    return lambda connection: connection.register(ROWS, rows)


def _csv(pattern: str, paths: list[str], user: str, options: Options) -> Source:
    csv = options.csv or Csv()
    folders = folder_columns(paths, pattern)
    identity = of_files(paths, pattern, folders)
    paths = _followed(paths)
    columns = csv_columns(paths, csv, pattern)
    check_names([*columns, *folders[0]], (), quoted(pattern))
    check_types(options.types, [*columns, *folders[0]], user)
    scratch = Scratch(options.scratch)
    connection = own_duckdb(None, scratch, options.memory)
    register = registers(csv_dataset(paths, csv, columns, folders))

    def show(connection: Any) -> None:
        if csv_columns(paths, csv, pattern) != columns:
            raise SchemaError(
                f"The first line of {quoted(pattern)} does not name the columns any more that the "
                f"table was opened with. {NOTHING} Open the table again."
            )
        register(connection)

    show(connection.con)
    names = [*columns, *folders[0]]
    table, _ = table_on(connection, ROWS, dict.fromkeys(names, "VARCHAR"))
    rules = (str(csv), *type_rules(options.types))
    if any(path.lower().endswith(".gz") for path in paths):
        rules += (SHORT_RULE,)
    engine = DuckDBEngine(connection, scratch, show=show)
    return Source(
        engine,
        typed(table, options.types, engine),
        pattern,
        rules=rules,
        identity=identity,
        lists_columns=csv.columns is not None,
        called=_called(pattern),
    )


def _parquet(pattern: str, paths: list[str], user: str, options: Options) -> Source:
    folders = folder_columns(paths, pattern)
    identity = of_files(paths, pattern, folders)
    paths = _followed(paths)
    countable, others = check_schemas(paths, pattern)
    check_names([*countable, *folders[0]], others, quoted(pattern))
    check_types(options.types, folders[0], user)
    scratch = Scratch(options.scratch)
    connection = own_duckdb(None, scratch, options.memory)
    files = ParquetFiles(ROWS, paths, folders, (countable, others), scratch)
    try:
        files.show(connection.con)
        types = files.types(connection.con)
    except Exception:
        raise UsageError(
            f"A file at {quoted(pattern)} cannot be read as Parquet. {NOTHING}"
        ) from None
    wanted = {name: kind for name, kind in types.items() if name not in others}
    table, more = table_on(connection, ROWS, wanted)
    engine = DuckDBEngine(connection, scratch, show=files.show, files=files)
    return Source(
        engine,
        typed(table, options.types, engine),
        pattern,
        others=(*others, *more),
        identity=identity,
        rules=(MENDED_RULE, *([FOLDER_RULE] if folders[0] else []), *type_rules(options.types)),
        called=_called(pattern),
    )
