"""Parquet files as one table: read by DuckDB where they are, and mended where they are damaged.

A reader that meets one text that is not UTF-8, one time beyond its range or one broken page stops
for everybody. Then, and only then, the columns of a file that cannot be read to their end are read
anew into a table beside it, with such values missing. All else is read from the files as before, so
that the values of others are the same [R1].
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headcount.tables.interrupts import execute
from headcount.tables.parquet_links import (
    files_query,
    folder_keys,
    identifier,
    link_to,
    linked,
    read_files,
)
from headcount.tables.parquet_mend import copy_columns, reads, row_groups, unreadable
from headcount.tables.scratch import Scratch


class ParquetFiles:
    """The files as a view on a DuckDB connection, mended where that is needed.

    columns:  the names of those that something can be counted by, and of the others
    """

    def __init__(
        self,
        view: str,
        paths: Sequence[str],
        folders: Sequence[Mapping[str, str | None]],
        columns: tuple[Sequence[str], Sequence[str]],
        scratch: Scratch,
    ) -> None:
        self._view, self._paths, self._folders = view, paths, folders
        self._countable, others = columns
        self._scratch = scratch
        self._keys = folder_keys(folders, (*self._countable, *others))
        self._links = linked(paths, folders, self._keys, scratch.path / "links")
        self._query = files_query(self._links, self._keys)
        self._types: dict[str, str] = {}

    def show(self, connection: Any) -> None:
        """Make the view on one connection."""
        self._show(connection, self._query)

    def types(self, connection: Any) -> dict[str, str]:
        """What DuckDB says that the columns of the view hold."""
        rows = execute(connection, f"describe {self._view}").fetchall()
        self._types = {name: kind for name, kind, *_ in rows}
        return self._types

    def mend(self, connection: Any) -> None:
        """Put a table of the columns that cannot be read beside the files, on one connection."""
        known = [name for name in self._countable if name in self._types]
        alike: dict[tuple[str, ...] | None, list[int]] = {}
        for index, (path, link) in enumerate(zip(self._paths, self._links, strict=True)):
            n_rows = sum(map(len, row_groups(path)))
            opens = reads(connection, link, (), n_rows)
            bad = unreadable(connection, link, known, n_rows) if opens else None
            alike.setdefault(bad, []).append(index)
        parts = [
            self._sound(files) if bad == () else self._mended(connection, bad, files, number)
            for number, (bad, files) in enumerate(alike.items())
        ]
        self._show(connection, " union all ".join(parts))

    def _show(self, connection: Any, query: str) -> None:
        execute(connection, f"create or replace temporary view {self._view} as {query}")

    def _sound(self, files: Sequence[int]) -> str:
        """Files that DuckDB can read."""
        query = files_query([self._links[index] for index in files], self._keys)
        return f"select {', '.join(map(identifier, self._types))} from ({query})"  # noqa: S608

    def _mended(
        self, connection: Any, bad: tuple[str, ...] | None, files: Sequence[int], number: int
    ) -> str:
        """Files with the same columns that DuckDB cannot read; None stands for all of them."""
        copied = [name for name in self._countable if bad is None or name in bad]
        kinds = {name: self._types[name] for name in copied if name in self._types}
        said = list(self._folders[0]) if bad is None else []
        places = {name: f"m.c{place}" for place, name in enumerate([*kinds, *said], 2)}
        types = ["bigint", "bigint", *kinds.values(), *("varchar" for _ in said)]
        declared = ", ".join(f"c{place} {kind}" for place, kind in enumerate(types))
        table = f"{self._view}_mended_{number}"
        execute(connection, f"create or replace temporary table {table} ({declared})")
        for index in files:
            folder = {name: self._folders[index][name] for name in said}
            copy_columns(
                connection, table, index, self._paths[index], self._links[index], kinds, folder
            )
        if bad is None:
            shown = [
                f"{places.get(name, f'null::{kind}')} as {identifier(name)}"
                for name, kind in self._types.items()
            ]
            return f"select {', '.join(shown)} from {table} m"  # noqa: S608
        shown = [
            f"{places.get(name) or self._original(name)} as {identifier(name)}"
            for name in self._types
        ]
        source = read_files(self._numbered(files), hive=True, numbered=True)
        return (
            f"select {', '.join(shown)} from {source} f join {table} m "  # noqa: S608
            f"on f.{self._keys.prefix}file::bigint = m.c0 and f.file_row_number = m.c1"
        )

    def _original(self, name: str) -> str:
        return self._keys.shown(name) if name in self._keys.keys else f"f.{identifier(name)}"

    def _numbered(self, files: Sequence[int]) -> list[str]:
        """Links with the numbers of the files."""
        place = Path(tempfile.mkdtemp(prefix="numbered-", dir=self._scratch.path))
        return [
            link_to(
                self._paths[index],
                place,
                [f"{self._keys.prefix}file={index}", *self._keys.parts(self._folders[index])],
            )
            for index in files
        ]
