"""How often a state is written follows from the clock and from how long input could come."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headcount.errors import OutputError
from headcount.streams import lines
from headcount.streams.clock import Clock, written_every
from headcount.streams.stream import Stream

STEP, OPEN = 1.0, 2.5
LONG = b'{"x":[' + b"[]," * 5_000_000 + b'1],"page":"a"}\n'
LIVES = {
    "nothing": b"",
    "one event": b'{"page": "a"}\n',
    "one long line": LONG,
    "one long line that does not end": LONG[:-1],
    "200,000 short lines": b'{"page": "a"}\n' * 200_000,
    "lines that are hard to read": b'{"page": "\\u0061", "x": [[], {}]}\n' * 20_000,
}


def n_written(folder: Path, life: bytes) -> tuple[int, int]:
    """How many draws there were while lines were added, and how many steps the input was open."""
    out, into = os.pipe()
    took: list[float] = []

    def send() -> None:
        begun = time.monotonic()
        time.sleep(OPEN - 0.5)
        sent = memoryview(life)
        while sent:
            sent = sent[os.write(into, sent) :]
        # Never near a step, however busy the machine is.
        late = max(0.0, time.monotonic() - begun - OPEN)
        time.sleep(max(0.0, begun + OPEN + math.ceil(late) - time.monotonic()))
        took.append(time.monotonic() - begun)
        os.close(into)

    with Stream(groups=["a"], epsilon=1, path=folder / f"{len(life)}.hcs") as stream:
        before = stream.n_noises
        sender = threading.Thread(target=send)
        sender.start()
        lines.add_lines(stream, out, field="page", flush_every=STEP)
        after = stream.n_noises
        sender.join()
    os.close(out)
    return after - before, int(took[0] / STEP)


@pytest.mark.parametrize("life", LIVES)
def test_no_line_makes_a_draw_or_keeps_one_away(tmp_path: Path, life: str) -> None:
    written, steps = n_written(tmp_path, LIVES[life])
    assert written == steps >= 2


def test_a_block_that_takes_long_to_count_adds_no_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Steps pass while it is counted, after the input has ended: they are nobody's."""
    add = lines._add_json

    def slowly(*asked: Any) -> None:
        time.sleep(2.2)
        add(*asked)

    monkeypatch.setattr(lines, "_add_json", slowly)
    written, steps = n_written(tmp_path, LIVES["one event"])
    assert written == steps == 2


def test_a_block_that_takes_long_to_count_keeps_none_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is counted at one step, and the state is written at the same time."""
    out, into = os.pipe()
    counted = threading.Event()
    add = lines._add_block

    def slowly(stream: Stream, *asked: Any) -> None:
        before, until = stream.n_noises, time.monotonic() + 60
        while stream.n_noises < before + 2:
            assert time.monotonic() < until, "the state is not written meanwhile"
            time.sleep(0.05)
        add(stream, *asked)
        counted.set()

    def close() -> None:
        counted.wait(90)
        os.close(into)

    monkeypatch.setattr(lines, "_add_block", slowly)
    os.write(into, b"a\n")
    closing = threading.Thread(target=close)
    closing.start()
    with Stream(groups=["a"], epsilon=60, path=tmp_path / "state.hcs") as stream:
        lines.add_lines(stream, out, flush_every=1)
        assert stream._place.counters.tolist() == [1]
    closing.join()
    os.close(out)
    assert counted.is_set()


def during(seconds: float, write: Callable[[], None], step: float = 0.1) -> None:
    """A clock beside an input that is open for a time and then read to its end."""
    out, into = os.pipe()
    try:
        with written_every(step, write, out) as wait:
            closing = threading.Timer(seconds, os.close, [into])
            closing.start()
            wait()
            assert os.read(out, 1) == b""
        closing.join()
    finally:
        os.close(out)


def test_a_write_that_takes_longer_than_a_step_leaves_none_out() -> None:
    times: list[float] = []

    def slow_at_first() -> None:
        times.append(time.monotonic())
        time.sleep(0.5 if len(times) == 1 else 0)

    begun = time.monotonic()
    during(2.05, slow_at_first)
    assert len(times) >= 0.9 * (times[-1] - begun) / 0.1
    assert times[4] - times[1] < 0.3, "it catches up"


def test_a_write_that_fails_is_raised_where_lines_are_read() -> None:
    def fail() -> None:
        raise OutputError("the disk is full")

    begun = time.monotonic()
    with pytest.raises(OutputError, match="the disk is full"):
        during(30, fail)
    assert time.monotonic() - begun < 20, "it does not wait for a line"


def test_an_input_that_has_ended_has_no_steps_left() -> None:
    out, into = os.pipe()
    os.write(into, b"not read yet")
    written: list[None] = []
    clock = Clock(lambda: written.append(None), out, 0.2)
    os.close(into)
    time.sleep(1)
    clock.stop()
    os.close(out)
    assert not written


def test_without_a_step_there_is_no_clock() -> None:
    n_threads = threading.active_count()
    with written_every(None, lambda: None, 0) as wait:
        wait()
        assert threading.active_count() == n_threads
