"""How far each ledger had come, kept outside its database, on the machine that uses it.

Whoever restores an old copy of a ledger hands its budget out a second time, and nothing inside the
copy shows that. The head does: a small file that says how far the ledger had come. It only moves
forward. Whoever can delete it can have a ledger accepted as if it were seen for the first time, so
it is the machine owner's to protect.

There is one head for each ledger, by the ledger's own name, so that a copy under another path or
another host name is held to it too; and one for each address, which says which ledger is there.

A file is two lines of JSON, written in turn. A write that a crash cut short spoils one line and
leaves the other, which is an entry behind. Lines are not flushed to disk one by one: after a power
failure the head may be some entries behind its ledger, which is harmless, and is never ahead.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headcount.errors import LedgerError
from headcount.ledger.address import Address
from headcount.ledger.journal import Head

LINE = 512


def default_folder() -> Path:
    """Where heads are when nobody says: HEADCOUNT_HEADS, or beside the user's settings."""
    named = os.environ.get("HEADCOUNT_HEADS")
    if named:
        return Path(named)
    settings = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(settings) / "headcount" / "heads"


class Heads:
    """The heads of one ledger: of its address, and of its own name once that is known."""

    def __init__(self, folder: Path, address: Address) -> None:
        name = hashlib.sha256(address.shown.encode()).hexdigest()[:16]
        # The name of the file or database too, so that a person finds the right one.
        stem = "".join(c for c in Path(address.path).stem if c.isalnum() or c in "-_")[:40]
        self.folder = folder
        self._shown = address.shown
        self._here = HeadFile(folder / f"{stem}-{name}.head", address.shown)
        self._own: HeadFile | None = None
        self._newest: Head | None = None

    def make_folder(self) -> None:
        """Make the folder that heads are kept in, or say that none can be."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            raise self._here.unusable() from None

    def belong_to(self, ledger: str) -> None:
        """Say which ledger the database holds."""
        self._own = HeadFile(self._path(ledger, "head"), self._shown)

    def checkpoint(self, ledger: str) -> Path:
        """Where the sums of a ledger that was read before are kept."""
        return self._path(ledger, "sums")

    def key(self, ledger: str) -> Path:
        """Where the key is that receipts of a ledger are signed with."""
        return self._path(ledger, "key")

    @property
    def paths(self) -> list[Path]:
        """The files, for whoever must remove them."""
        return [file.path for file in (self._here, self._own) if file is not None]

    def read(self) -> Head | None:
        """The newest head that was seen; nothing when this machine never saw the ledger.

        Another ledger's head, where that was at this address before.
        """
        here = self._here.read() if self._newest is None else None
        own = self._own.read() if self._own is not None else None
        if here is not None and own is not None and here.ledger != own.ledger:
            return here
        seen = [head for head in (here, own, self._newest) if head is not None]
        return max(seen, key=lambda head: head.sequence, default=None)

    def advance(self, head: Head) -> None:
        """Move forward to ``head``, unless another process already came this far."""
        self.make_folder()
        if self._own is None:
            self.belong_to(head.ledger)
        assert self._own is not None  # noqa: S101  made above
        self._own.advance(head)
        if self._newest is None:
            # Written once: it says which ledger this is, and the other one how far it came.
            self._here.advance(head)
        self._newest = head

    def _path(self, ledger: str, ending: str) -> Path:
        return _path(self.folder, ledger, ending)


class HeadFile:
    """One head, as this machine last saw it."""

    def __init__(self, path: Path, address: str) -> None:
        self.path = path
        self._address = address

    def read(self) -> Head | None:
        """The head as it was last written; nothing when there is none."""
        try:
            os.stat(self.path)
        except FileNotFoundError:
            return None
        except OSError:
            raise self.unusable() from None
        with self._locked() as file:
            return self._read(file)

    def advance(self, head: Head) -> None:
        """Move forward to ``head``, unless another process already came this far."""
        with self._locked() as file:
            seen = self._read(file)
            if seen is not None and seen.ledger != head.ledger:
                raise LedgerError(
                    f"Another ledger was put in the place of {self._address!r} while it was in "
                    "use. Nothing is shown. Charges that were made stay."
                )
            if seen is None or seen.sequence < head.sequence:
                os.pwrite(file, self._line(head), LINE * (head.sequence % 2))
                if seen is None:
                    os.fsync(file)

    def _line(self, head: Head) -> bytes:
        record = {
            "ledger": head.ledger,
            "sequence": head.sequence,
            "hash": head.hash,
            "check": _check(head),
        }
        # For people, and only as much of it as there is room for.
        for length in (100, 50, 20, 0):
            named = {**record, "address": self._address[len(self._address) - length :]}
            line = json.dumps(named if length else record).encode()
            if len(line) < LINE:
                break
        return line.ljust(LINE - 1) + b"\n"

    def _read(self, file: int) -> Head | None:
        text = os.pread(file, 2 * LINE, 0)
        if not text:
            return None
        found = [_head(text[:LINE]), _head(text[LINE:])]
        heads = [head for head in found if head is not None]
        if not heads:
            raise LedgerError(
                f"The file {str(self.path)!r}, which says how far the ledger {self._address!r} had "
                "come, cannot be read. Nothing was charged. If you know that the ledger is its "
                "newest copy, remove the file."
            )
        return max(heads, key=lambda head: head.sequence)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                try:
                    yield file
                finally:
                    fcntl.flock(file, fcntl.LOCK_UN)
            finally:
                os.close(file)
        except OSError:
            raise self.unusable() from None

    def unusable(self) -> LedgerError:
        """Why a head cannot be kept."""
        return LedgerError(
            f"The ledger's head cannot be kept in {str(self.path.parent)!r}. Nothing is shown; a "
            "charge that was made stays, and trying again under its key is free. Make the folder "
            "writable, or name another with HEADCOUNT_HEADS."
        )


def seen_of(ledger: str, folder: Path) -> Head | None:
    """The newest entry of a ledger that this machine saw, by the ledger's own name."""
    return HeadFile(_path(folder, ledger, "head"), "").read()


def _path(folder: Path, ledger: str, ending: str) -> Path:
    # By a hash: the name comes from a database, and a path must not.
    return folder / f"ledger-{hashlib.sha256(ledger.encode()).hexdigest()[:16]}.{ending}"


def _check(head: Head) -> str:
    return hashlib.sha256(f"{head.ledger} {head.sequence} {head.hash}".encode()).hexdigest()[:16]


def _head(line: bytes) -> Head | None:
    try:
        record = json.loads(line.decode())
        head = Head(str(record["ledger"]), int(record["sequence"]), str(record["hash"]))
    except (ValueError, KeyError, TypeError):
        return None
    return head if record.get("check") == _check(head) else None
