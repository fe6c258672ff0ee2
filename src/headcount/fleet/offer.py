"""What a device is offered and how it sends: the little that it needs of a network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from headcount.fleet.allowed import Entry

OFFER = b"headcount/1 offer\x00"
KIND = "ed25519:"
KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Offer:
    """A round that is open: its task and its descriptor as bytes, and what proves them.

    proof:    the owner's signature of the descriptor, which holds the hash of the task
    evidence: what shows which code made the round's key, of the kind that the task says
    allowed:  the owner's log of code that may
    """

    task: bytes
    descriptor: bytes
    proof: bytes = b""
    evidence: bytes = b""
    allowed: tuple[Entry, ...] = ()


class Transport(Protocol):
    """A way to a fleet. What goes wrong on it is an ``OSError`` or an error of headcount's."""

    def descriptors(self) -> Iterable[Offer]:
        """The rounds that are open now."""
        ...

    def post(self, descriptor: bytes, report: bytes) -> bool:
        """Send one report. Whether it is on disk over there; it is not where the round is over."""
        ...


def signed_text(descriptor: bytes) -> bytes:
    """What an owner signs of a round: its task by its hash, its number, its window and its key."""
    return OFFER + descriptor


def is_public(text: str) -> bool:
    """Whether a text is a public key as owners pass it on."""
    try:
        raw = bytes.fromhex(text.removeprefix(KIND))
    except ValueError:
        return False
    return text == f"{KIND}{raw.hex()}" and len(raw) == KEY_BYTES


def is_signed(public: str, offer: Offer) -> bool:
    """Whether the holder of the key that belongs to ``public`` signed the round of an offer."""
    try:
        key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public.removeprefix(KIND)))
        key.verify(offer.proof, signed_text(offer.descriptor))
    except (InvalidSignature, ValueError):
        return False
    return True
