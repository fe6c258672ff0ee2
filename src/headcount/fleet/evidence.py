"""What shows that a round's key was made by known code: evidence, and who checks it.

A task names a kind of evidence. ``none`` shows nothing. ``test`` is what a Nitro enclave shows,
under a root that anybody can make: it tries everything but the hardware. Kinds that were never
tried on their hardware are refused by name. Each kind is one verifier, which binds its evidence to
the descriptor of a round, and with it to the round's key, and says which code it is about.
"""

from __future__ import annotations

from typing import Protocol

from headcount.errors import FleetError, UsageError
from headcount.fleet.wire import Descriptor

MEASUREMENT_BYTES = 48
MOST_BYTES = 1 << 14
"""Of evidence: a genuine one of Nitro has about 5,000."""
LIFE_SECONDS = 3 * 3600
"""After which evidence is stale, as leaf certificates of Nitro are."""
RENEWED_SECONDS = 3600
SKEW = 300
"""Seconds that two clocks may be apart."""


class EvidenceError(FleetError):
    """Evidence shows nothing, in a text that was written before."""


class Verifier(Protocol):
    """Checks evidence of one kind."""

    def measured(self, evidence: bytes, round_: Descriptor, now: int) -> bytes:
        """The measurement of the code that made the key of a round; refused by ``EvidenceError``.

        now: seconds since 1970, by the clock of whoever checks
        """
        ...


def measurement_from(text: str) -> bytes:
    """A measurement as people pass it on, 96 hexadecimal digits; that of debugging is refused."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != MEASUREMENT_BYTES:
        raise UsageError(
            f"A measurement is {2 * MEASUREMENT_BYTES} hexadecimal digits, as headcount fleet core "
            "prints it. Nothing was signed."
        )
    if not any(found):
        raise UsageError(
            "Zeros are what code measures whose memory can be read from outside, for debugging. "
            "They are never allowed. Nothing was signed."
        )
    return found
