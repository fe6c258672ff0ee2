"""Reading as libraries usually do it: each a step swapped for one that lets a record decide."""

from __future__ import annotations

import logging
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headcount.tables import csv_files, files, frames, parquet_files
from headcount.tables.csv_lines import Lines
from headcount.tables.duckdb import DuckDBEngine
from headcount.tables.duckdb_own import own_duckdb
from headcount.tables.scratch import Scratch
from headcount.tables.sound import sound
from headcount.tables.source import Options, Source
from headcount.trials.seam import swapped


def sniffed() -> AbstractContextManager[None]:
    """DuckDB finds out how the file is written."""

    def guess(pattern: str, paths: list[str], _user: str, _options: Options) -> Source:
        scratch = Scratch()
        connection = own_duckdb(None, scratch, None)
        table = connection.read_csv(paths, all_varchar=True, header=True)
        return Source(DuckDBEngine(connection, scratch, alone=True), table, pattern)

    return swapped(files, "_csv", guess)


def open_quotes() -> AbstractContextManager[None]:
    """No line is taken out before a reader that knows quotes sees it."""

    class Unfiltered(Lines):
        def well_formed(self, lines: bytes) -> bytes:
            return lines

    def opened(path: str, csv: Any) -> Lines:
        return Unfiltered(open(path, "rb", buffering=0), csv)

    return swapped(csv_files, "open_lines", opened)


def nothing_mended() -> AbstractContextManager[None]:
    """A file is read as it is, or not at all."""

    def bare(connection: Any, scratch: Any, *, show: Any, files: Any = None) -> DuckDBEngine:
        del files
        return DuckDBEngine(connection, scratch, show=show)

    return swapped(files, "DuckDBEngine", bare)


def rows_logged() -> AbstractContextManager[None]:
    """A debug line says how many rows there are in the files that are opened."""
    shipped = files._parquet

    def said(pattern: str, paths: list[str], user: str, options: Options) -> Source:
        n_rows = sum(pq.read_metadata(path).num_rows for path in paths)
        logging.getLogger("headcount").debug("%d rows", n_rows)
        return shipped(pattern, paths, user, options)

    return swapped(files, "_parquet", said)


def bytes_printed() -> AbstractContextManager[None]:
    """Standard error is told how large the files are."""
    shipped = files._csv

    def said(pattern: str, paths: list[str], user: str, options: Options) -> Source:
        n_bytes = sum(Path(path).stat().st_size for path in paths)
        sys.stderr.write(f"opening {n_bytes:,} bytes\n")
        return shipped(pattern, paths, user, options)

    return swapped(files, "_csv", said)


def folders_as_numbers() -> AbstractContextManager[None]:
    """What stands in folders' names is a number as long as all of them are."""

    def guessed(_paths: Any, _pattern: str) -> list[dict[str, str | None]]:
        return [{} for _ in _paths]

    def query(links: list[str], _keys: Any) -> str:
        names = ", ".join(f"'{link.replace(chr(39), 2 * chr(39))}'" for link in links)
        return f"select * from read_parquet([{names}], hive_partitioning=true)"  # noqa: S608

    from contextlib import ExitStack

    stack = ExitStack()
    stack.enter_context(swapped(files, "folder_columns", guessed))
    stack.enter_context(swapped(parquet_files, "files_query", query))
    stack.enter_context(swapped(parquet_files, "linked", lambda paths, *_: list(paths)))
    return stack  # type: ignore[return-value]


def nothing_made_sound() -> AbstractContextManager[None]:
    """Times in memory are handed to the engine as they are; texts would take the process along."""

    def as_they_are(table: pa.Table) -> tuple[pa.Table, tuple[str, ...]]:
        kept, others = sound(table)
        for name in ("local", "zoned"):
            place = table.schema.get_field_index(name)
            if place >= 0:
                kept = kept.set_column(place, name, table[name])
        return kept, others

    return swapped(frames, "sound", as_they_are)


def objects_inferred() -> AbstractContextManager[None]:
    """Arrow finds out what the objects of a column are."""

    def inferred(frame: Any, _package: str) -> tuple[pa.Table, tuple[str, ...]]:
        return pa.Table.from_pandas(frame, preserve_index=False), ()

    return swapped(frames, "frame_table", inferred)
