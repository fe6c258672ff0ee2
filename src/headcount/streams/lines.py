"""Reading events from a pipe at the pipe's speed: lines, or one field of JSON lines.

Events are in a buffer on their way to the counters, and only there. It is small, and overwritten
with zeros as soon as its events are counted.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator
from functools import partial

import numpy as np

from headcount.streams.hashing import PADDING, Bytes, Places
from headcount.streams.json_lines import Field
from headcount.streams.stream import Stream

BLOCK = 1 << 18
LINE_END, RETURN = 10, 13
PIPE_SIZE_COMMAND = 1031
"""F_SETPIPE_SZ: a pipe that holds a whole block lets writer and reader work side by side."""


def add_lines(
    stream: Stream, descriptor: int, *, field: str | None = None, flush_every: float = 10.0
) -> None:
    """Count every line that comes in until the end; every few seconds make it last.

    A line is a value; empty lines are dropped. With ``field`` a line is a JSON object whose field
    is the value, a text, a number or true and false; all other lines are dropped.
    """
    add = _add_block if field is None else partial(_add_json, Field(field))
    flushed = time.monotonic()
    for data, end in _blocks(descriptor, flush_every):
        if end:
            add(stream, data, end)
        if time.monotonic() - flushed >= flush_every:
            stream.flush()
            flushed = time.monotonic()
    stream.flush()


def _blocks(descriptor: int, wait: float) -> Iterator[tuple[Bytes, int]]:
    """Whole lines, as many as there are; nothing when none came for a while."""
    _widen(descriptor)
    buffer = bytearray(BLOCK + PADDING)
    filled = 0
    while True:
        if not select.select([descriptor], [], [], wait)[0]:
            yield np.frombuffer(buffer, np.uint8), 0
            continue
        n = os.readv(descriptor, [memoryview(buffer)[filled : len(buffer) - PADDING]])
        end = buffer.rfind(b"\n", filled, filled + n) + 1
        filled += n
        if n == 0 and filled:
            buffer[filled] = LINE_END
            end = filled = filled + 1
        if end:
            data = np.frombuffer(buffer, np.uint8)
            yield data, end
            rest = data[end:filled].copy()
            data[:filled] = 0
            data[: len(rest)] = rest
            rest[:] = 0
            filled -= end
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
