"""Streams broken by the smallest edit that breaks their promise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from headcount.mechanisms.pan_private import one_event
from headcount.privacy.neighbours import Neighbours
from headcount.streams import stream as streams
from headcount.streams import terms
from headcount.streams.file import Counters
from headcount.streams.places import InMemory
from headcount.streams.stream import Stream
from headcount.trials.seam import swapped


def seized(stream: Stream) -> Counters:
    """The memory of a stream."""
    return np.array(stream._place.counters)


@contextmanager
def no_first_noise() -> Iterator[None]:
    """Counters that begin at zero; noise comes with the output."""
    with swapped(streams, "_first_noise", lambda asked: iter([np.zeros(asked.n_counters, int)])):
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
        noise: Counters = self.terms.mechanism.draw(np.zeros(int(new.sum()), np.int64))
        self._place.counters[new] += noise

    with no_first_noise(), swapped(Stream, "add_laid_out", touched):
        yield


@contextmanager
def copies_share_noise() -> Iterator[None]:
    """A copy leaves, and counting goes on over the same noise."""
    with swapped(InMemory, "mark_copied", lambda _self: None):
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
    with swapped(terms, "one_event", lambda _asked: one_event(Neighbours.ADD_REMOVE)):
        yield
