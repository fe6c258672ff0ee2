"""A stop is never forgotten: what a handler of a signal raised is raised again where it was lost.

Handlers, of Ctrl-C or of a time limit, raise wherever the program is: also inside a library that
asks for a module which it could do without, and takes every error of that for an answer. DuckDB
does so at its first table of Arrow. Or where an error is taken for that of a damaged file. Or while
something is thrown away, where Python itself drops every error and prints a trace of it. A release
would then go on, be charged and be shown to somebody who stopped it.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class _Stops:
    """What a handler has raised in the first thread, the only one where signals are handled."""

    is_heeded = False
    is_ending = False
    raised: BaseException | None = None
    is_dropped = False
    """Python itself has dropped it, and nobody has heard of it since."""
    late: BaseException | None = None
    """Raised while a block ended, and kept until all is as it was before."""


@contextmanager
def heeding_stops() -> Iterator[None]:
    """Keep in mind what a handler of any signal raises in the block, for ``raise_if_stopped``.

    What Python dropped and nobody asked for until the end is raised there.
    """
    in_first = threading.current_thread() is threading.main_thread()
    if _Stops.is_heeded or not in_first:
        yield
        return
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    heeding = {number: _heeding(one) for number, one in handlers.items() if callable(one)}
    shown = sys.unraisablehook
    hook = _silent_of_stops(shown)
    try:
        try:
            _Stops.is_heeded, _Stops.is_dropped = True, False
            _Stops.raised = _Stops.late = None
            sys.unraisablehook = hook
            for number, heed in heeding.items():
                signal.signal(number, heed)
            yield
            if _Stops.is_dropped:
                raise_if_stopped()
        finally:
            # From here on a stop waits until all is as it was; one in this very line does no harm.
            _Stops.is_ending = True
    finally:
        if sys.unraisablehook is hook:
            sys.unraisablehook = shown
        _Stops.is_heeded, _Stops.raised, _Stops.is_ending = False, None, False
        late, _Stops.late = _Stops.late, None
        # One that is left where it is, by a stop in this very moment, does what it did before.
        for number, heed in heeding.items():
            # Another handler may have been set in the block, and is then left too.
            if signal.getsignal(number) is heed:
                signal.signal(number, handlers[number])
        if late is not None:
            raise without_history(late)


def _heeding(handler: Callable[[int, Any], Any]) -> Callable[[int, Any], None]:
    def heed(number: int, frame: Any) -> None:
        try:
            handler(number, frame)
        except BaseException as error:
            if _Stops.is_ending:
                _Stops.late = error
                return
            if _Stops.is_heeded:
                _Stops.raised = error
            raise

    return heed


def _silent_of_stops(shown: Callable[[Any], Any]) -> Callable[[Any], None]:
    def hook(dropped: Any) -> None:
        if dropped.exc_value is None or dropped.exc_value is not _Stops.raised:
            shown(dropped)
        else:
            _Stops.is_dropped = True

    return hook


def raise_if_stopped() -> None:
    """Raise what a handler has raised before, if whatever ran then forgot it."""
    raised = _Stops.raised
    in_first = threading.current_thread() is threading.main_thread()
    if raised is not None and _Stops.is_heeded and in_first:
        _Stops.is_dropped = False
        raise without_history(raised)


def without_history(error: BaseException) -> BaseException:
    """An error that does not say where it was raised, nor what else was wrong there."""
    error.__context__ = error.__cause__ = None
    return error.with_traceback(None)
