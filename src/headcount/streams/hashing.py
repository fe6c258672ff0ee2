"""From values to counters: a hash with a public seed, computed by the array.

**Contract.** 64 bits of a value's bytes, the same on every machine and in every version. The seed
is public and drawn before the first event, so the counter of an event depends on that event alone;
nothing here is secret, and privacy does not rest on the hash. That it spreads values evenly is for
accuracy, and tested.

Values are read eight bytes at a time, all values at once: a multiplication by an odd number of the
seed and a shift after each word, as in MurmurHash, and two more at the end.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headcount.errors import UsageError

Bytes = npt.NDArray[np.uint8]
Places = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

WORD = 8
PADDING = WORD
"""Values are read in words, so this many bytes beyond the last one must be there to be read."""

LONG = 1024
"""Values longer than this are rare, and would be read word by word on their own."""

_MASKS = np.array([(1 << (8 * n)) - 1 for n in range(WORD + 1)], dtype=np.uint64)


class ValueHash:
    """The hash of one seed."""

    def __init__(self, seed: str) -> None:
        digest = hashlib.blake2b(bytes.fromhex(seed), digest_size=32, person=b"headcount-hash-1")
        words = np.frombuffer(digest.digest(), dtype="<u8").astype(np.uint64)
        self._seed = bytes.fromhex(seed)
        self._begin = words[0]
        self._length, self._word, self._end = words[1:] | np.uint64(1)

    def of(self, data: Bytes, starts: Places, lengths: Places) -> Hashes:
        """The hashes of values that lie in ``data``, with ``PADDING`` bytes after the last."""
        words = np.ndarray((len(data) - WORD + 1,), "<u8", buffer=data.data, strides=(1,))
        hashes = lengths.astype(np.uint64)
        hashes *= self._length
        hashes ^= self._begin
        left = np.minimum(lengths, WORD)
        self._mix(hashes, words[starts] & _MASKS[left])
        rows = np.flatnonzero((lengths > WORD) & (lengths <= LONG))
        at, left = starts[rows] + WORD, lengths[rows] - WORD
        while len(rows):
            part = hashes[rows]
            self._mix(part, words[at] & _MASKS[np.minimum(left, WORD)])
            hashes[rows] = part
            more = left > WORD
            rows, at, left = rows[more], at[more] + WORD, left[more] - WORD
        hashes *= self._end
        hashes ^= hashes >> np.uint64(29)
        hashes *= self._word
        hashes ^= hashes >> np.uint64(32)
        for row in np.flatnonzero(lengths > LONG):
            value = data[starts[row] : starts[row] + lengths[row]]
            digest = hashlib.blake2b(value.tobytes(), digest_size=WORD, key=self._seed).digest()
            hashes[row] = int.from_bytes(digest, "little")
        return hashes

    def _mix(self, hashes: Hashes, words: Hashes) -> None:
        hashes ^= words
        hashes *= self._word
        hashes ^= hashes >> np.uint64(32)

    def of_texts(self, texts: tuple[str, ...]) -> Hashes:
        """The hashes of a list of texts."""
        encoded = [text.encode() for text in texts]
        lengths = np.array([len(text) for text in encoded], dtype=np.int64)
        data = np.frombuffer(b"".join(encoded) + bytes(PADDING), np.uint8)
        return self.of(data, np.cumsum(lengths) - lengths, lengths)


def known_hashes(seed: str, groups: tuple[str, ...] | None) -> pa.Array | None:
    """The hashes of listed groups, by which their events are found."""
    if groups is None:
        return None
    hashes = ValueHash(seed).of_texts(groups)
    if len(np.unique(hashes)) < len(hashes):
        raise UsageError("Two groups share a hash, by a rare chance. Take another seed.")
    return _arrow(hashes)


def found_at(hashes: Hashes, known: pa.Array) -> Places:
    """Which of the known ones each hash is; those of no group are left out."""
    found = pc.index_in(_arrow(hashes), value_set=known).drop_null()
    if not len(found):
        return np.zeros(0, np.int64)
    return np.frombuffer(found.buffers()[1], np.int32, len(found), 4 * found.offset).astype(
        np.int64
    )


def _arrow(hashes: Hashes) -> pa.Array:
    # pa.array and to_numpy look for pandas, and importing that takes longer than a million events.
    return pa.Array.from_buffers(pa.uint64(), len(hashes), [None, pa.py_buffer(hashes)])
