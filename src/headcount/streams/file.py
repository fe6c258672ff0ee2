"""The file of a stream: noisy counters and public terms, nothing else.

Layout, all numbers little-endian::

    magic (8)  version (4)  length (4)  terms as JSON  SHA-256 of all before
    padding to a page
    status page: mark (8, "sealed" or "open")  copied (8, 0 or 1)  SHA-256 of the counters
    counters, 8 bytes each

A file is replaced as a whole: the new one is written beside it, flushed, and renamed over it, so a
crash leaves the old or the new one. Counting happens in place: while a file is ``open`` its
counters change and have no hash, and a crash loses events, never the file.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from headcount.errors import UsageError
from headcount.screens import quoted
from headcount.streams.terms import Terms

Counters = npt.NDArray[np.int64]

MAGIC = b"hcstream"
VERSION = 1
PAGE = 4096
DIGEST = 32
SEALED, OPEN = b"sealed\0\0", b"open\0\0\0\0"
COPIED = struct.Struct("<Q")
CHUNK = 1 << 20
_START = struct.Struct("<8sII")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of one file are."""

    status: int
    n_counters: int

    @property
    def counters(self) -> int:
        """Where the counters begin."""
        return self.status + PAGE

    @property
    def size(self) -> int:
        """How long the file is."""
        return self.counters + 8 * self.n_counters


def chunks(counters: Counters) -> Iterable[Counters]:
    """The counters in parts, so that a large state is never held twice."""
    for begin in range(0, len(counters), CHUNK):
        yield counters[begin : begin + CHUNK]


def header(terms: Terms) -> bytes:
    """The pages before the status page."""
    text = terms.to_json()
    start = _START.pack(MAGIC, VERSION, len(text)) + text
    start += hashlib.sha256(start).digest()
    return start.ljust(_whole_pages(len(start)), b"\0")


def _whole_pages(size: int) -> int:
    return -(-size // PAGE) * PAGE


def status(mark: bytes, copied: bool, digest: bytes = bytes(DIGEST)) -> bytes:
    """What the status page begins with."""
    return mark + COPIED.pack(copied) + digest


def read_terms(path: Path) -> tuple[Terms, Layout]:
    """Read what is public of a file, and check that it is whole."""
    try:
        with path.open("rb") as file:
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
    except (KeyError, TypeError, ValueError):
        raise refused(path, "its terms are those of another version") from None
    layout = Layout(_whole_pages(_START.size + length + DIGEST), terms.n_counters)
    if size != layout.size:
        raise refused(path, "its length is wrong")
    return terms, layout


def read_copied(path: Path, layout: Layout) -> bool:
    """Whether a copy of the state has left, as its file says."""
    with path.open("rb") as file:
        file.seek(layout.status + len(SEALED))
        return bool(COPIED.unpack(file.read(COPIED.size))[0])


def is_copy_of(terms: Terms, path: Path) -> bool:
    """Whether a file is an earlier copy of the same stream, and may be written over."""
    there, layout = read_terms(path)
    return there.parts == terms.parts and read_copied(path, layout)


def write(path: Path, terms: Terms, parts: Iterable[Counters], *, copied: bool) -> None:
    """Put a sealed file in place of what is there, in one step that a crash cannot cut in two."""
    # One name, so that what a crash leaves behind is overwritten and never piles up.
    draft = path.with_name(path.name + ".new")
    digest = hashlib.sha256()
    start = header(terms)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(start + bytes(PAGE))
        for part in parts:
            plain = np.ascontiguousarray(part, dtype="<i8").data
            digest.update(plain)
            file.write(plain)
        file.seek(len(start))
        file.write(status(SEALED, copied, digest.digest()))
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    flush_folder(path)


def flush_folder(path: Path) -> None:
    """Make a rename last: the folder is a file too."""
    folder = os.open(path.absolute().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def refused(path: Path, why: str) -> UsageError:
    """A file that cannot be used."""
    return UsageError(f"{quoted(path)} cannot be used: {why}. Nothing was changed.")
