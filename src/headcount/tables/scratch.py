"""A private folder for what an engine cannot hold in memory.

It is readable by its owner alone and goes with the object that holds it. A process that was killed
leaves its folder behind; the next one to make a folder removes it, because nobody holds its lock.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headcount.errors import UsageError

PLACE = "HEADCOUNT_TMP"
PRIVATE = 0o700
MARKS = "*?[{\\"
"""What DuckDB takes for a pattern in the name of a file."""


class Scratch:
    """One folder of mode 0700, removed with this object, or at the process's end.

    place:  a folder that its owner alone can read; else the system's for temporary files
    """

    def __init__(self, place: str | Path | None = None) -> None:
        root = _root(_given() if place is None else _own(Path(place)))
        with _locked(root):
            _sweep(root)
            self.path = Path(tempfile.mkdtemp(prefix="", dir=root))
            held = os.open(self.path, os.O_RDONLY)
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._remove = weakref.finalize(self, _remove, self.path, held, os.getpid())

    def remove(self) -> None:
        """Remove it now."""
        self._remove()


def _given() -> Path:
    return Path(os.environ.get(PLACE) or tempfile.gettempdir())


def _own(place: Path) -> Path:
    """A folder that was named for this; refused where it is anybody else's too."""
    try:
        found = place.stat()
    except (OSError, ValueError):
        raise UsageError(
            f"There is no folder {str(place)!r} for temporary files. Make it, readable by you "
            "alone, or leave scratch out. Nothing was read and nothing was charged."
        ) from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise UsageError(
            f"{str(place)!r} is not a folder that you alone can read, so private rows cannot be "
            "put there. Say chmod 700 to a folder of your own. Nothing was read and nothing was "
            "charged."
        )
    return place


def _root(place: Path) -> Path:
    """The folder of this user's folders; refused where someone else could read or swap it."""
    root = place.absolute() / f"headcount-{os.getuid()}"
    if any(mark in str(root) for mark in (*MARKS, "=")):
        raise UsageError(
            f"{str(place)!r} cannot hold temporary files: a name with = or one of {MARKS} says "
            f"something about files. Set {PLACE} to a folder with another name. Nothing was read "
            "and nothing was charged."
        )
    try:
        with suppress(FileExistsError):
            root.mkdir(mode=PRIVATE)
        found = root.lstat()
    except OSError:
        raise UsageError(
            f"No private folder for temporary files can be made in {str(place)!r}. Set {PLACE} to "
            "a folder of your own. Nothing was read and nothing was charged."
        ) from None
    others = stat.S_IMODE(found.st_mode) & 0o077
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or others:
        raise UsageError(
            f"{str(root)!r} is not a folder that you alone can read, so private rows cannot be "
            f"put there. Remove it, or set {PLACE} to a folder of your own. Nothing was read and "
            "nothing was charged."
        )
    return root


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Making and sweeping take turns, so that a folder is never seen before it is held."""
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _sweep(root: Path) -> None:
    for left in root.iterdir():
        with suppress(OSError):
            held = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(held)


def _remove(path: Path, held: int, owner: int) -> None:
    # A forked child holds a copy of this object, and the folder is not the child's.
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
    os.close(held)


def private_folder() -> Path:
    """The folder itself, for notes that outlive a process; nobody else can read it."""
    return _root(_given())
