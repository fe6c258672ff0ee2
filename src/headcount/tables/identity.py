"""Where the rows of a table really are, however the table was spelled.

One table has many names: relative paths, links, patterns, hosts by name or number, views. A budget
belongs to the people behind the rows, so the ledger keeps what the file system or the server itself
says of them. A copy of the rows is beyond that: copies must share an account by its owner's word.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

INODE = "inode:"


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file, or a table within one, under the path that all links lead to."""

    path: str
    part: str = ""

    @property
    def key(self) -> str:
        """Its path, with the table within it."""
        return f"{self.path}{self.part}"

    @property
    def inode(self) -> str | None:
        """What every record of this file begins with, under whatever path."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return f"{INODE}{found.st_dev}:{found.st_ino}{self.part}:"

    @property
    def record(self) -> str | None:
        """What is kept, so that the file is known again under another path."""
        inode = self.inode
        return None if inode is None else f"{inode}{_mark(self.path)}:{self.path}"

    def is_recorded(self, record: str) -> bool:
        """Whether a record that begins with our inode is of this file and not of an earlier one.

        File systems use the numbers of deleted files again. It is the same file if its old path
        still leads here, or if that path is gone and the file has not been written since.
        """
        inode = self.inode
        if inode is None or not record.startswith(inode):
            return False
        mark, _, path = record.removeprefix(inode).partition(":")
        try:
            return os.path.samefile(path, self.path)
        except OSError:
            return mark == _mark(self.path)


def _mark(path: str) -> str:
    """A hash of when the file was written and how long it is, which would tell of its rows."""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return hashlib.sha256(f"{found.st_mtime_ns} {found.st_size}".encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Identity:
    """What a source is to the ledger.

    names:   what servers say of their tables
    files:   the files that are read
    former:  how earlier versions named it; an account that covers this covers the rest
    query:   what is made of the rows before they are counted, hashed
    """

    names: tuple[str, ...] = ()
    files: tuple[FilePart, ...] = ()
    former: tuple[str, ...] = ()
    query: str = ""

    @property
    def spelled(self) -> tuple[str, ...]:
        """For a request: the same for every spelling of one source."""
        return (*sorted({*self.names, *(file.key for file in self.files)}), self.query)

    @property
    def covers(self) -> tuple[str, ...]:
        """For the ledger: all that an account covers that covers this."""
        records = (file.record for file in self.files)
        keys = (*self.names, *(file.key for file in self.files), *(r for r in records if r))
        return tuple(dict.fromkeys(keys))


def of_files(paths: Iterable[str], pattern: str) -> Identity:
    """The identity of files, each by itself."""
    files = tuple(FilePart(os.path.realpath(path)) for path in paths)
    return Identity(files=files, former=(str(Path(pattern).resolve()),))


def hashed(query: str) -> str:
    """A query, short."""
    return hashlib.sha256(query.encode()).hexdigest()
