"""Parquet files as one table: read by DuckDB where they are, and mended where they are damaged.

A reader that meets one text that is not UTF-8, one time beyond its range or one broken page stops
for everybody. Then, and only then, a copy is made in the release's private folder, row group by row
group, with such values missing and unreadable row groups left out. A query gives the same answer on
the copy as on the files wherever the files could be read, so that one is used and the other not
changes nothing but the time it takes.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headcount.errors import UsageError
from headcount.screens import quoted
from headcount.tables.csv import NOTHING
from headcount.tables.scratch import Scratch
from headcount.tables.sound import sound

GLOB_MARKS = "*?[{\\"
HERE, NOT_HERE = "v", "n"
"""What a folder's value begins with in a link: DuckDB takes a bare "null" for a missing one."""


def check_schemas(paths: Sequence[str], pattern: str) -> tuple[list[str], list[str]]:
    """Refuse files that differ in their metadata, or that are no Parquet files. No page is read.

    Returns the names of the columns that something can be counted by, and those of the others.
    """
    import pyarrow.parquet as pq

    first: dict[str, tuple[object, ...]] = {}
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                found = _leaves(file.schema)
                countable, others = sound(file.schema_arrow.empty_table())
        except Exception:  # what a damaged footer may hold has no end
            raise UsageError(
                f"A file at {quoted(pattern)} cannot be read as Parquet. {NOTHING}"
            ) from None
        first = first or found
        if found != first:
            both = {**first, **found}
            differ = {n.split(".")[0] for n in both if first.get(n) != found.get(n)}
            raise UsageError(
                f"The files at {quoted(pattern)} differ in their columns or types: "
                f"{', '.join(sorted(differ))}, first in {quoted(path)}. Bring them to one schema. "
                f"{NOTHING}"
            )
    return list(countable.column_names), list(others)


def _leaves(schema: Any) -> dict[str, tuple[object, ...]]:
    """Every column of the metadata with its type; whether it may be missing does not matter."""
    columns = [schema.column(index) for index in range(len(schema))]
    return {
        column.path: (
            column.physical_type,
            str(column.logical_type),
            column.converted_type,
            column.length,
            column.max_repetition_level,
        )
        for column in columns
    }


class ParquetFiles:
    """The files as a view on a DuckDB connection, or a sound copy of them where that is needed."""

    def __init__(
        self,
        view: str,
        paths: Sequence[str],
        folders: Sequence[Mapping[str, str | None]],
        scratch: Scratch,
    ) -> None:
        self._view = view
        self._paths, self._folders, self._scratch = paths, folders, scratch
        self._query = files_query(linked(paths, folders, scratch), folders[0])
        self._types: dict[str, str] = {}

    def show(self, connection: Any) -> None:
        """Make the view on one connection."""
        self._show(connection, self._query)

    def types(self, connection: Any) -> dict[str, str]:
        """What DuckDB says that the columns of the view hold."""
        rows = connection.execute(f"describe {self._view}").fetchall()
        self._types = {name: kind for name, kind, *_ in rows}
        return self._types

    def mend(self, connection: Any) -> Path:
        """Put a sound copy in the place of the files; the folder that holds it."""
        copies = Path(tempfile.mkdtemp(prefix="mended-", dir=self._scratch.path))
        self._show(connection, self._copied(copies))
        return copies

    def _show(self, connection: Any, query: str) -> None:
        connection.execute(f"create or replace temporary view {self._view} as {query}")

    def _copied(self, folder: Path) -> str:
        """Copy what can be read. Columns keep their types, so nothing else of a query changes."""
        for index, (path, said) in enumerate(zip(self._paths, self._folders, strict=True)):
            _copy(path, said, folder, index)
        copies = sorted(folder.iterdir())
        held = set(_names(copies[0])) if copies else set()
        columns = ", ".join(
            f"{identifier(name) if name in held else 'null'}::{kind} as {identifier(name)}"
            for name, kind in self._types.items()
        )
        if not copies:
            return f"select {columns} where false"
        names = ", ".join(quoted_text(str(copy)) for copy in copies)
        return f"select {columns} from read_parquet([{names}], hive_partitioning=false)"  # noqa: S608


def linked(
    paths: Sequence[str], folders: Sequence[Mapping[str, str | None]], scratch: Scratch
) -> list[str]:
    """Names that DuckDB reads as they are: no pattern in them, folders' values spelled safely."""
    links = []
    for index, (path, said) in enumerate(zip(paths, folders, strict=True)):
        if not said and not any(mark in path for mark in GLOB_MARKS):
            links.append(path)
            continue
        parts = [
            f"{quote(name, safe='')}={NOT_HERE if value is None else HERE + quote(value, safe='')}"
            for name, value in said.items()
        ]
        folder = scratch.path.joinpath("links", str(index), *parts)
        folder.mkdir(parents=True)
        link = folder / "rows.parquet"
        link.symlink_to(path)
        links.append(str(link))
    return links


def files_query(links: Sequence[str], folders: Mapping[str, str | None]) -> str:
    """The files as they are."""
    names = ", ".join(quoted_text(link) for link in links)
    spelled = {name: identifier(quote(name, safe="")) for name in folders}
    shown = "".join(
        f", case when {own}[1] = '{HERE}' then {own}[2:] end as {identifier(name)}"
        for name, own in spelled.items()
    )
    without = f" exclude ({', '.join(spelled.values())})" if spelled else ""
    return (
        f"select *{without}{shown} from read_parquet([{names}], "  # noqa: S608
        f"hive_partitioning={bool(folders)}, hive_types_autocast=false, union_by_name=false)"
    )


def _names(path: Path) -> list[str]:
    import pyarrow.parquet as pq

    return list(pq.read_schema(path).names)


def _copy(path: str, said: Mapping[str, str | None], folder: Path, index: int) -> None:
    """The row groups of one file that can be read, each a file of its own."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        readable, _ = sound(file.schema_arrow.empty_table())
        for group in range(file.num_row_groups):
            try:
                read = file.read_row_group(group, columns=readable.column_names, use_threads=False)
                rows, _ = sound(read)
            except Exception:  # noqa: S112  what a damaged page may hold has no end
                continue
            for name, value in said.items():
                said_of_all = pa.repeat(pa.scalar(value, pa.string()), rows.num_rows)
                rows = rows.append_column(name, said_of_all)
            pq.write_table(rows, folder / f"{index:08d}-{group:08d}.parquet")


def identifier(name: str) -> str:
    """A column's name in a query."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """A text in a query."""
    return "'" + text.replace("'", "''") + "'"
