"""Where the rows of a table really are, however the table was spelled.

One table has many names: relative paths, links, patterns, hosts by name or number, views. A budget
belongs to the people behind the rows, so the ledger keeps what the file system or the server itself
says of them. A copy of the rows is beyond that: copies must share an account by its owner's word.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
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
    def has_other_names(self) -> bool:
        """Whether the file has hard links beside this one."""
        try:
            return os.stat(self.path).st_nlink > 1
        except OSError:
            return False

    @property
    def has_moved(self) -> bool:
        """Whether a link stands in its way that was not there before."""
        return os.path.realpath(self.path) != self.path

    @property
    def record(self) -> str | None:
        """What is kept, so that the file is known again under another path."""
        inode = self.inode
        return None if inode is None else f"{inode}{_mark(self.path)}:{self.path}"

    @property
    def records(self) -> tuple[str, ...]:
        """The record with its path and the one without: two names of a file share the latter, so
        that no two accounts are opened for it at one moment.
        """
        record = self.record
        return () if record is None else (record, record.removesuffix(self.path))

    def is_recorded(self, record: str) -> bool:
        """Whether a record that begins with our inode is of this file and not of an earlier one.

        File systems use the numbers of deleted files again. It is the same file if its old path
        still leads here, or if the file has not been written since.
        """
        inode = self.inode
        if inode is None or not record.startswith(inode):
            return False
        mark, _, path = record.removeprefix(inode).partition(":")
        with suppress(OSError):
            if os.path.samefile(path, self.path):
                return True
        return mark == _mark(self.path)


def _mark(path: str) -> str:
    """A hash of when the file was written. Not of its size: that tells of its rows, and whoever
    guesses it would find it in a hash.
    """
    try:
        written = os.stat(path).st_mtime_ns
    except OSError:
        return ""
    return hashlib.sha256(str(written).encode()).hexdigest()[:16]


def other_names(files: Sequence[FilePart], keys: Sequence[str]) -> list[tuple[FilePart, str]]:
    """Which of the keys name one of these files too, as the file system has it now."""
    wanted: dict[str | None, list[FilePart]] = {}
    for file in files:
        wanted.setdefault(file.inode, []).append(file)
    found = []
    for part in {file.part for file in files}:
        for key in keys:
            inode = FilePart(key.removesuffix(part), part).inode if key.endswith(part) else None
            same = wanted.get(inode, ()) if inode is not None else ()
            found += [(file, key) for file in same if file.key != key]
    return found


@dataclass(frozen=True, slots=True)
class Read:
    """A relation or file that is read, with what its folders say of the rows, where they may."""

    key: str
    said: tuple[tuple[str, str | None], ...] | None = None

    def spelled(self, names: Mapping[str, str]) -> str:
        """In a request, under the name that it has there."""
        key = names.get(self.key, self.key)
        return key if self.said is None else json.dumps([key, self.said])


@dataclass(frozen=True, slots=True)
class Identity:
    """What a source is to the ledger: whose budget it takes, and which rows it has.

    Two sources may have to share a budget and still be different rows: a partition and its family,
    a view and its table, one file in two folders that say different things of it.

    names:    what servers say of the tables that must share a budget
    files:    the files that must
    former:   how earlier versions named it; an account that covers this covers the rest
    rows:     the relations or files that are read, each as often as it is
    query:    what is made of the rows before they are counted, hashed
    untraced: what stands between the source and its rows where nobody can look through it
    """

    names: tuple[str, ...] = ()
    files: tuple[FilePart, ...] = ()
    former: tuple[str, ...] = ()
    rows: tuple[Read, ...] = ()
    query: str = ""
    untraced: str = ""

    def is_at(self, other: Identity) -> bool:
        """Whether the same tables and files are read as for another, whatever is made of them."""
        return (
            set(self.names) == set(other.names)
            and set(self.files) == set(other.files)
            and sorted(row.key for row in self.rows) == sorted(row.key for row in other.rows)
            and self.untraced == other.untraced
        )

    def spelled(self, names: Mapping[str, str]) -> tuple[str, ...]:
        """For a request: the same for every spelling of the same rows, and for no others.

        names:  what files are called in requests that have several names
        """
        return (*sorted(row.spelled(names) for row in self.rows), self.query)

    def spelled_whole(self, names: Mapping[str, str]) -> tuple[str, ...]:
        """For a request about windows: by the path or pattern of the files, not by each of them.

        Files of later windows are added every day, and what was asked of an earlier one stays the
        same question.
        """
        of_folders = self.rows and all(row.said is not None for row in self.rows)
        return (*self.former, self.query) if of_folders else self.spelled(names)

    @property
    def covers(self) -> tuple[str, ...]:
        """For the ledger: all that an account covers that covers this."""
        records = (record for file in self.files for record in file.records)
        keys = (*self.names, *(file.key for file in self.files), *records)
        return tuple(dict.fromkeys(keys))


def of_files(
    paths: Sequence[str], pattern: str, folders: Sequence[Mapping[str, str | None]] = ()
) -> Identity:
    """The identity of files, each by itself, with what its folders say of it."""
    files = tuple(FilePart(os.path.realpath(path)) for path in paths)
    said = folders or [{} for _ in paths]
    rows = tuple(Read(f.key, tuple(sorted(s.items()))) for f, s in zip(files, said, strict=True))
    former = (str(Path(pattern).resolve()),)
    return Identity(files=tuple(dict.fromkeys(files)), former=former, rows=rows)


def hashed(query: str) -> str:
    """A query, short."""
    return hashlib.sha256(query.encode()).hexdigest()
