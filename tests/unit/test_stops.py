"""Ctrl-C that a library swallows is raised at the next place where the release looks."""

from __future__ import annotations

import inspect
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from headcount.stops import _Stops, heeding_stops, raise_if_stopped


@pytest.fixture(autouse=True)
def handler() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def swallowed() -> None:
    with suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_what_was_swallowed_is_raised() -> None:
    with heeding_stops():
        raise_if_stopped()
        swallowed()
        with pytest.raises(KeyboardInterrupt):
            raise_if_stopped()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_within_another_block_it_is_raised_in_both() -> None:
    with heeding_stops():
        with heeding_stops():
            swallowed()
        with pytest.raises(KeyboardInterrupt):
            raise_if_stopped()
    with heeding_stops():
        raise_if_stopped()


def test_outside_a_block_nothing_is_kept() -> None:
    swallowed()
    raise_if_stopped()
    with heeding_stops():
        raise_if_stopped()
        swallowed()
    raise_if_stopped()


def test_a_handler_that_raises_nothing_stops_nothing() -> None:
    heard: list[int] = []

    def hear(number: int, _: Any) -> None:
        heard.append(number)

    signal.signal(signal.SIGINT, hear)
    with heeding_stops():
        os.kill(os.getpid(), signal.SIGINT)
        raise_if_stopped()
    assert heard == [signal.SIGINT]


def test_signals_that_are_ignored_stay_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with heeding_stops():
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_a_handler_that_was_set_meanwhile_stays_and_leaves_nothing_for_the_next_block() -> None:
    with heeding_stops():
        heed: Any = signal.getsignal(signal.SIGINT)

        def chained(number: int, frame: Any) -> None:
            heed(number, frame)

        signal.signal(signal.SIGINT, chained)
    assert signal.getsignal(signal.SIGINT) is chained
    swallowed()
    with heeding_stops():
        raise_if_stopped()


def test_other_threads_are_not_stopped_by_it() -> None:
    ended: list[bool] = []

    def work() -> None:
        with heeding_stops():
            raise_if_stopped()
        ended.append(True)

    with heeding_stops():
        swallowed()
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert ended == [True]


def test_a_time_limit_is_a_stop_too() -> None:
    def over(_number: int, _frame: Any) -> None:
        raise TimeoutError("time limit")

    before = signal.signal(signal.SIGALRM, over)
    try:
        with heeding_stops():
            with suppress(Exception):
                os.kill(os.getpid(), signal.SIGALRM)
            with pytest.raises(TimeoutError, match="time limit"):
                raise_if_stopped()
        assert signal.getsignal(signal.SIGALRM) is over
    finally:
        signal.signal(signal.SIGALRM, before)


class ThrownAway:
    """Python drops what is raised while something is thrown away, and prints a trace of it."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGINT)


def test_what_python_drops_is_raised_and_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", shown.append)
    with heeding_stops():
        ThrownAway()
        with pytest.raises(KeyboardInterrupt):
            raise_if_stopped()
    assert not shown
    ThrownAway()
    assert len(shown) == 1, "outside a block all is as it was"


def test_what_python_drops_and_nobody_asks_for_is_raised_at_the_end() -> None:
    with pytest.raises(KeyboardInterrupt), heeding_stops():
        ThrownAway()
    with heeding_stops():
        raise_if_stopped()


def stopped_at(line: int) -> bool:
    """Stop where a block begins or ends, at this line of it; whether it came so far."""
    code = inspect.unwrap(heeding_stops).__code__
    hits = [line]

    def traced(frame: Any, event: str, _: Any) -> Any:
        if frame.f_code is not code:
            return None
        if event == "line" and frame.f_lineno == line and hits:
            hits.clear()
            os.kill(os.getpid(), signal.SIGINT)
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        with suppress(KeyboardInterrupt), heeding_stops():
            pass
    finally:
        sys.settrace(before)
    return not hits


def test_a_stop_where_a_block_begins_or_ends_leaves_nothing_behind() -> None:
    code = inspect.unwrap(heeding_stops).__code__
    lines = sorted({line for _, _, line in code.co_lines() if line is not None})
    hook = sys.unraisablehook
    assert sum(stopped_at(line) for line in lines) > 12
    assert sys.unraisablehook is hook
    assert (_Stops.is_heeded, _Stops.is_ending, _Stops.raised) == (False, False, None)
    with heeding_stops():
        swallowed()
        with pytest.raises(KeyboardInterrupt):
            raise_if_stopped()
