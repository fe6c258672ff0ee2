"""The file of a stream: noisy counters and public terms, nothing else.

Layout, all numbers little-endian::

    magic (8)  version (4)  length (4)  terms as JSON  SHA-256 of all before
    padding to a page
    SHA-256 of the counters, padding to a page
    counters, 8 bytes each

All but the counters and their hash follows from the terms. A file is only ever written as a whole,
at a call of whoever runs the stream, never because an event came: ``drafts`` does it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from headcount.errors import UsageError
from headcount.screens import quoted
from headcount.streams.terms import Terms

Counters = npt.NDArray[np.int64]

MAGIC = b"hcstream"
VERSION = 2
PAGE = 4096
DIGEST = 32
CHUNK = 1 << 20
_START = struct.Struct("<8sII")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of one file are."""

    digest: int
    n_counters: int

    @property
    def counters(self) -> int:
        """Where the counters begin."""
        return self.digest + PAGE

    @property
    def size(self) -> int:
        """How long the file is."""
        return self.counters + 8 * self.n_counters


def chunks(counters: Counters) -> Iterable[Counters]:
    """The counters in parts, so that what is made of them is never as large as they are."""
    for begin in range(0, len(counters), CHUNK):
        yield counters[begin : begin + CHUNK]


def header(terms: Terms) -> bytes:
    """The pages before the hash of the counters."""
    text = terms.to_json()
    start = _START.pack(MAGIC, VERSION, len(text)) + text
    start += hashlib.sha256(start).digest()
    return start.ljust(_whole_pages(len(start)), b"\0")


def _whole_pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


def write_content(file: BinaryIO, terms: Terms, counters: Counters) -> None:
    """All that a file holds."""
    start = header(terms)
    file.write(start + bytes(PAGE))
    digest = hashlib.sha256()
    for part in chunks(counters):
        plain = np.ascontiguousarray(part, dtype="<i8").data
        digest.update(plain)
        file.write(plain)
    file.seek(len(start))
    file.write(digest.digest())


def opened(path: Path, flags: int) -> int:
    """A descriptor of an ordinary file; nothing else is waited for or read."""
    try:
        descriptor = os.open(path, flags | os.O_NONBLOCK)
    except OSError as error:
        raise refused(path, error.strerror or "it cannot be opened") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise refused(path, "it is no ordinary file")
    return descriptor


def read_terms(path: Path) -> Terms:
    """Read what is public of a file. Nothing is locked: another process may be counting."""
    with os.fdopen(opened(path, os.O_RDONLY), "rb") as file:
        return _terms(file, path)[0]


def read_state(descriptor: int, path: Path) -> tuple[Terms, Counters]:
    """Read a whole file, and check that it is."""
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(0)
        terms, layout = _terms(file, path)
        file.seek(layout.digest)
        expected = file.read(DIGEST)
        file.seek(layout.counters)
        counters = np.fromfile(file, "<i8", terms.n_counters).astype(np.int64, copy=False)
    digest = hashlib.sha256()
    for part in chunks(counters):
        digest.update(np.ascontiguousarray(part, dtype="<i8").data)
    if len(counters) != terms.n_counters or digest.digest() != expected:
        raise refused(path, "its counters are damaged")
    return terms, counters


def _terms(file: BinaryIO, path: Path) -> tuple[Terms, Layout]:
    try:
        start = file.read(_START.size)
        if len(start) < _START.size or not start.startswith(MAGIC):
            raise refused(path, "it is not the state of a stream")
        _, version, length = _START.unpack(start)
        if version != VERSION:
            raise refused(path, f"its version is {version}, this headcount reads {VERSION}")
        text = file.read(length)
        digest = file.read(DIGEST)
        size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise refused(path, error.strerror or "it cannot be read") from None
    if hashlib.sha256(start + text).digest() != digest:
        raise refused(path, "its header is damaged")
    try:
        terms = Terms.from_json(text)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise refused(path, "its terms are those of another version") from None
    layout = Layout(_whole_pages(_START.size + length + DIGEST), terms.n_counters)
    if size != layout.size:
        raise refused(path, "its length is wrong")
    return terms, layout


def refused(path: Path, why: str) -> UsageError:
    """A file that cannot be used."""
    return UsageError(f"{quoted(path)} cannot be used: {why}. Nothing was changed.")
