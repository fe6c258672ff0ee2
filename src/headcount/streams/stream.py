"""A stream: counters that hold noise before the first event, and may be seized at any moment."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount.errors import UsageError
from headcount.privacy.exact import Number
from headcount.streams import promise
from headcount.streams.file import CHUNK, Counters, chunks, is_copy_of, read_terms, refused, write
from headcount.streams.hashing import Bytes, Hashes, Places, ValueHash
from headcount.streams.places import InMemory, Mapped, Place
from headcount.streams.terms import Terms, new_terms
from headcount.streams.values import laid_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headcount.streams.output import StreamOutput


class Stream:
    """Counts of events whose state is private at any one moment.

    groups:      the public groups to count; events of no group are dropped
    buckets:     instead: how many counters to hash all values into, for frequencies without names
    epsilon:     what is promised to one event
    neighbours:  ``"add-remove"`` one event, or ``"replace"`` one, when their number is public
    path:        keep the counters in this file, which is the state itself; without it they are in
                 memory alone
    hash_seed:   the public seed of another stream that this one is to be merged with

    >>> stream = Stream(groups=["yes", "no"], epsilon=1)
    >>> stream.update(["yes", "no", "yes"])
    >>> len(stream.finish())
    2
    """

    def __init__(
        self,
        *,
        groups: Sequence[str] | None = None,
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
        terms = other.terms if isinstance(other, Stream) else read_terms(Path(other))[0]
        stream = cls.__new__(cls)
        stream._begin(terms.like(), path)
        return stream

    @classmethod
    def load(cls, path: str | Path) -> Stream:
        """Go on with a file. It is not read into memory: it stays the state, changed in place."""
        stream = cls.__new__(cls)
        stream._use(Mapped(Path(path)))
        return stream

    def _begin(self, terms: Terms, path: str | Path | None) -> None:
        noise = _first_noise(terms)
        self._use(
            InMemory(terms, noise) if path is None else Mapped.create(Path(path), terms, noise)
        )

    def _use(self, place: Place) -> None:
        self._place = place
        self._is_closed = False
        self._process = os.getpid()
        self._turn = threading.RLock()
        self._hash = ValueHash(self.terms.hash_seed)
        self._known: pa.Array | None = None
        if self.terms.groups is not None:
            hashes = self._hash.of_texts(self.terms.groups)
            if len(np.unique(hashes)) < len(hashes):
                raise UsageError("Two groups share a hash, by a rare chance. Take another seed.")
            self._known = _arrow(hashes)

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
            found = pc.index_in(_arrow(hashes), value_set=self._known)
            at = found.drop_null().to_numpy(zero_copy_only=False).astype(np.int64)
        with self._turn:
            self._must_count()
            if self._place.copied:
                self.reseal()
            self._place.unseal()
            counters = self._place.counters
            if len(counters) <= 2 * len(at):
                counters += np.bincount(at, minlength=len(counters))
            else:
                np.add.at(counters, at, 1)
        # These say as much as the events do; memory that is let go keeps its bytes.
        hashes[:] = 0
        at[:] = 0

    def snapshot(self, path: str | Path) -> Path:
        """Write a copy of the state, in one step, over the copy that was there before.

        A copy at another place is an intrusion that was announced: the next event finds fresh
        noise on every counter, so a copy and a later state cannot be subtracted.
        """
        target = Path(path)
        with self._turn:
            self._must_be_open()
            if target.exists() and not is_copy_of(self.terms, target):
                raise refused(target, "it is there already, and is no copy of this stream")
            self._place.mark_copied()
            write(target, self.terms, chunks(self._place.counters), copied=True)
        return target

    def reseal(self) -> None:
        """Add fresh noise to every counter: after an intrusion that you know of."""
        with self._turn:
            self._must_count()
            self._place.replace(self.terms.resealed(), self._noised(), copied=False)

    def merge(self, *others: Stream | str | Path) -> None:
        """Add other streams of the same terms to this one; those given as objects are closed.

        Their noise comes along. Their files may still be about, so the next event finds fresh
        noise; finishing needs none for that.
        """
        with self._turn, ExitStack() as opened:
            self._must_count()
            parts = [
                one if isinstance(one, Stream) else opened.enter_context(Stream.load(one))
                for one in others
            ]
            for part in parts:
                part._must_count()
            terms = self.terms.merged([part.terms for part in parts])
            for part in parts:
                # Whoever goes on counting in a part has a later state of what is in the sum.
                part._place.mark_copied()
            states = [self._place.counters, *(part._place.counters for part in parts)]
            sums = (sum(some[1:], some[0]) for some in zip(*map(chunks, states), strict=True))
            self._place.replace(terms, sums, copied=True)
            for part in parts:
                part.close()

    def finish(self, *, fresh_noise: bool = True, **options: Any) -> StreamOutput:
        """Take the output, once, and close the stream; ``output`` gives the same one again.

        fresh_noise:  one more draw, so that a state somebody saw and the output stay within
                      epsilon together. Without it only one of the two may ever be seen
        options:      those of ``output``
        """
        from headcount.streams.output import check_options

        with self._turn:
            self._must_count()
            terms = self.terms.finished(fresh_noise)
            check_options(terms, **options)
            noisy = self._noised() if fresh_noise else chunks(self._place.counters.copy())
            self._place.replace(terms, noisy, copied=False)
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
        return promise.text(self.terms, copied=self._place.copied)

    def flush(self) -> None:
        """Write what was counted so far to the disk, when the state is a file."""
        self._must_be_open()
        self._place.flush()

    def close(self) -> None:
        """Seal the file and let go of it; a stream in memory is gone."""
        if not self._is_closed and self._process == os.getpid():
            self._place.close()
        self._is_closed = True

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Stream {promise.summary(self.terms)}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a stream is never copied: two copies of one noise can be subtracted")

    def _noised(self) -> Iterator[Counters]:
        return (self.terms.mechanism.draw(part) for part in chunks(self._place.counters))

    def _must_be_open(self) -> None:
        if self._is_closed:
            raise UsageError("This stream is closed. Go on with Stream.load(path) if it has one.")
        if self._process != os.getpid():
            raise UsageError(
                "This process is a fork and holds a copy of the stream: two copies of one noise "
                "can be subtracted. Make or load streams after the fork. Nothing was changed."
            )

    def _must_count(self) -> None:
        self._must_be_open()
        if self.terms.is_finished:
            raise UsageError(
                "This stream is finished: its one output was taken, and output() gives it again. "
                "Count further events in a new stream. Nothing was changed."
            )


def _arrow(hashes: Hashes) -> pa.Array:
    # pa.array looks for pandas first, and importing that takes longer than a million events.
    return pa.Array.from_buffers(pa.uint64(), len(hashes), [None, pa.py_buffer(hashes)])


def _first_noise(terms: Terms) -> Iterator[Counters]:
    """[P1] Noise for every counter, drawn before there is any event."""
    for begin in range(0, terms.n_counters, CHUNK):
        size = min(CHUNK, terms.n_counters - begin)
        yield terms.mechanism.draw(np.zeros(size, np.int64))
