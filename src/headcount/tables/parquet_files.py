"""Parquet files as one table: read by DuckDB where they are, and mended where they are damaged.

A reader that meets one text that is not UTF-8, one time beyond its range or one broken page stops
for everybody. Then, and only then, a copy is made in the release's private folder, row group by row
group, with such values missing and unreadable row groups left out. A query gives the same answer on
the copy as on the files wherever the files could be read, so that one is used and the other not
changes nothing but the time it takes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from headcount.errors import UsageError
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
                f"A file at {pattern!r} cannot be read as Parquet. {NOTHING}"
            ) from None
        first = first or found
        if found != first:
            both = {**first, **found}
            differ = {n.split(".")[0] for n in both if first.get(n) != found.get(n)}
            raise UsageError(
                f"The files at {pattern!r} differ in their columns or types: "
                f"{', '.join(sorted(differ))}. Bring them to one schema. {NOTHING}"
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
    shown = "".join(
        f", case when {(spelled := identifier(quote(name, safe='')))}[1] = '{HERE}' "
        f"then {spelled}[2:] end as {identifier(name)}"
        for name in folders
    )
    hidden = ", ".join(identifier(quote(name, safe="")) for name in folders)
    without = f" exclude ({hidden})" if hidden else ""
    return (
        f"select *{without}{shown} from read_parquet([{names}], "  # noqa: S608
        f"hive_partitioning={bool(folders)}, hive_types_autocast=false, union_by_name=false)"
    )


def mended_query(
    paths: Sequence[str],
    folders: Sequence[Mapping[str, str | None]],
    scratch: Scratch,
    types: Mapping[str, str],
) -> str:
    """A copy of what can be read, and the query that stands for the files from then on.

    types:  what DuckDB said that the columns hold, so that nothing else of the query changes
    """
    import pyarrow as pa

    folder = Path(scratch.path) / "mended"
    folder.mkdir()
    for index, (path, said) in enumerate(zip(paths, folders, strict=True)):
        _copy(path, {name: pa.scalar(v, pa.string()) for name, v in said.items()}, folder, index)
    copies = sorted(os.fspath(copy) for copy in folder.iterdir())
    if not copies:
        columns = ", ".join(f"null::{kind} as {identifier(n)}" for n, kind in types.items())
        return f"select {columns} where false"
    held = set(_names(copies[0]))
    columns = ", ".join(
        f"{identifier(name) if name in held else 'null'}::{kind} as {identifier(name)}"
        for name, kind in types.items()
    )
    names = ", ".join(quoted_text(copy) for copy in copies)
    return f"select {columns} from read_parquet([{names}], hive_partitioning=false)"  # noqa: S608


def _names(path: str) -> list[str]:
    import pyarrow.parquet as pq

    return list(pq.read_schema(path).names)


def _copy(path: str, said: Mapping[str, Any], folder: Path, index: int) -> None:
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
                rows = rows.append_column(name, pa.repeat(value, rows.num_rows))
            pq.write_table(rows, folder / f"{index:08d}-{group:08d}.parquet")


def identifier(name: str) -> str:
    """A column's name in a query."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """A text in a query."""
    return "'" + text.replace("'", "''") + "'"
