"""What the footers of Parquet files say: one schema, the same in all of them. No page is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headcount.errors import UsageError
from headcount.screens import quoted
from headcount.tables.csv import NOTHING
from headcount.tables.sound import check_one_name_each, sound

OURS = ("file_row_number",)
"""Names that DuckDB gives to what it tells of a file itself."""


def check_schemas(paths: Sequence[str], pattern: str) -> tuple[list[str], list[str]]:
    """Refuse files that differ in their metadata, or that are no Parquet files.

    Returns the names of the columns that something can be counted by, and those of the others.
    """
    import pyarrow.parquet as pq

    first: dict[str, object] = {}
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                check_one_name_each(file.schema_arrow.names, f"a file at {quoted(pattern)}")
                found = _described(file)
                countable, others = sound(file.schema_arrow.empty_table())
        except UsageError:
            raise
        except Exception:  # what a damaged footer may hold has no end
            raise UsageError(
                f"A file at {quoted(pattern)} cannot be read as Parquet. {NOTHING}"
            ) from None
        if any("\0" in name for name in found):
            raise UsageError(
                f"A column of {quoted(pattern)} has the character NUL in its name. Rename it. "
                f"{NOTHING}"
            )
        if taken := [name for name in file.schema_arrow.names if name.lower() in OURS]:
            raise UsageError(
                f"The column {taken[0]!r} of {quoted(pattern)} has a name that DuckDB uses itself. "
                f"Rename it. {NOTHING}"
            )
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


def _described(file: Any) -> dict[str, object]:
    """The columns as Parquet stores them and as Arrow names them, with all that is nested.

    A column called ``a.b`` and a field b of a struct a are stored under one path, and only Arrow
    tells them apart. Whether a value may be missing does not matter.
    """
    schema, arrow = file.schema, file.schema_arrow
    found: dict[str, Any] = {field.name: [_plain(field.type)] for field in arrow}
    for column in (schema.column(index) for index in range(len(schema))):
        found.setdefault(column.path, []).append(
            (
                column.physical_type,
                str(column.logical_type),
                column.converted_type,
                column.length,
                column.max_repetition_level,
            )
        )
    return found


def _plain(kind: Any) -> str:
    """An Arrow type without what changes no value: how texts are kept, and a zone's name."""
    import pyarrow as pa
    from pyarrow import types

    if types.is_dictionary(kind):
        return _plain(kind.value_type)
    if types.is_large_string(kind) or types.is_string_view(kind):
        return str(pa.string())
    if types.is_timestamp(kind) and kind.tz:
        return str(pa.timestamp(kind.unit, "UTC"))
    if types.is_list(kind) or types.is_large_list(kind):
        return f"list<{_plain(kind.value_type)}>"
    if types.is_struct(kind):
        return f"struct<{[(field.name, _plain(field.type)) for field in kind]}>"
    return str(kind)
