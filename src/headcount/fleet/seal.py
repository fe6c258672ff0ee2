"""Reports sealed for one round: HPKE (RFC 9180), X25519, HKDF-SHA256, AES-128-GCM.

Everything that a report belongs to is bound through ``info``, so that it opens in its own round,
under its own name, and nowhere else.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from headcount.errors import UsageError
from headcount.fleet.wire import ID_BYTES, Descriptor, info

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_128_GCM)


def seal(descriptor: Descriptor, report_id: bytes, opened: bytes) -> bytes:
    """A report of a body, for the core of this round alone."""
    if len(report_id) != ID_BYTES or len(opened) != descriptor.pad:
        raise UsageError(f"A report has an id of {ID_BYTES} bytes and a body of one length.")
    key = X25519PublicKey.from_public_bytes(descriptor.public_key)
    report = report_id + SUITE.encrypt(opened, key, info(descriptor.hash, report_id))
    assert len(report) == descriptor.report_bytes  # noqa: S101  what every check relies on
    return report


class Opener:
    """Opens the reports of one round."""

    def __init__(self, private_key: bytes, descriptor_hash: bytes) -> None:
        self._key = X25519PrivateKey.from_private_bytes(private_key)
        self._hash = descriptor_hash

    def open(self, report: bytes) -> tuple[bytes, bytes] | None:
        """The id and the body of a report; nothing where it was not sealed for this round."""
        report_id = report[:ID_BYTES]
        try:
            opened = SUITE.decrypt(report[ID_BYTES:], self._key, info(self._hash, report_id))
        except (InvalidTag, ValueError):
            return None
        return report_id, opened


def public_key_of(private_key: bytes) -> bytes:
    """The public half of a key."""
    return X25519PrivateKey.from_private_bytes(private_key).public_key().public_bytes_raw()


def new_private_key() -> bytes:
    """A new key pair, from the library's own draw of the system's entropy."""
    return X25519PrivateKey.generate().private_bytes_raw()
