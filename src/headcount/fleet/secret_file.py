"""A file that holds one secret and is its user's alone: made once, whole, and for good."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from headcount.errors import UsageError


def make_once(path: Path, drawn: Callable[[], bytes]) -> None:
    """Keep a new secret there, unless there is a file already; for good or not at all."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(handle, drawn())
        os.fsync(handle)
    finally:
        os.close(handle)
    # Whoever comes second finds the first one's.
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()
    sync(path.parent)


def read_own(path: Path, n_bytes: int, what: str) -> bytes:
    """The secret that is kept there; refused where others may read it, or where it is not whole.

    what: whose it is, as the refusal says it
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        raise UsageError(f"The file of {what} cannot be read. Nothing was opened.") from None
    try:
        found = os.fstat(handle)
        secret = os.read(handle, n_bytes + 1)
    finally:
        os.close(handle)
    if stat.S_IMODE(found.st_mode) & 0o077 or found.st_uid != os.geteuid():
        raise UsageError(
            f"Others may read the file of {what}. Nothing was opened. If nobody did, make it its "
            "user's alone (chmod 600); if somebody may have, make another in its place."
        )
    if len(secret) != n_bytes or not any(secret):
        raise UsageError(f"The file of {what} is damaged. Nothing was opened: bring it back.")
    return secret


def sync(folder: Path) -> None:
    """Let what was made or taken away in a folder be so for good."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
