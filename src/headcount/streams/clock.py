"""Writing a stream's state at the steps of a clock, beside the counting and whatever it does.

**Contract.** The state is written once for each step that passes from the beginning on while input
can still come: the number of writes, and so of draws, follows from the clock and from how long the
input was open, and not from what came in. What takes long to count does not move a step, nor does
it add one: after the input has ended nothing is written by the clock, though there may be lines
that are still to be counted. A write that takes longer than a step makes the next one late, and
leaves none out.

The operating system says whether anybody can send anything more into a pipe, also while there are
lines in it that nobody has read. A file has no such end: there, steps pass until it is read.
"""

from __future__ import annotations

import itertools
import math
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST_WAIT = 3600.0
"""Seconds; the operating system takes no wait of months at once."""


class Clock:
    """A thread that writes at fixed steps, until it is stopped."""

    def __init__(self, write: Callable[[], None], descriptor: int, step: float) -> None:
        self._write = write
        self._descriptor = descriptor
        self._step = step
        # Each end is closed by its owner, and tells the other.
        self._ours, self._theirs = socket.socketpair()
        self._failure: BaseException | None = None
        self._begun = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="headcount-clock", daemon=True)
        self._thread.start()

    def wait_for_input(self) -> None:
        """Return when there is something to read, or its end; raise if a write failed."""
        told = self._ours.fileno()
        ready = select.select([self._descriptor, told], [], [])[0]
        if told in ready:
            self.raise_failure()

    def stop(self) -> None:
        """Write no more; a write that is under way ends first."""
        self._ours.close()
        self._thread.join()

    def raise_failure(self) -> None:
        """Raise what a write failed with, if one did."""
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        told, either = select.poll(), select.poll()
        for poll in (told, either):
            poll.register(self._theirs, select.POLLIN)
        either.register(self._descriptor, 0)  # only that nobody is left who could send
        try:
            for number in itertools.count(1):
                due = self._begun + number * self._step
                ended = _waited(either, due)
                if self._theirs.fileno() in ended or (ended and _waited(told, due)):
                    return
                if not ended:
                    self._write()
        except BaseException as error:  # whoever counts raises it
            self._failure = error
        finally:
            self._theirs.close()


def _waited(poll: select.poll, due: float) -> list[int]:
    """What was told until a time."""
    while True:
        left = min(max(0.0, due - time.monotonic()), LONGEST_WAIT)
        ready = [file for file, _ in poll.poll(math.ceil(1000 * left))]
        if ready or time.monotonic() >= due:
            return ready


@contextmanager
def written_every(
    step: float | None, write: Callable[[], None], descriptor: int
) -> Iterator[Callable[[], None]]:
    """Write by the clock, if there is a step; gives what to call before input is read."""
    if step is None:
        yield lambda: None
        return
    clock = Clock(write, descriptor, step)
    try:
        yield clock.wait_for_input
    finally:
        clock.stop()
    clock.raise_failure()
