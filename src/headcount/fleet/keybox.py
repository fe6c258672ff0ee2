"""The keys of rounds, one file for each, in a folder of the core's own and of no backup.

A key is made once for a round, is there while the round is, and is destroyed with it. What is left
is an empty file: a round whose key is gone gets no other, since its devices flip no new coins and
a second key would show their one sample a second time [FL7].
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from headcount.errors import UsageError
from headcount.fleet.own_folder import own_folder
from headcount.fleet.seal import new_private_key, public_key_of

KEY_BYTES = 32
DIGEST_BYTES = 32
NAME = re.compile(r"[0-9a-f]{64}-[0-9]{1,20}")


class KeyBox:
    """A folder of keys that nobody but its owner can read."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = own_folder(folder, "keys")

    def make(self, task: bytes, number: int) -> bytes:
        """The public key of a round, which is made if there is none yet; for good or not at all."""
        path = self._path(task, number)
        draft = path.with_suffix(".draft")
        with suppress(FileNotFoundError):
            draft.unlink()
        self._write(draft, new_private_key())
        # Whoever comes second finds the first one's.
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
        self._sync()
        return public_key_of(self.open(task, number))

    def open(self, task: bytes, number: int) -> bytes:
        """The private key of a round, while there is one."""
        try:
            key = self._path(task, number).read_bytes()
        except FileNotFoundError:
            raise UsageError(f"Round {number} has no key here: it was never opened.") from None
        # Zeros: its end was cut short. They would be a key, and one that everybody knows.
        if len(key) != KEY_BYTES or not any(key):
            raise UsageError(f"The key of round {number} is destroyed. Nothing of it can be read.")
        return key

    def destroy(self, task: bytes, number: int) -> None:
        """Overwrite the key of a round and leave an empty file; again is nothing."""
        path = self._path(task, number)
        flags = os.O_RDWR | os.O_CREAT
        handle = os.open(path, flags, 0o600)
        try:
            os.pwrite(handle, bytes(os.fstat(handle).st_size), 0)
            os.fsync(handle)
            os.ftruncate(handle, 0)
            os.fsync(handle)
        finally:
            os.close(handle)
        with suppress(FileNotFoundError):
            path.with_suffix(".draft").unlink()
        with suppress(FileNotFoundError):
            path.with_suffix(".shown").unlink()
        self._sync()

    def bind(self, task: bytes, number: int, digest: bytes) -> None:
        """Note the reports that a round is counted from, or refuse if it was counted from others.

        Counts of two choices from one sample, one after the other, would tell them apart [FL7].
        """
        if self._first(self._path(task, number).with_suffix(".reports"), digest) != digest:
            raise UsageError(
                f"Round {number} was counted before, from other reports than these. A round is "
                "shown once: use what was stored."
            )

    def once(self, task: bytes, number: int, shown: bytes) -> bytes:
        """What a round with noise shows: what is given first, however often it is counted.

        Noise that is drawn a second time could be averaged away [FN4].
        """
        return self._first(self._path(task, number).with_suffix(".shown"), shown)

    def _first(self, path: Path, content: bytes) -> bytes:
        """What is kept there, which is this if nothing was."""
        draft = path.with_suffix(f"{path.suffix}.draft")
        with suppress(FileNotFoundError):
            draft.unlink()
        self._write(draft, content)
        with suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
        self._sync()
        return path.read_bytes()

    def _path(self, task: bytes, number: int) -> Path:
        name = f"{task.hex()}-{number}"
        if not NAME.fullmatch(name):
            raise UsageError("A key belongs to a round of a task.")
        return self._folder / f"{name}.key"

    def _write(self, path: Path, content: bytes) -> None:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(handle, content)
            os.fsync(handle)
        finally:
            os.close(handle)

    def _sync(self) -> None:
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
