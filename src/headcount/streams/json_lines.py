"""One field of JSON lines, found by the array.

**Contract.** What a line gives is a function of that line alone, and is at most one value: how its
neighbours in the buffer look changes nothing. Without this one malformed line could decide about
thousands of others, and one event would not be one event. (A parser that takes a block at a time,
and another one when it fails, breaks exactly that.)

A line is *plain* when it has no backslash and no bracket, one brace at either end and none between,
an even number of quotes, and the field's name in quotes once, as a key, with a text or a short
whole number as its value. Plain lines are read by looking at quotes alone. Lines with neither the
name nor a backslash have no such field. All others go through Python's own parser, one by one.
"""

from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt

from headcount.streams.hashing import WORD, Bytes, Places

QUOTE, SPACE, COLON, COMMA, ZERO = (ord(character) for character in '" :,0')
OPENING, CLOSING, BRACKET, BACKSLASH = (ord(character) for character in "{}[\\")
Flags = npt.NDArray[np.bool_]

_BYTES = np.arange(WORD, dtype=np.int64)


class Field:
    """The field to look for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._quoted = np.frombuffer(f'"{name}"'.encode(), np.uint8)
        # A name with escapes is never there as it is.
        self._is_literal = json.dumps(name, ensure_ascii=False) == f'"{name}"'

    def values(
        self, data: Bytes, starts: Places, ends: Places
    ) -> tuple[Places, Places, list[bytes]]:
        """Where the values of plain lines are, how long they are, and the values of the others."""
        if not self._is_literal:
            every = [self.parsed(data[a:b].tobytes()) for a, b in zip(starts, ends, strict=True)]
            none = np.zeros(0, np.int64)
            return none, none, [value for value in every if value is not None]
        end = int(ends[-1])
        quotes = np.flatnonzero(data[:end] == QUOTE)
        first = np.searchsorted(quotes, starts)
        n_quotes = np.diff(first, append=len(quotes))
        paired = n_quotes % 2 == 0
        # A name begins with the first quote of a pair; lines without pairs are no JSON.
        hits = 2 * self._hits(data, quotes[::2]) if paired.all() else self._hits(data, quotes)
        line = np.searchsorted(first, hits, side="right") - 1
        n_hits = np.bincount(line, (hits - first[line]) % 2 == 0, len(starts))
        escaped = _has(data, BACKSLASH, starts, ends)
        plain = (n_hits == 1) & paired & ~escaped & _is_flat(data, starts, ends)

        chosen = plain[line] & ((hits - first[line]) % 2 == 0)
        if not chosen.all():
            hits, line = hits[chosen], line[chosen]
        at = quotes[hits] + len(self._quoted)
        at += data[at] == SPACE
        is_key = data[at] == COLON
        at += 1
        at += data[at] == SPACE
        # The name takes two quotes; a text begins with the one after them.
        following = np.append(quotes, [end, end, end])
        is_text = is_key & (following[hits + 2] == at) & (data[at] == QUOTE)
        begin, stop, found = at + is_text, following[hits + 3], is_text
        bare = np.flatnonzero(is_key & ~is_text)
        if len(bare):
            stop[bare], found[bare] = _whole_numbers(data, at[bare], ends[line[bare]])
        done = np.zeros(len(starts), np.bool_)
        done[line[found]] = True
        rest = np.flatnonzero(((n_hits > 0) | escaped) & ~done)
        others = [self.parsed(data[starts[i] : ends[i]].tobytes()) for i in rest]
        return (
            begin[found],
            (stop - begin)[found],
            [value for value in others if value is not None],
        )

    def parsed(self, line: bytes) -> bytes | None:
        """The value of one line, by Python's parser; None when there is none."""
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            return None
        value = record.get(self.name) if isinstance(record, dict) else None
        if isinstance(value, str):
            return value.encode("utf-8", "surrogatepass")
        if isinstance(value, (bool, int, float)):
            return json.dumps(value).encode()
        return None

    def _hits(self, data: Bytes, quotes: Places) -> Places:
        """Which quotes begin the name in quotes."""
        # The first letter of a name tells most of them apart, and a letter is quickly read.
        hits = np.flatnonzero(data[quotes + 1] == self._quoted[1])
        words = np.ndarray((len(data) - WORD + 1,), "<u8", buffer=data.data, strides=(1,))
        for begin in range(0, len(self._quoted), WORD):
            part = self._quoted[begin : begin + WORD]
            mask = np.uint64((1 << (8 * len(part))) - 1)
            target = np.uint64(int.from_bytes(part.tobytes(), "little"))
            at = np.minimum(quotes[hits] + begin, len(words) - 1)
            hits = hits[words[at] & mask == target]
        return hits


def _has(data: Bytes, character: int, starts: Places, ends: Places) -> Flags:
    return _number_of(data, character, starts, ends) > 0


def _number_of(data: Bytes, character: int, starts: Places, ends: Places) -> Places:
    """How often a character is in each line."""
    where = np.flatnonzero(data[: int(ends[-1])] == character)
    if not len(where):
        return np.zeros(len(starts), np.int64)
    return np.searchsorted(where, ends) - np.searchsorted(where, starts)


def _is_flat(data: Bytes, starts: Places, ends: Places) -> Flags:
    """Whether a line is one object without objects or lists in it, seen from its braces."""
    flat = (data[starts] == OPENING) & (data[ends - 1] == CLOSING)
    for brace in (OPENING, CLOSING):
        n_all = np.count_nonzero(data[: int(ends[-1])] == brace)
        # When every line has one and there are no more, every line has exactly one.
        if not flat.all() or n_all != len(starts):
            flat &= _number_of(data, brace, starts, ends) == 1
    return flat & ~_has(data, BRACKET, starts, ends)


def _whole_numbers(data: Bytes, starts: Places, line_ends: Places) -> tuple[Places, Flags]:
    """Where numbers of at most seven digits end, and whether there is one at all."""
    digits = data[np.minimum(starts[:, None] + _BYTES, len(data) - 1)]
    is_digit = (digits >= ZERO) & (digits < ZERO + 10)
    n_digits = np.argmin(is_digit, axis=1)
    after = data[np.minimum(starts + n_digits, len(data) - 1)]
    fine = (n_digits > 0) & ~is_digit.all(axis=1) & ((digits[:, 0] != ZERO) | (n_digits == 1))
    ends = starts + n_digits
    return ends, fine & ((after == COMMA) | ((after == CLOSING) & (ends == line_ends - 1)))
