"""The bytes that devices, carriers and the core exchange, version 1. Numbers are big-endian.

``descriptor = task(32) round(8) opens(8) closes(8) public_key(32) pad(2)``
``body = version(1) kind(1) length(2) value``, then zeros up to ``pad``
``report = report_id(16) enc(32) ciphertext(pad + 16)``

Every report of a round has one length, whether it holds an answer or abstains [FL3].
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass
from functools import cached_property

from headcount.errors import UsageError
from headcount.fleet.task import COIN_BITS

ROUND, COIN, REPORT = b"headcount/1 round\x00", b"headcount/1 coin\x00", b"headcount/1 report\x00"
NAME = b"headcount/1 id\x00"
DESCRIPTOR = struct.Struct(">32sQQQ32sH")
HEAD = struct.Struct(">BBH")
VERSION, ABSTAIN, VALUE = 1, 0, 1
PAD = 256
ID_BYTES, SECRET_BYTES = 16, 32
OVERHEAD = ID_BYTES + 32 + 16
"""Of a report over its body: the id, the sender's key and the tag."""


@dataclass(frozen=True)
class Descriptor:
    """One round of a task: when it is open, and the key that answers are sealed for."""

    task: bytes
    round: int
    opens: int
    closes: int
    public_key: bytes
    pad: int = PAD

    @cached_property
    def spelled(self) -> bytes:
        """The descriptor as bytes."""
        return DESCRIPTOR.pack(
            self.task, self.round, self.opens, self.closes, self.public_key, self.pad
        )

    @cached_property
    def hash(self) -> bytes:
        """What every report of the round is bound to."""
        return hashlib.sha256(ROUND + self.spelled).digest()

    @property
    def report_bytes(self) -> int:
        """The one length of all reports of the round."""
        return self.pad + OVERHEAD


def descriptor_from(spelled: bytes) -> Descriptor:
    """A descriptor from its bytes."""
    if len(spelled) != DESCRIPTOR.size:
        raise UsageError(f"A round is described in {DESCRIPTOR.size} bytes, not {len(spelled)}.")
    found = Descriptor(*DESCRIPTOR.unpack(spelled))
    if found.pad != PAD or found.opens >= found.closes:
        raise UsageError("These bytes do not describe a round of this version.")
    return found


def coin(secret: bytes, task: bytes, number: int, answer: int) -> int:
    """The one coin of a device for one answer in one round: 60 bits [FL1].

    It is worked out and not drawn, so that whoever asks again is told the same.
    """
    if len(secret) != SECRET_BYTES:
        raise UsageError(f"The secret of a device has {SECRET_BYTES} bytes.")
    text = COIN + task + struct.pack(">QH", number, answer)
    return int.from_bytes(hmac.digest(secret, text, "sha256")[:8], "big") >> (64 - COIN_BITS)


def report_id(secret: bytes, descriptor_hash: bytes, answer: int) -> bytes:
    """A name that nobody else has, for a device's report of one answer in one round.

    It is worked out as the coin is: a device that lost what it had sealed seals under the same
    name, and is counted once all the same [FL5]. Whoever lacks the secret sees 16 bytes of chance.
    """
    text = NAME + descriptor_hash + struct.pack(">H", answer)
    return hmac.digest(secret, text, "sha256")[:ID_BYTES]


def body(value: str | None, pad: int = PAD) -> bytes:
    """What is sealed: an answer, or that there is none; of one length."""
    raw = b"" if value is None else value.encode()
    if len(raw) > pad - HEAD.size or value == "":
        raise UsageError("An answer has at least one byte and at most what a report holds.")
    head = HEAD.pack(VERSION, ABSTAIN if value is None else VALUE, len(raw))
    return (head + raw).ljust(pad, b"\x00")


def value_in(opened: bytes) -> str | None:
    """The answer in a body; nothing where it abstains or is not well formed."""
    if len(opened) < HEAD.size:
        return None
    version, kind, length = HEAD.unpack_from(opened)
    raw, rest = opened[HEAD.size : HEAD.size + length], opened[HEAD.size + length :]
    if version != VERSION or kind != VALUE or len(raw) != length or any(rest):
        return None
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def info(descriptor_hash: bytes, report_id: bytes) -> bytes:
    """What a report is bound to: its round, with the task and the key, and its own name [FL4]."""
    return REPORT + descriptor_hash + report_id
