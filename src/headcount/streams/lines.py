"""Reading events from a pipe at the pipe's speed: lines, or one field of JSON lines.

Events are in a buffer on their way to the counters, and only there. It is small, and overwritten
with zeros as soon as its events are counted.
"""

from __future__ import annotations

import math
import os
import select
import time
from collections.abc import Iterator
from functools import partial

import numpy as np

from headcount.streams.arguments import checked
from headcount.streams.hashing import PADDING, Bytes, Places
from headcount.streams.json_lines import Field
from headcount.streams.stream import Stream

BLOCK = 1 << 18
LINE_END, RETURN = 10, 13
PIPE_SIZE_COMMAND = 1031
"""F_SETPIPE_SZ: a pipe that holds a whole block lets writer and reader work side by side."""


def add_lines(
    stream: Stream, descriptor: int, *, field: str | None = None, flush_every: float | None = None
) -> None:
    """Count every line that comes in until the end.

    A line is a value; empty lines are dropped. With ``field`` a line is a JSON object whose field
    is the value, a text, a number or true and false; all other lines are dropped. With
    ``flush_every`` the state is written to its file every so many seconds, by the clock alone:
    whether lines came does not move the times of the file, nor how often it is written.
    """
    given = checked("add", field=field, flush_every=flush_every)
    add = _add_block if field is None else partial(_add_json, Field(field))
    clock = Clock(given["flush_every"])
    for data, end in _blocks(descriptor, clock):
        if end:
            add(stream, data, end)
        for _ in range(clock.n_due()):
            stream.flush()
        clock.go_on()


class Clock:
    """When a state is written: at fixed steps from the beginning, none of them left out."""

    def __init__(self, step: float | None) -> None:
        self._step = step
        self._next = math.inf if step is None else time.monotonic() + step

    def wait(self) -> float | None:
        """How long to wait for lines, in seconds; None for as long as it takes."""
        return None if self._step is None else max(0.0, self._next - time.monotonic())

    def n_due(self) -> int:
        """How many steps have passed; slow lines must not make them fewer."""
        late = time.monotonic() - self._next
        if self._step is None or late < 0:
            return 0
        passed = 1 + int(late // self._step)
        self._next += passed * self._step
        return passed

    def go_on(self) -> None:
        """Begin anew where writing took longer than a step: how long it takes says nothing."""
        if self._step is not None and self._next < time.monotonic():
            self._next = time.monotonic() + self._step


def _blocks(descriptor: int, clock: Clock) -> Iterator[tuple[Bytes, int]]:
    """Whole lines, as many as there are; nothing when none came until the next step."""
    _widen(descriptor)
    buffer = bytearray(BLOCK + PADDING)
    filled = 0
    while True:
        if not select.select([descriptor], [], [], clock.wait())[0]:
            yield np.frombuffer(buffer, np.uint8), 0
            continue
        n = os.readv(descriptor, [memoryview(buffer)[filled : len(buffer) - PADDING]])
        end = buffer.rfind(b"\n", filled, filled + n) + 1
        filled += n
        if n == 0 and filled:
            buffer[filled] = LINE_END
            end = filled = filled + 1
        data = np.frombuffer(buffer, np.uint8)
        yield data, end
        if end:
            rest = data[end:filled].copy()
            data[:filled] = 0
            data[: len(rest)] = rest
            rest[:] = 0
            filled -= end
        del data
        if n == 0:
            return
        if filled == len(buffer) - PADDING:
            longer = bytearray(2 * len(buffer))
            longer[:filled] = buffer[:filled]
            buffer[:] = bytes(len(buffer))
            buffer = longer


def _widen(descriptor: int) -> None:
    try:
        import fcntl

        fcntl.fcntl(descriptor, PIPE_SIZE_COMMAND, BLOCK)
    except (ImportError, OSError):
        pass  # not a pipe, or not a system that can: it works all the same


def _add_block(stream: Stream, data: Bytes, end: int) -> None:
    starts, ends = _lines(data, end)
    stream.add_laid_out(data, starts, ends - starts)


def _add_json(field: Field, stream: Stream, data: Bytes, end: int) -> None:
    starts, ends = _lines(data, end)
    if len(starts):
        begins, lengths, others = field.values(data, starts, ends)
        stream.add_laid_out(data, begins, lengths)
        if others:
            stream.update(others)


def _lines(data: Bytes, end: int) -> tuple[Places, Places]:
    """Where the lines begin and end, empty ones left out."""
    ends = np.flatnonzero(data[:end] == LINE_END)
    starts = np.empty_like(ends)
    starts[0] = 0
    starts[1:] = ends[:-1] + 1
    ends -= (data[np.maximum(ends - 1, 0)] == RETURN) & (ends > starts)
    some = ends > starts
    return (starts, ends) if some.all() else (starts[some], ends[some])
