"""A copy of a state: it goes over an earlier copy of the same stream, and over nothing else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

from headcount.streams.drafts import locked, put
from headcount.streams.file import read_state, refused
from headcount.streams.places import Place


def put_copy(place: Place, target: Path) -> None:
    """Write a copy, and go on over fresh noise; all that can be refused is refused before."""
    with _held(place, target):
        # [PP3] An output stays as it was drawn: nothing is counted after it.
        goes_on = nullcontext() if place.terms.is_finished else place.fresh_after()
        with goes_on:
            os.close(put(target, place.terms.as_copy(), place.counters))


@contextmanager
def _held(place: Place, target: Path) -> Iterator[None]:
    """Keep what is there to ourselves while it is replaced, when it is an earlier copy."""
    if not os.path.lexists(target):
        yield
        return
    descriptor = locked(target)
    try:
        there, _ = read_state(descriptor, target)
        if not there.is_copy or there.parts != place.terms.parts:
            raise refused(target, "it is there already, and is no copy of this stream")
        yield
    finally:
        os.close(descriptor)
