"""Lines of a CSV file, without those that are malformed, as bytes for a standard reader.

A reader that knows quotes lets one open quote swallow the lines after it. Behind this filter every
line stands for itself: what is taken out is decided by looking at one line, and what is left has
its quotes in pairs, where the dialect allows them [R1].
"""

from __future__ import annotations

import gzip
import io
import zlib
from contextlib import suppress

import numpy as np

from headcount.tables.csv import MAX_LINE_BYTES, Csv

BLOCK_BYTES = 8 << 20
END = b"\n"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Lines(io.RawIOBase):
    """The well-formed lines of one file, read block by block."""

    def __init__(
        self,
        raw: io.RawIOBase | io.BytesIO,
        csv: Csv,
        *,
        block: int = BLOCK_BYTES,
        longest: int = MAX_LINE_BYTES,
    ) -> None:
        self._raw, self._csv, self._block, self._longest = raw, csv, block, longest
        # Arrow refuses a file without a byte; an empty line is none of the records.
        self._ready = memoryview(END)
        self._rest = b""
        self._is_first, self._in_header, self._in_long_line = True, csv.header, False
        self._at_end = False

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes, at most so many; nothing at the end."""
        while not self._ready and not self._at_end:
            self._ready = memoryview(self._next())
        size = len(self._ready) if size < 0 else size
        part, self._ready = bytes(self._ready[:size]), self._ready[size:]
        return part

    def close(self) -> None:
        """Close the file beneath."""
        self._raw.close()
        super().close()

    def _next(self) -> bytes:
        """The next whole lines that are well formed; often the very bytes that were read."""
        raw = self._read()
        if b"\r" in raw:
            raw = raw.replace(b"\r", END)
        if self._at_end:
            raw += END
        cut = raw.rfind(END) + 1
        lines, rest = self._rest + raw[:cut], raw[cut:]
        if cut:
            if self._is_first:
                self._is_first, lines = False, lines.removeprefix(BYTE_ORDER_MARK)
            if self._in_long_line:
                self._in_long_line, lines = False, _after_first(lines)
            if self._in_header and (lines := lines.lstrip(END)):
                self._in_header, lines = False, _after_first(lines)
            self._rest = rest
            return self.well_formed(lines)
        self._rest += rest
        if len(self._rest) > self._longest + len(BYTE_ORDER_MARK) * self._is_first:
            self._in_long_line, self._rest = True, b""
            self._is_first = self._in_header = False
        return b""

    def _read(self) -> bytes:
        raw = self._raw.read(self._block)
        self._at_end = not raw
        return raw

    def well_formed(self, lines: bytes) -> bytes:
        """Whole lines, without the malformed ones."""
        bad = [*self._too_long(lines), *_not_utf8(lines), *self._misquoted(lines)]
        if not bad:
            return lines
        kept, start = [], 0
        for place in sorted(bad):
            if place >= start:
                kept.append(lines[start : lines.rfind(END, start, place) + 1 or start])
                start = lines.find(END, place) + 1
        return b"".join([*kept, lines[start:]])

    def _too_long(self, lines: bytes) -> list[int]:
        """A place in each line that is longer than allowed."""
        half = self._longest // 2
        # Such a line covers a whole stripe of half its length, which then has no end in it.
        if all(lines.find(END, at, at + half) >= 0 for at in range(0, len(lines) - half, half)):
            return []
        ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == END[0])
        starts = np.concatenate([[0], ends[:-1] + 1])
        return [int(start) for start in starts[ends - starts > self._longest]]

    def _misquoted(self, lines: bytes) -> list[int]:
        """A place in each line whose quotes are not a pair around a field, or doubled inside.

        Quotes of a line open and close in turn. One that opens stands at the start of a field, one
        that closes at its end, or the two are side by side: then they are a doubled quote inside.
        """
        if self._csv.quote is None or self._csv.quote.encode() not in lines:
            return []
        text = np.frombuffer(lines, np.uint8)
        quotes = np.flatnonzero(text == ord(self._csv.quote))
        ends = np.flatnonzero(text == END[0])
        upto = np.searchsorted(quotes, ends)
        odd = np.flatnonzero(np.diff(upto, prepend=0) & 1)
        if len(odd):
            # The turn of a quote is counted within its line.
            turn = np.arange(len(quotes)) - np.repeat(
                np.concatenate([[0], upto[:-1]]), np.diff(upto, prepend=0)
            )
            opening, closing = quotes[turn & 1 == 0], quotes[turn & 1 == 1]
        else:
            opening, closing = quotes[0::2], quotes[1::2]
        beside = np.zeros(256, np.bool_)
        beside[[ord(self._csv.quote), ord(self._csv.delimiter), END[0]]] = True
        # The byte before the first one is the last one, which ends a line.
        misplaced = (opening[~beside[text[opening - 1]]], closing[~beside[text[closing + 1]]])
        return [int(place) for place in (*quotes[upto[odd] - 1], *misplaced[0], *misplaced[1])]


def _after_first(lines: bytes) -> bytes:
    return lines[lines.find(END) + 1 :]


def _not_utf8(lines: bytes) -> list[int]:
    """A place in each line that is not valid UTF-8."""
    if lines.isascii():
        return []
    bad, start = [], 0
    while True:
        try:
            # A view: the rest of the block is not copied for each line that is taken out.
            str(memoryview(lines)[start:], "utf-8")
        except UnicodeDecodeError as error:
            bad.append(start + error.start)
            start = lines.find(END, bad[-1]) + 1
        else:
            return bad


def open_lines(path: str, csv: Csv) -> Lines:
    """The lines of a file, which may be compressed by gzip."""
    return Lines(_raw(path), csv)


def _raw(path: str) -> io.RawIOBase:
    return Inflated(path) if path.lower().endswith(".gz") else open(path, "rb", buffering=0)


class Inflated(io.RawIOBase):
    """A compressed file, read up to where it is damaged."""

    def __init__(self, path: str) -> None:
        self._file = gzip.GzipFile(path, "rb")

    def read(self, size: int = -1) -> bytes:
        """The next bytes, as many as are asked for unless the file ends or is damaged."""
        parts: list[bytes] = []
        left = size
        with suppress(EOFError, gzip.BadGzipFile, zlib.error):
            while left and (part := self._file.read1(left)):
                parts.append(part)
                left -= len(part)
        return b"".join(parts)

    def close(self) -> None:
        """Close the file beneath."""
        self._file.close()
        super().close()


def check_readable(path: str) -> None:
    """Raise an OSError where nothing can be read; a damaged file can be, up to the damage."""
    with _raw(path) as raw:
        raw.read(1)


def first_line(path: str) -> str | None:
    """The first line of a file that is not empty, or None where it cannot be a header.

    An empty text stands for a file without any line.
    """
    n_most = MAX_LINE_BYTES + len(BYTE_ORDER_MARK) + 1
    with _raw(path) as raw:
        start = raw.read(n_most)
    is_whole = len(start) < n_most
    start = start.removeprefix(BYTE_ORDER_MARK).replace(b"\r", END).lstrip(END)
    line, end, _ = start.partition(END)
    if not line:
        return "" if is_whole else None
    if not end and len(line) > MAX_LINE_BYTES:
        return None
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None
