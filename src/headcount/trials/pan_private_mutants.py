"""Streams broken by the smallest edit that breaks their promise."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from headcount.mechanisms.pan_private import one_event
from headcount.privacy.neighbours import Neighbours
from headcount.streams import places, terms
from headcount.streams.file import Counters
from headcount.streams.places import Kept, Place
from headcount.streams.stream import Stream
from headcount.trials.given import given
from headcount.trials.seam import swapped


def seized(stream: Stream) -> Counters:
    """The memory of a stream."""
    return np.array(stream._place.counters)


@contextmanager
def no_first_noise() -> Iterator[None]:
    """Counters that begin at zero; noise comes with the output."""

    def bare(self: Stream, asked: terms.Terms, path: Any) -> None:
        self._use(self._new_place(asked, path))
        self._place.is_ahead = True

    with swapped(Stream, "_begin", bare):
        yield


@contextmanager
def no_output_noise() -> Iterator[None]:
    """An output that is the state itself."""
    finish = Stream.finish

    def bare(self: Stream, **options: Any) -> object:
        return finish(self, **{**options, "fresh_noise": False})

    with swapped(Stream, "finish", bare):
        yield


@contextmanager
def noise_when_touched() -> Iterator[None]:
    """A sparse map: a counter gets its noise with its first event."""
    add = Stream.add_laid_out

    def touched(self: Stream, *laid_out: Any) -> None:
        before = seized(self)
        add(self, *laid_out)
        new = (before == 0) & (self._place.counters != 0)
        noise: Counters = self.terms.mechanism.draw(
            given(self.terms.mechanism.sensitivity, np.zeros(int(new.sum()), np.int64)),
            self._chance,
        )
        self._place.counters[new] += noise

    with no_first_noise(), swapped(Stream, "add_laid_out", touched):
        yield


@contextmanager
def seen_states_share_noise() -> Iterator[None]:
    """A copy or a file is written, and counting goes on over the same noise."""
    with swapped(Place, "fresh_after", lambda _self: nullcontext()):
        yield


@contextmanager
def opened_without_noise() -> Iterator[None]:
    """A file is opened, and counting goes on over the noise that is in it."""
    with swapped(Stream, "load", classmethod(_opened)):
        yield


def _opened(cls: type[Stream], path: Path) -> Stream:
    stream = cls.at_rest(path)
    stream._is_at_rest = False
    return stream


@contextmanager
def noise_waits_for_an_event() -> Iterator[None]:
    """A state is seen, and the noise that has to follow comes with the next event, if any."""
    add = Stream.add_laid_out
    waiting: set[int] = set()

    @contextmanager
    def later(self: Place) -> Iterator[None]:
        yield
        waiting.add(id(self))

    def opened(cls: type[Stream], path: Path) -> Stream:
        stream = _opened(cls, path)
        waiting.add(id(stream._place))
        stream._place.is_ahead = True
        return stream

    def first(self: Stream, *laid_out: Any) -> None:
        if id(self._place) in waiting:
            waiting.discard(id(self._place))
            self._place.draw()
        add(self, *laid_out)

    with (
        swapped(Place, "fresh_after", later),
        swapped(Stream, "load", classmethod(opened)),
        swapped(Stream, "add_laid_out", first),
    ):
        yield


@contextmanager
def events_touch_the_file() -> Iterator[None]:
    """An event leaves the file as it is, but for its time."""
    add = Stream.add_laid_out

    def touching(self: Stream, *laid_out: Any) -> None:
        add(self, *laid_out)
        if isinstance(self._place, Kept):
            os.utime(self._place.path)

    with swapped(Stream, "add_laid_out", touching):
        yield


@contextmanager
def merge_forgets() -> Iterator[None]:
    """Parts are added up, and how many draws they hold is taken from the first."""
    merged = terms.Terms.merged

    def forgetful(self: terms.Terms, others: Sequence[terms.Terms]) -> terms.Terms:
        return replace(merged(self, others), n_noises=self.n_noises)

    with swapped(terms.Terms, "merged", forgetful):
        yield


@contextmanager
def noise_of_add_remove() -> Iterator[None]:
    """Noise for one counter that moves, where a replaced event moves two."""
    with (
        swapped(terms, "one_event", lambda _asked: one_event(Neighbours.ADD_REMOVE)),
        swapped(places, "one_event", lambda _asked: one_event(Neighbours.ADD_REMOVE)),
    ):
        yield
