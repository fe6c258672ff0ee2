"""A stream: counters that hold noise before the first event, and may be stolen at any moment.

Every call that may let a state be seen draws noise, always and at once: making and opening a
stream [PP1], its output [PP2], ``snapshot``, ``flush`` and ``reseal`` [PP3], ``merge`` [PP4]. An
event draws nothing, and changes the counters in memory and nothing else [PP5]. So the number of
draws, the files, their length and their times follow from these calls, and say nothing about
events.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from headcount.errors import OutputError, UsageError
from headcount.mechanisms.chance import Chance, Drawn
from headcount.privacy.exact import Number
from headcount.results.output import check_output
from headcount.screens import quoted
from headcount.streams import promise
from headcount.streams.arguments import checked
from headcount.streams.copies import put_copy
from headcount.streams.file import read_terms
from headcount.streams.hashing import Bytes, Places, ValueHash, found_at, known_hashes
from headcount.streams.places import Kept, Place
from headcount.streams.terms import NEXT, Terms, new_terms
from headcount.streams.values import laid_out

if TYPE_CHECKING:
    from headcount.streams.output import StreamOutput


class Stream:
    """Counts of events whose state is private at any one moment.

    groups:      the public groups to count; events of no group are dropped
    buckets:     instead: how many counters to hash all values into, for frequencies without names
    epsilon:     what is promised to one event
    neighbours:  ``"add-remove"`` one event, or ``"replace"`` one, when their number is public
    path:        keep the counters in this file as well: it is written by ``flush`` and ``close``,
                 and never because an event came. Without it they are in memory alone
    hash_seed:   the public seed of another stream that this one is to be merged with

    >>> stream = Stream(groups=["yes", "no"], epsilon=1)
    >>> stream.update(["yes", "no", "yes"])
    >>> len(stream.finish())
    2
    """

    _chance: ClassVar[Chance] = Drawn()
    """The system's; an auditor counts with a class of its own."""

    def __init__(
        self,
        *,
        groups: Sequence[object] | None = None,
        buckets: int | None = None,
        epsilon: Number,
        neighbours: str = "add-remove",
        path: str | Path | None = None,
        hash_seed: str | None = None,
    ) -> None:
        self._begin(new_terms(groups, buckets, epsilon, neighbours, hash_seed), path)

    @classmethod
    def like(cls, other: Stream | str | Path, *, path: str | Path | None = None) -> Stream:
        """A new stream, with noise and events of its own, that can be merged with ``other``."""
        if isinstance(other, Stream):
            terms = other.terms
        else:
            terms = read_terms(checked("load", path=other)["path"])
        stream = cls.__new__(cls)
        stream._begin(terms.like(), path)
        return stream

    @classmethod
    def load(cls, path: str | Path) -> Stream:
        """Go on with a file, in memory, over fresh noise; one process at a time."""
        stream = cls.at_rest(path)
        if stream.terms.is_merged:
            stream.close()
            raise UsageError(
                f"{quoted(path)} was merged into another stream, and what came after that would be "
                f"in no output. {NEXT} Nothing was counted."
            )
        if not stream.terms.is_finished:
            stream._is_at_rest = False
            stream._place.draw()  # [PP1] the file may have been seen
        return stream

    @classmethod
    def at_rest(cls, path: str | Path) -> Stream:
        """A file to copy, merge, reseal or finish, without counting: that needs no draw yet."""
        place = Kept.open(checked("load", path=path)["path"], cls._chance)
        stream = cls.__new__(cls)
        try:
            stream._use(place)
        except BaseException:
            place.let_go()
            raise
        stream._is_at_rest = True
        return stream

    def _begin(self, terms: Terms, path: str | Path | None) -> None:
        self._use(self._new_place(terms, path))
        self._place.draw()  # [PP1] before the first event, on every counter

    def _new_place(self, terms: Terms, path: str | Path | None) -> Place:
        if path is None:
            return Place(terms, self._chance)
        return new_file(terms, path, self._chance)

    def _use(self, place: Place) -> None:
        self._place = place
        self._is_at_rest = False
        self._process = os.getpid()
        self._turn = threading.RLock()
        self._hash = ValueHash(place.terms.hash_seed)
        self._known = known_hashes(place.terms.hash_seed, place.terms.groups)
        self._closing = weakref.finalize(self, _close, place, self._process)

    @property
    def terms(self) -> Terms:
        """What is public about this stream."""
        return self._place.terms

    @property
    def hash_seed(self) -> str:
        """The public seed that decides which counter a value belongs to."""
        return self.terms.hash_seed

    @property
    def n_noises(self) -> int:
        """How many draws of noise each counter holds."""
        return self.terms.n_noises

    def update(self, values: Any) -> None:
        """Count events: a list of values, or one column of Arrow, NumPy or pandas.

        Missing values are dropped, and so are values that are none of the groups.
        """
        self._must_count()
        self.add_laid_out(*laid_out(values))

    def add_laid_out(self, data: Bytes, starts: Places, lengths: Places) -> None:
        """Count values that lie in a buffer, with ``hashing.PADDING`` bytes after the last."""
        self._must_count()
        if not len(starts):
            return
        hashes = self._hash.of(data, starts, lengths)
        if self._known is None:
            at = (hashes % np.uint64(self.terms.n_counters)).view(np.int64)
        else:
            at = found_at(hashes, self._known)
        with self._turn:
            self._must_count()
            counters = self._place.counters  # [PP5] nothing else is changed by an event
            if len(counters) <= 2 * len(at):
                counters += np.bincount(at, minlength=len(counters))
            else:
                np.add.at(counters, at, 1)
        # These say as much as the events do; memory that is let go keeps its bytes.
        hashes[:] = 0
        at[:] = 0

    def snapshot(self, path: str | Path) -> Path:
        """Write a copy of the state, in one step, over the copy that was there before.

        A copy is an intrusion that was announced: counting goes on over fresh noise on every
        counter, so a copy and a later state cannot be subtracted.
        """
        target = checked("snapshot", path=path)["path"]
        with self._turn:
            self._must_be_open()
            self._place.must_not_be_at(target)
            check_output(target, ())
            put_copy(self._place, target)
        return Path(path)

    def reseal(self) -> None:
        """Add fresh noise to every counter: after an intrusion that you know of."""
        with self._turn:
            self._must_not_be_finished()
            self._place.draw()  # [PP3]

    def merge(self, *others: Stream | str | Path) -> None:
        """Add other streams of the same terms to this one; they are closed, and so are their files.

        Their noise comes along, and one more draw: their files may still be about. The sum is
        written to this stream's file, if it has one.
        """
        self._must_not_be_finished()
        with ExitStack() as opened:
            parts = [
                one if isinstance(one, Stream) else opened.enter_context(type(self).at_rest(one))
                for one in others
            ]
            for stream in sorted({self, *parts}, key=id):
                opened.enter_context(stream._turn)
            for stream in (self, *parts):
                stream._must_not_be_finished()
            terms = self.terms.merged([part.terms for part in parts])
            sums = self._place.counters.copy()
            for part in parts:
                sums += part._place.counters
            self._place.take(terms, sums)
            with self._place.fresh_after():  # [PP4]
                self._place.save()
            for part in parts:
                try:
                    part._place.save(part.terms.as_part())
                except OutputError as error:
                    raise OutputError(
                        "The sum was written, and one of its parts could not be closed: count "
                        f"nothing more in it. {error}"
                    ) from None
                part.close()

    def finish(self, *, fresh_noise: bool = True, **options: Any) -> StreamOutput:
        """Take the output, once, and close the stream; ``output`` gives the same one again.

        fresh_noise:  one more draw, so that a state somebody saw and the output stay within
                      epsilon together. Without it only one of the two may ever be seen
        options:      those of ``output``
        """
        from headcount.streams.output import check_options

        fresh_noise = checked("finish", fresh_noise=fresh_noise)["fresh_noise"]
        with self._turn:
            self._must_not_be_finished()
            if self.terms.is_merged:
                raise UsageError(
                    "This stream was merged into another stream, and its events are in the one "
                    "output of that: finish that one. Nothing was changed."
                )
            after = self.terms.drawn() if fresh_noise else self.terms
            check_options(after, **options)
            if fresh_noise:
                self._place.draw()  # [PP2]
            self._place.save(self.terms.finished(fresh_noise))
        return self.output(**options)

    def output(self, **options: Any) -> StreamOutput:
        """What a finished stream published; no new noise is drawn, so ask as often as you like.

        confidence:  that of the error bars, 0.95 unless said
        method:      how frequencies are fitted when the stream has buckets: ``"npmle"``
        n_events:    how many events there were, when that is public (``neighbours="replace"``)
        """
        from headcount.streams.output import output_of

        self._must_be_open()
        if not self.terms.is_finished:
            raise UsageError("This stream is still counting. finish() takes its one output.")
        return output_of(self.terms, self._place.counters, **options)

    def describe(self) -> str:
        """What is promised for this stream, and what is not."""
        return promise.text(self.terms)

    def flush(self) -> None:
        """Write the state to its file, if it has one, and go on over fresh noise."""
        with self._turn:
            self._must_not_be_finished()
            if isinstance(self._place, Kept):
                with self._place.fresh_after():  # [PP3]
                    self._place.save()

    def close(self) -> None:
        """Write the state to its file and let go of it; a stream in memory is gone."""
        with self._turn:
            if self._closing.alive and self._process == os.getpid() and self._place.is_ahead:
                self._place.save()  # where this fails, the stream stays open
            self._closing()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Stream {promise.summary(self.terms)}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a stream is never copied: two copies of one noise can be subtracted")

    def _must_be_open(self) -> None:
        if not self._closing.alive:
            raise UsageError("This stream is closed. Go on with Stream.load(path) if it has one.")
        if self._process != os.getpid():
            raise UsageError(
                "This process is a fork and holds a copy of the stream: two copies of one noise "
                "can be subtracted. Make or load streams after the fork. Nothing was changed."
            )

    def _must_not_be_finished(self) -> None:
        self._must_be_open()
        if self.terms.is_finished:
            raise UsageError(
                "This stream is finished: its one output was taken, and output() gives it again. "
                "Count further events in a new stream. Nothing was changed."
            )

    def _must_count(self) -> None:
        self._must_not_be_finished()
        if self._is_at_rest:
            raise UsageError("This file was opened at rest. Count with Stream.load(path).")


def new_file(terms: Terms, path: str | Path, chance: Chance) -> Kept:
    """A file for a new stream: no events, and no noise until somebody opens it to count."""
    where = checked("Stream", path=path)["path"]
    known_hashes(terms.hash_seed, terms.groups)
    return Kept.create(check_output(where, ()), terms, chance)


def _close(place: Place, process: int) -> None:
    """End a stream, also one that nobody closed; a fork leaves the file to whom it belongs."""
    if process == os.getpid():
        try:
            if place.is_ahead:
                place.save()
        finally:
            place.let_go()
