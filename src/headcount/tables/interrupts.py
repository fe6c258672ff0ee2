"""Ctrl-C while DuckDB runs a query: the query ends, and what the signal raised is raised.

DuckDB says a ``RuntimeError`` of its own instead, which looks like a file that cannot be read, and
goes on with the query in its threads, so that closing the connection would wait for them.
"""

from __future__ import annotations

from typing import Any

TEXT = "Query interrupted"


def execute(connection: Any, query: str) -> Any:
    """Run a query on a DuckDB connection; a signal that stops the caller stops the query."""
    try:
        return connection.execute(query)
    except RuntimeError as error:
        if str(error) != TEXT:
            raise
        connection.interrupt()
        raised = error.__cause__ or KeyboardInterrupt()
    except KeyboardInterrupt:
        connection.interrupt()
        raise
    # Outside the handler, so that no error of the engine is linked to it.
    raised.__context__ = None
    raise raised
