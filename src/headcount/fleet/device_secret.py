"""The secret of a device: a file of its own, made once, never sent, and destroyed by overwriting.

It decides how every coin falls [FL1]. It belongs in no backup and on no second device.
"""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import suppress
from pathlib import Path

from headcount.fleet.secret_file import make_once, sync
from headcount.fleet.wire import ID_BYTES, SECRET_BYTES

NAME = b"headcount/1 name\x00"


def secret_in(path: Path) -> bytes | None:
    """The secret that is kept there, if there is a whole one."""
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        return None
    # Zeros: its end was cut short. Coins under them would be known to everybody.
    return found if len(found) == SECRET_BYTES and any(found) else None


def make_secret(path: Path) -> bytes:
    """The secret that is kept there, made if there is none; for good or not at all."""
    found = secret_in(path)
    if found is not None:
        return found
    with suppress(FileNotFoundError):
        path.unlink()
    make_once(path, lambda: secrets.token_bytes(SECRET_BYTES))
    return path.read_bytes()


def destroy_secret(path: Path) -> None:
    """Overwrite the secret and take its file away, with drafts that a crash left."""
    for one in (path, *path.parent.glob(f"{path.name}.*.draft")):
        with suppress(FileNotFoundError):
            handle = os.open(one, os.O_RDWR)
            try:
                os.pwrite(handle, bytes(os.fstat(handle).st_size), 0)
                os.fsync(handle)
            finally:
                os.close(handle)
            one.unlink()
    sync(path.parent)


def name_of(secret: bytes) -> bytes:
    """By which a secret is known again, and nothing else of it."""
    return hmac.digest(secret, NAME, "sha256")[:ID_BYTES]
