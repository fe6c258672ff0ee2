"""The clock of ``headcount stream add --flush-every``, beside an event that takes long to count.

Whoever holds the file knows how often it was written. Right after a step of the clock one event is
sent and the input ends; while it is being counted, the next steps pass. None of them may draw: with
no event there would have been nothing to wait for.
"""

from __future__ import annotations

import os
import select
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headcount.audit.verdict import Finding, Tier
from headcount.streams import lines
from headcount.streams.clock import written_every
from headcount.streams.stream import Stream
from headcount.trials.seam import swapped

STEP = 1.0
COUNTING = 2.5 * STEP
SOON = 0.5 * STEP


def draws_after_the_end() -> Finding:
    """How many draws there are once the input has ended; tried again on a machine that stalled."""
    while True:
        took, found = _late_draws()
        if took < SOON:
            break
    subject = "a clock, an event that takes long to count"
    return Finding(Tier.GREY_BOX, subject, "draws after the input ended", 0, found)


def _late_draws() -> tuple[float, int]:
    add = lines._add_block
    at_end: list[int] = []
    took: list[float] = []
    out, into = os.pipe()

    def slowly(*asked: Any) -> None:
        time.sleep(COUNTING)
        add(*asked)

    def send(stream: Stream) -> None:
        before = stream.n_noises
        while stream.n_noises == before:
            time.sleep(0.001)
        seen = time.monotonic()
        os.write(into, b"a\n")
        os.close(into)
        took.append(time.monotonic() - seen)
        at_end.append(stream.n_noises)

    with (
        tempfile.TemporaryDirectory() as folder,
        swapped(lines, "_add_block", slowly),
        Stream(groups=["a"], epsilon=1, path=Path(folder) / "state.hcs") as stream,
    ):
        sender = threading.Thread(target=send, args=(stream,))
        sender.start()
        lines.add_lines(stream, out, flush_every=STEP)
        sender.join()
        found = stream.n_noises - at_end[0]
    os.close(out)
    return took[0], found


Wait = Callable[[], None]


@contextmanager
def clock_catches_up() -> Iterator[None]:
    """One thread counts and writes, and makes up for steps that passed while it counted."""

    @contextmanager
    def by_turns(step: float, write: Callable[[], None], descriptor: int) -> Iterator[Wait]:
        begun, done = time.monotonic(), 0

        def wait() -> None:
            nonlocal done
            is_ready = False
            while not is_ready:
                while done < int((time.monotonic() - begun) / step):
                    write()
                    done += 1
                left = begun + (done + 1) * step - time.monotonic()
                is_ready = bool(select.select([descriptor], [], [], max(0.0, left))[0])

        yield wait

    with swapped(lines, "written_every", by_turns):
        yield


@contextmanager
def clock_goes_on() -> Iterator[None]:
    """The clock has a thread of its own, and writes until all that came is counted."""

    @contextmanager
    def to_the_last(step: float, write: Callable[[], None], _descriptor: int) -> Iterator[Wait]:
        never_ends = os.pipe()
        try:
            with written_every(step, write, never_ends[0]):
                yield lambda: None
        finally:
            for end in never_ends:
                os.close(end)

    with swapped(lines, "written_every", to_the_last):
        yield
