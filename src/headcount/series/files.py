"""Files that others read while we write: each is there whole, or not at all.

A file is written beside its place, flushed, and renamed; its folder is flushed after that. A name
that ends in ``.part`` is nobody's to read. Whoever is killed leaves one behind; the next to write
there takes it away, unless its writer, who holds a lock on it, is still at work.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet

from headcount.errors import OutputError
from headcount.results.output import reason
from headcount.results.release import Release
from headcount.screens import quoted

PART = ".part"


def write_rows(path: Path, release: Release) -> None:
    """Write a release as Parquet: the same rows are the same bytes."""
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(release.to_arrow(), sink)
    write_atomically(path, sink.getvalue().to_pybytes())


def entry_in(path: Path) -> int | None:
    """The entry whose rows a file has; nothing where it is no release."""
    try:
        said = pyarrow.parquet.read_schema(path).metadata[b"headcount"]
        return int(json.loads(said)["entry"])
    except (OSError, pa.ArrowException, LookupError, TypeError, ValueError):
        return None


def check_place(path: Path) -> None:
    """Refuse a place that cannot be written, before anything is paid for what is to go there."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _part_of(path):
            pass
    except OSError as error:
        raise OutputError(
            f"{quoted(path)} cannot be written: {reason(error)}. Nothing was charged for it now."
        ) from None


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file beside its place, flush it, and rename it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _take_leftovers(path)
        with _part_of(path) as (part, held):
            held.write(data)
            held.flush()
            os.fsync(held.fileno())
            os.replace(part, path)
        _flush_folder(path.parent)
    except OSError as error:
        raise OutputError(f"{quoted(path)} could not be written: {reason(error)}.") from None


@contextmanager
def _part_of(path: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A new file beside a place, locked for as long as it is written."""
    part, held = _new_part(path)
    with held:
        try:
            yield part, held
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)


def _new_part(path: Path) -> tuple[Path, BinaryIO]:
    for number in count():
        part = path.with_name(f"{path.name}.{os.getpid()}-{number}{PART}")
        try:
            held = part.open("xb")
        except FileExistsError:
            continue  # of another machine, or of one that was killed
        fcntl.flock(held, fcntl.LOCK_EX)
        if part.exists():
            return part, held
        held.close()  # it was taken for a leftover before it was locked
    raise AssertionError  # numbers do not end


def _take_leftovers(path: Path) -> None:
    for part in list(path.parent.iterdir()):
        if part.name.startswith(f"{path.name}.") and part.suffix == PART:
            # One that is renamed or taken away meanwhile is no leftover.
            with suppress(OSError), part.open("rb") as held:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                part.unlink()


def _flush_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
