"""Where a release into files goes: a private folder first, and the folder that was named last.

While a release runs its files are in a folder of mode 0700 within the one that was named. They are
moved out of it when the ledger has stored their digests, and not before [O3]. A note outside says
that the folder is there, so that one which a killed process left is removed by the next ``open``.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from headcount.errors import HeadcountError, OutputError, UsageError
from headcount.privacy.argument import NOTHING, is_text, refused
from headcount.results.output import reason
from headcount.results.wide import WideRelease, is_wide
from headcount.screens import quoted
from headcount.tables.scratch import private_folder

if TYPE_CHECKING:
    from headcount.ledger.ledger import Ledger

START = ".headcount-"
NOTE = ".staging"


def read_folder(value: Any, name: str) -> Path:
    """The folder that rows go to: one of this machine, whose files can be moved as one step."""
    instead = f"{name}='urls/', a folder that is empty or not there yet"
    if not isinstance(value, str | Path) or not is_text(str(value)) or not str(value):
        raise refused(name, "the path of a folder", value, instead)
    if "://" in str(value) or str(value).startswith("file:"):
        raise UsageError(
            f"{name} must be a folder that this machine has mounted, not {quoted(value)}: an "
            "object store has no private folder, and moves nothing in one step. Write to a folder "
            f"and copy it from there. {NOTHING}"
        )
    return Path(value).absolute()


class Staging:
    """The private folder of one release, within the one that was named."""

    def __init__(self, folder: Path, ledger: Ledger, n_files: int) -> None:
        self.folder, self.n_files = folder, n_files
        self._ledger = ledger
        self.path = folder / f"{START}{token_hex(8)}"
        self._note = private_folder() / f"{self.path.name}{NOTE}"
        self._held = os.open(self._note, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(self._held, fcntl.LOCK_EX)
        self.belongs_to(None)
        self.path.mkdir(mode=0o700)

    def belongs_to(self, entry: int | None) -> None:
        """Note which entry pays: what it has stored is not removed."""
        self._entry = entry
        said = {"path": str(self.path), "ledger": self._ledger.address, "entry": entry}
        os.truncate(self._held, 0)
        os.pwrite(self._held, json.dumps(said).encode(), 0)
        os.fsync(self._held)

    @property
    def files(self) -> Path:
        """Where the files are written."""
        return self.path / "files"

    def end(self) -> None:
        """Remove what is left of it, unless it is stored and was not moved."""
        try:
            with suppress(HeadcountError, OSError):
                _settle(self._note, self.path, self._entry, self._ledger)
        finally:
            os.close(self._held)


@contextmanager
def staging_in(folder: Path, ledger: Ledger, n_files: int) -> Iterator[Staging]:
    """A private folder in one that is empty, which nobody else writes to meanwhile."""
    try:
        folder.mkdir(exist_ok=True)
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(
                f"Another release is being written to {quoted(folder)}. Choose another folder. "
                f"{NOTHING}"
            ) from None
        if any(folder.iterdir()):
            raise UsageError(
                f"{quoted(folder)} is not empty, and what is in it would be taken for rows of this "
                f"release. Choose a folder that is empty or not there yet. {NOTHING}"
            )
        try:
            staging = Staging(folder, ledger, n_files)
        except OSError as error:
            raise _unwritable(folder, error) from None
        try:
            yield staging
        finally:
            staging.end()
    finally:
        os.close(held)


def deliver(release: WideRelease) -> None:
    """Move what is still in the private folder, and see that every file is as it was stored."""
    staging = release.folder / release.place.staging / "files"
    try:
        for file in release.files:
            if not (release.folder / file.name).exists() and (staging / file.name).exists():
                (staging / file.name).rename(release.folder / file.name)
    except OSError as error:
        raise OutputError(
            f"The files of entry {release.entry} could not be moved out of {quoted(staging)}: "
            f"{reason(error)}. They are paid for: ask for the same release again. That is not "
            "charged."
        ) from None
    release.check()
    shutil.rmtree(staging.parent, ignore_errors=True)


def sweep(ledger: Ledger) -> None:
    """Remove the private folders of releases into files whose process is gone.

    What an entry of this ledger has stored is paid for, and stays until it is asked for again.
    """
    with suppress(OSError, UsageError):
        for note in private_folder().glob(f"*{NOTE}"):
            with suppress(HeadcountError, OSError, ValueError, LookupError, TypeError):
                _sweep_one(note, ledger)


def _sweep_one(note: Path, ledger: Ledger) -> None:
    held = os.open(note, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        said = json.loads(os.read(held, 1 << 16) or b"{}")
        path, entry = Path(said["path"]), said["entry"]
        if path.name.startswith(START) and (entry is None or said["ledger"] == ledger.address):
            _settle(note, path, entry, ledger)
    finally:
        os.close(held)


def _settle(note: Path, path: Path, entry: int | None, ledger: Ledger) -> None:
    """Remove a private folder and its note; the folder stays where the ledger stored its files."""
    stored = None if entry is None else ledger.stored_result(entry)
    is_stored = stored is not None and is_wide(stored)
    if not is_stored or WideRelease.from_bytes(stored or b"").place.staging != path.name:
        shutil.rmtree(path, ignore_errors=True)
    note.unlink(missing_ok=True)


def _unwritable(folder: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{quoted(folder)} cannot be written to: {reason(error)}. Choose another folder. {NOTHING}"
    )
