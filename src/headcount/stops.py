"""Ctrl-C is never forgotten: what its handler raised is raised again where it was swallowed.

The handler raises wherever the program is, also inside a library that asks for a module which it
could do without, and takes every error of that for an answer. DuckDB does so at its first table of
Arrow. A release would then go on, be charged and be shown to somebody who stopped it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Stops:
    """What Ctrl-C has raised in the first thread, the only one where signals are handled."""

    is_heeded = False
    raised: BaseException | None = None


@contextmanager
def heeding_stops() -> Iterator[None]:
    """Keep in mind what a handler of Ctrl-C raises in the block, for ``raise_if_stopped``."""
    handler = signal.getsignal(signal.SIGINT)
    in_first = threading.current_thread() is threading.main_thread()
    if _Stops.is_heeded or not in_first or not callable(handler):
        yield
        return

    def heed(number: int, frame: Any) -> None:
        try:
            handler(number, frame)
        except BaseException as error:
            _Stops.raised = error
            raise

    _Stops.is_heeded, _Stops.raised = True, None
    try:
        signal.signal(signal.SIGINT, heed)
        yield
    finally:
        _Stops.is_heeded = False
        # Another handler may have been set in the block, and is then left where it is.
        if signal.getsignal(signal.SIGINT) is heed:
            signal.signal(signal.SIGINT, handler)


def raise_if_stopped() -> None:
    """Raise what Ctrl-C has raised before, if whatever ran then forgot it."""
    raised = _Stops.raised
    in_first = threading.current_thread() is threading.main_thread()
    if raised is not None and _Stops.is_heeded and in_first:
        raise without_history(raised)


def without_history(error: BaseException) -> BaseException:
    """An error that does not say where it was raised, nor what else was wrong there."""
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)
