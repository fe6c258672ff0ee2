"""Ctrl-C while an engine runs a query: the query ends, and what the signal raised is raised.

DuckDB says a ``RuntimeError`` of its own instead, which looks like a file that cannot be read, and
goes on with the query in its threads, so that closing the connection would wait for them. ADBC
takes the signal for itself, and says that the server has cancelled the query, as servers also do
by themselves. Spark raises what it should.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

TEXT = "Query interrupted"
WAIT_SECONDS = 0.2


def execute(connection: Any, query: str) -> Any:
    """Run a query on a DuckDB connection; a signal that stops the caller stops the query."""
    return interruptible(connection, lambda: connection.execute(query))


def interruptible(connection: Any, ask: Callable[[], Any]) -> Any:
    """The same for whatever else it is asked."""
    try:
        return ask()
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


def execute_adbc(cursor: Any, query: str) -> None:
    """The same on a cursor of ADBC, which leaves signals alone in all threads but the first."""
    if threading.current_thread() is not threading.main_thread():
        cursor.execute(query)
        return
    with ThreadPoolExecutor(1) as pool:
        executed = pool.submit(cursor.execute, query)
        try:
            # ADBC puts the handler of Ctrl-C back in a way that no longer ends a wait.
            while not executed.done():
                wait([executed], timeout=WAIT_SECONDS)
        except BaseException:
            cursor.adbc_cancel()
            raise
        executed.result()
