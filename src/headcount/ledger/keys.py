"""The key that receipts of a ledger are signed with: Ed25519, in a file beside the ledger's heads.

There is one for each ledger on each machine. Whoever checks receipts pins the public half of the
owner's; a receipt that was signed elsewhere is not of that key, and that is said. The file is its
user's alone (mode 0600). Who has it can sign anything, so it is in no backup that others read.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from headcount.errors import LedgerError
from headcount.screens import quoted

KIND = "ed25519:"
KEY_BYTES, SIGNATURE_BYTES = 32, 64


class SigningKey:
    """A private key that signs, and shows its public half alone."""

    def __init__(self, private: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(private)

    @property
    def public(self) -> str:
        """The public half as people pass it on: ``ed25519:`` and 64 hexadecimal digits."""
        return f"{KIND}{self._key.public_key().public_bytes_raw().hex()}"

    def sign(self, message: bytes) -> str:
        """The signature of a message, in hexadecimal digits."""
        return self._key.sign(message).hex()


def is_public(text: str) -> bool:
    """Whether a text is a public key as it is passed on."""
    try:
        raw = bytes.fromhex(text.removeprefix(KIND))
    except ValueError:
        return False
    return text == f"{KIND}{raw.hex()}" and len(raw) == KEY_BYTES


def is_signed(public: str, signature: str, message: bytes) -> bool:
    """Whether the holder of the key that belongs to ``public`` signed a message."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public.removeprefix(KIND)))
        key.verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True


def signing_key(path: Path) -> SigningKey:
    """The key in a file, which is made if there is none; one for all processes that ask."""
    try:
        if not path.exists():
            _make(path)
        return SigningKey(_read(path))
    except OSError:
        raise LedgerError(
            f"The key of this ledger's receipts cannot be kept in {quoted(path.parent)}. Nothing "
            "was signed and nothing was charged. Make the folder writable, or name another with "
            "HEADCOUNT_HEADS."
        ) from None


def _make(path: Path) -> None:
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        draft.unlink()
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, Ed25519PrivateKey.generate().private_bytes_raw())
        os.fsync(handle)
    finally:
        os.close(handle)
    # Whoever comes second finds the first one's.
    with suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()


def _read(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        found = os.fstat(handle)
        key = os.read(handle, KEY_BYTES + 1)
    finally:
        os.close(handle)
    if stat.S_IMODE(found.st_mode) & 0o077 or found.st_uid != os.geteuid():
        raise LedgerError(
            f"Others may read the key of this ledger's receipts, {quoted(path)}. Nothing was "
            "signed. If nobody did, make it its user's alone (chmod 600); if somebody may have, "
            "remove it, and tell whoever pinned its public half: the next receipt makes a new one."
        )
    if len(key) != KEY_BYTES or not any(key):
        raise LedgerError(
            f"The key of this ledger's receipts, {quoted(path)}, is damaged. Nothing was signed. "
            "Bring the file back, or remove it and tell whoever pinned its public half."
        )
    return key
