"""The key of an owner, Ed25519: it signs the rounds that devices are asked to answer.

Devices pin its public half. Whoever writes the database, or carries offers, can then name no key of
their own to devices. Who has the private half can: it is in a file of its user's alone, and in no
backup that others read.
"""

from __future__ import annotations

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from headcount.errors import UsageError
from headcount.fleet import allowed
from headcount.fleet.offer import KEY_BYTES, KIND, signed_text
from headcount.fleet.secret_file import make_once, read_own
from headcount.fleet.wire import Descriptor

WHOSE = "the owner's key"


class OwnerKey:
    """A private key that signs rounds, and shows its public half alone."""

    def __init__(self, path: str | Path) -> None:
        """Read the key in a file.

        path: a file that ``make_owner_key`` made
        """
        secret = read_own(Path(path), KEY_BYTES, WHOSE)
        self._key = Ed25519PrivateKey.from_private_bytes(secret)

    @property
    def public(self) -> str:
        """The public half as devices pin it: ``ed25519:`` and 64 hexadecimal digits."""
        return f"{KIND}{self._key.public_key().public_bytes_raw().hex()}"

    def proof(self, descriptor: Descriptor) -> bytes:
        """The signature that travels beside a round."""
        return self._key.sign(signed_text(descriptor.spelled))

    def allow(self, spelled: bytes) -> allowed.Entry:
        """An entry of the log of allowed code, signed."""
        return allowed.Entry(spelled, self._key.sign(allowed.signed_text(spelled)))


def make_owner_key(path: str | Path) -> OwnerKey:
    """The key in a file, which is made if there is none; one for all who ask."""
    place = Path(path)
    try:
        if not place.exists():
            make_once(place, lambda: Ed25519PrivateKey.generate().private_bytes_raw())
    except OSError:
        raise UsageError(
            "The owner's key cannot be kept in this folder. Make it writable, or name another. "
            "Nothing was signed."
        ) from None
    return OwnerKey(place)
