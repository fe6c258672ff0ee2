"""A task's SELECT over an app's file, in a process of its own that can be ended at any time.

SQLite looks whether it should stop between two steps of a query, and one step can take for ever.
This file is run by itself, with the standard library alone: the question comes in as JSON, and the
first texts of the answer go out so.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from contextlib import closing, suppress
from typing import Any

MOST_MEMORY, MOST_SECONDS = 1 << 29, 10
MOST_CHARACTERS = 1 << 16
"""Of a text that is handed on. No task takes one that long."""


def only_reading(action: int, _: Any, name: Any, __: Any, ___: Any) -> int:
    """Let SQLite select, read columns and call functions; no file is opened and nothing changed."""
    if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE):
        return sqlite3.SQLITE_OK
    is_function = action == sqlite3.SQLITE_FUNCTION and name != "load_extension"
    return sqlite3.SQLITE_OK if is_function else sqlite3.SQLITE_DENY


def select(address: str, sql: str, n_answers: int) -> list[str | None]:
    """The first texts that a query finds; what is no text is none."""
    with closing(sqlite3.connect(address, uri=True)) as connection:
        connection.set_authorizer(only_reading)
        rows = connection.execute(sql).fetchmany(n_answers)
    found = [row[0] if len(row) == 1 else None for row in rows]
    return [one if isinstance(one, str) and len(one) <= MOST_CHARACTERS else None for one in found]


def _limit() -> None:
    """Where the system can: also a process that nobody waits for any more comes to its end."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))


if __name__ == "__main__":
    _limit()
    asked = json.load(sys.stdin.buffer)
    json.dump(select(asked["address"], asked["sql"], asked["answers"]), sys.stdout)
