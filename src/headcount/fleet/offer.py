"""What a device is offered and how it sends: the little that it needs of a network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Offer:
    """A round that is open: its task and its descriptor as bytes, and what proves them.

    proof: a signature or evidence that travels beside them. Nothing makes one yet.
    """

    task: bytes
    descriptor: bytes
    proof: bytes = b""


class Transport(Protocol):
    """A way to a fleet. What goes wrong on it is an ``OSError`` or an error of headcount's."""

    def descriptors(self) -> Iterable[Offer]:
        """The rounds that are open now."""
        ...

    def post(self, descriptor: bytes, report: bytes) -> bool:
        """Send one report. Whether it is on disk over there; it is not where the round is over."""
        ...
