"""Reading events from a pipe at the pipe's speed: lines, or one field of JSON lines.

Events are in a buffer on their way to the counters, and only there. It is small, and overwritten
with zeros as soon as its events are counted. A line that is too long is dropped as it comes in, and
decided about by its length alone: one event must not take the memory or the time of thousands.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from headcount.streams.arguments import checked
from headcount.streams.clock import written_every
from headcount.streams.hashing import PADDING, Bytes, Places
from headcount.streams.json_lines import Field
from headcount.streams.stream import Stream

BLOCK = 1 << 18
LONGEST_LINE = 1 << 16
"""Bytes before the end of a line; the longest group has as many characters."""
LINE_END, RETURN = 10, 13
PIPE_SIZE_COMMAND = 1031
"""F_SETPIPE_SZ: a pipe that holds a whole block lets writer and reader work side by side."""


def add_lines(
    stream: Stream, descriptor: int, *, field: str | None = None, flush_every: float | None = None
) -> None:
    """Count every line that comes in until the end.

    A line is a value; empty lines are dropped, and lines of more than ``LONGEST_LINE`` bytes. With
    ``field`` a line is a JSON object whose field is the value, a text, a number or true and false;
    all other lines are dropped. With ``flush_every`` the state is written to its file every so many
    seconds for as long as input can come, by the clock alone: neither whether lines came nor how
    long they take to count moves the times of the file, nor how often it is written.
    """
    given = checked("add", field=field, flush_every=flush_every)
    add = _add_block if field is None else partial(_add_json, Field(field))
    with written_every(given["flush_every"], stream.flush, descriptor) as wait:
        for data, end in _blocks(descriptor, wait):
            add(stream, data, end)


def _blocks(descriptor: int, wait: Callable[[], None]) -> Iterator[tuple[Bytes, int]]:
    """Whole lines, as many as there are, none of them longer than a line may be."""
    _widen(descriptor)
    buffer = bytearray(LONGEST_LINE + BLOCK + 1 + PADDING)
    data = np.frombuffer(buffer, np.uint8)
    filled, is_too_long = 0, False
    while True:
        wait()
        n = os.readv(descriptor, [memoryview(buffer)[filled : filled + BLOCK]])
        if n == 0 and not filled:
            return
        begin = 0
        if is_too_long:
            begin = buffer.find(b"\n", 0, n) + 1 or n
            is_too_long = buffer[begin - 1] != LINE_END
            data[:begin] = 0
        if n == 0:
            buffer[filled] = LINE_END
            n = 1
        end = buffer.rfind(b"\n", max(begin, filled), filled + n) + 1
        filled += n
        if end:
            yield data[begin:], end - begin
        filled = _kept(data, max(begin, end), filled)
        if filled > LONGEST_LINE:
            data[:filled] = 0
            filled, is_too_long = 0, True


def _kept(data: Bytes, begin: int, end: int) -> int:
    """Move the beginning of a line to the front, and overwrite all else; its length."""
    rest = data[begin:end].copy()
    data[:end] = 0
    data[: len(rest)] = rest
    rest[:] = 0
    return end - begin


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
    """Where the lines begin and end, empty ones left out, and those that are too long."""
    ends = np.flatnonzero(data[:end] == LINE_END)
    starts = np.empty_like(ends)
    starts[0] = 0
    starts[1:] = ends[:-1] + 1
    too_long = ends - starts > LONGEST_LINE
    for line in np.flatnonzero(too_long):
        # Nor does what is in it have a say in how its neighbours are read.
        data[starts[line] : ends[line]] = 0
    ends -= (data[np.maximum(ends - 1, 0)] == RETURN) & (ends > starts)
    some = (ends > starts) & ~too_long
    return (starts, ends) if some.all() else (starts[some], ends[some])
