"""What DuckDB is asked before the ledger is charged: its own log of statements tells.

Whatever asks, by whatever name: an engine, an expression of Ibis, a table that is made of one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from headcount.ledger.ledger import Ledger
from headcount.trials.seam import swapped

WITHOUT_ROWS = re.compile(
    r"""
      (set|describe|drop\ table|begin|commit|rollback|pragma)\b[^;]*
    | create\ or\ replace\ temporary\ view\b[^;]*
    | create\ temporary\ table\ \w+\ as\ select\ \*\ from\ [^;]*\ limit\ 0
    | select\ current_setting\([^()]*\)
    | select\ name,\ value\ from\ duckdb_settings\(\)
    | select\ sql\ from\ duckdb_tables\(\)\ where\b[^;]*
    |
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Statements that read no rows: settings, names and types. One without words puts rows in reach."""


@contextmanager
def before_the_charge(read: list[str]) -> Iterator[None]:
    """Keep in ``read`` what reads rows before the ledger is charged, if anything does."""
    import duckdb

    connections: list[Any] = []

    def connect(*arguments: Any, **named: Any) -> Any:
        connections.append(shipped_connect(*arguments, **named))
        connections[-1].execute("call enable_logging('QueryLog')")
        return connections[-1]

    def look() -> None:
        for connection in connections:
            logged = connection.cursor().execute("select message from duckdb_logs").fetchall()
            read.extend(text for (text,) in logged if not WITHOUT_ROWS.fullmatch(text.strip()))
        connections.clear()

    def charge(*arguments: Any, **named: Any) -> Any:
        look()
        return shipped_charge(*arguments, **named)

    shipped_connect, shipped_charge = duckdb.connect, Ledger.charge
    with swapped(duckdb, "connect", connect), swapped(Ledger, "charge", charge):
        try:
            yield
        finally:
            look()
