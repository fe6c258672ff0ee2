"""Columns that stand in the names of folders: ``zip=10115/part-0.parquet``.

A value is the text of its folder's name, with percent signs undone, and belongs to the rows of the
files in it alone. It is never turned into a number because others could be.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from urllib.parse import unquote_to_bytes

from headcount.errors import UsageError
from headcount.screens import quoted

MISSING = "__HIVE_DEFAULT_PARTITION__"


def folder_columns(paths: Sequence[str], pattern: str) -> list[dict[str, str | None]]:
    """For each file, what its folders say. All must say it of the same columns."""
    said = [dict(_named_folders(path)) for path in paths]
    if len({tuple(each) for each in said}) > 1:
        raise UsageError(
            f"The files at {quoted(pattern)} are not all in folders of the same columns, such as "
            "day=2026-01-01/country=SE. Open those that are. Nothing was read and nothing was "
            "charged."
        )
    return said


def _named_folders(path: str) -> list[tuple[str, str | None]]:
    found = []
    for part in PurePath(path).parts[:-1]:
        name, equals, value = part.partition("=")
        if name and equals:
            found.append((name, _decoded(value)))
    return found


def _decoded(value: str) -> str | None:
    if value == MISSING:
        return None
    try:
        return unquote_to_bytes(value).decode()
    except UnicodeDecodeError:
        return None
