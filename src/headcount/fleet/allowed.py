"""Which code may hold keys of rounds: an owner's log of measurements, allowed and withdrawn.

Each entry holds the hash of the one before it and is signed by the owner, so that nobody else adds
to the log, and nobody takes an entry out of its middle. A device remembers how long the log was
that it saw last, and its hash: one that is shorter, or another one, is refused, also if signed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from headcount.errors import UsageError
from headcount.fleet.canonical import canonical, read_canonical
from headcount.fleet.evidence import EvidenceError, measurement_from

NAMED = b"headcount/1 allow\x00"
FIRST = bytes(32)
ALLOW, WITHDRAW = "allow", "withdraw"
KEYS = {"act", "before", "measurement", "source", "version"}
MOST_TEXT = 200
MOST_ENTRIES = 500
"""Of a log: devices are sent all of it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry as bytes, and its owner's signature."""

    spelled: bytes
    signature: bytes

    @property
    def hash(self) -> bytes:
        """What the next entry holds."""
        return hashlib.sha256(NAMED + self.spelled).digest()

    @property
    def said(self) -> dict[str, Any]:
        """What it says; refused where that is nothing."""
        try:
            record = read_canonical(self.spelled)
            ok = isinstance(record, dict) and set(record) == KEYS
            ok = ok and all(isinstance(one, str) for one in record.values())
            ok = ok and record["act"] in (ALLOW, WITHDRAW)
            measurement_from(record["measurement"] if ok else "")
        except UsageError:
            raise EvidenceError("an entry of the list of allowed code says nothing") from None
        return dict(record)


@dataclass(frozen=True, slots=True)
class Seen:
    """A log as it was last seen: how many entries it had, and the hash of the last."""

    n: int = 0
    head: bytes = FIRST


NOTHING = Seen()


def entry_text(
    act: str, measurement: str, before: bytes, version: str = "", source: str = ""
) -> bytes:
    """The bytes of an entry, which its owner signs."""
    found = measurement_from(measurement)
    for text in (version, source):
        if len(text) > MOST_TEXT or not text.isprintable():
            raise UsageError(
                f"A version and a source are texts of at most {MOST_TEXT} characters that can be "
                "seen. Nothing was signed."
            )
    record = {"act": act, "before": before.hex(), "measurement": found.hex()}
    return canonical({**record, "version": version, "source": source})


def signed_text(spelled: bytes) -> bytes:
    """What an owner signs of an entry."""
    return NAMED + spelled


def allowed_in(
    log: Sequence[Entry], keys: Sequence[str], seen: Seen = NOTHING
) -> tuple[frozenset[bytes], Seen]:
    """The measurements that may run now, and the log as it is seen now.

    keys: the owner's, any of which may have signed an entry
    seen: how the log was when it was read last; a shorter one or another one is refused
    """
    if len(log) > MOST_ENTRIES:
        raise EvidenceError("the list of allowed code is too long")
    if len(log) < seen.n:
        raise EvidenceError("the list of allowed code is shorter than it was")
    before, allowed = FIRST, set[bytes]()
    publics = [
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(k.rpartition(":")[2])) for k in keys
    ]
    for n, entry in enumerate(log, 1):
        if not any(_is_signed(public, entry) for public in publics):
            raise EvidenceError("the list of allowed code is not signed by its owner")
        said = entry.said
        if said["before"] != before.hex():
            raise EvidenceError("the list of allowed code is out of order")
        before = entry.hash
        if n == seen.n and before != seen.head:
            raise EvidenceError("the list of allowed code is another than it was")
        act = allowed.add if said["act"] == ALLOW else allowed.discard
        act(bytes.fromhex(said["measurement"]))
    return frozenset(allowed), Seen(len(log), before)


def _is_signed(public: Ed25519PublicKey, entry: Entry) -> bool:
    try:
        public.verify(entry.signature, signed_text(entry.spelled))
    except InvalidSignature:
        return False
    return True
