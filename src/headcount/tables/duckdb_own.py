"""A DuckDB connection of our own, for files and frames: its settings and its limit."""

from __future__ import annotations

import re
from typing import Any

from headcount.errors import UsageError
from headcount.tables.scratch import Scratch


def own_duckdb(path: str | None, scratch: Scratch, memory: str | None) -> Any:
    """A connection of our own; what does not fit in memory goes to the private folder."""
    import ibis

    connection = ibis.duckdb.connect(path, read_only=True) if path else ibis.duckdb.connect()
    settings = {
        "temp_directory": str(scratch.path),
        "autoinstall_known_extensions": "false",
        # It takes a file that was written twice within a second for the first of the two.
        "enable_external_file_cache": "false",
    }
    # Not by SET, which fails in a notebook that has no widgets.
    connection.con.execute("PRAGMA disable_progress_bar")
    for name, value in settings.items():
        spelled = value.replace("'", "''")
        connection.con.execute(f"set {name} = '{spelled}'")
    if memory is not None:
        _limit(connection, memory)
    return connection


def _limit(connection: Any, memory: object) -> None:
    try:
        if not isinstance(memory, str) or not re.fullmatch(r"\d+(\.\d+)? ?[KMGT]i?B", memory):
            raise ValueError
        connection.con.execute(f"set memory_limit = '{memory}'")
    except Exception:
        raise UsageError(
            f"memory must be a size such as '2GB' or '500MB', not {memory!r}. "
            "Nothing was read and nothing was charged."
        ) from None
