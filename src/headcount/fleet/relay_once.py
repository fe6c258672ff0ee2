"""One upload for each answer of a device in a round, and no more; forgotten with the round.

A device sends as many reports as its task asks for answers, each under a name that stays the same
however often it is sent. What is kept of one is a hash under a key of this process and this round:
who sent something cannot be read from it, and the key is gone soon after the round closes.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field

from headcount.fleet.refusals import EnoughError

KEY_BYTES, HASH_BYTES = 32, 16
FORGET_SECONDS = 10.0
Sending = Callable[[], Awaitable[bool]]


@dataclass(eq=False)
class _Round:
    key: bytes = field(default_factory=lambda: secrets.token_bytes(KEY_BYTES))
    n_sent: Counter[bytes] = field(default_factory=Counter)
    reports: dict[bytes, asyncio.Task[bool] | None] = field(default_factory=dict)
    """Those on their way; nothing where a report is on disk, or must be sent again."""
    taken: set[bytes] = field(default_factory=set)
    missed: float | None = None
    """Since when it is among the open rounds no more."""

    def hashed(self, *parts: bytes) -> bytes:
        return hmac.digest(self.key, b"\x00".join(parts), "sha256")[:HASH_BYTES]


class Once:
    """What devices sent in the rounds that are open."""

    def __init__(self) -> None:
        self._rounds: dict[bytes, _Round] = {}

    def keep(self, rounds: Collection[bytes], now: float) -> None:
        """Forget the rounds that are not among these any more.

        A while later: of two ingests one may know of a new round a moment before the other.
        """
        for name, one in list(self._rounds.items()):
            if name in rounds:
                one.missed = None
            elif one.missed is None:
                one.missed = now
            elif now - one.missed >= FORGET_SECONDS:
                del self._rounds[name]

    async def send(
        self, of: bytes, device: str, report_id: bytes, most: int, sending: Sending
    ) -> bool:
        """Send a report unless it was taken before, or refuse it.

        most: how many reports a device sends in this round
        """
        found = self._rounds.setdefault(of, _Round())
        who = found.hashed(device.encode())
        name = found.hashed(device.encode(), report_id)
        if name in found.taken:
            return True
        if name not in found.reports:
            if found.n_sent[who] >= most:
                raise EnoughError
            found.n_sent[who] += 1
            found.reports[name] = None
        # A device that asks again while its report is on its way waits for the same.
        task = found.reports[name]
        if task is None:
            task = asyncio.ensure_future(_sent(found, name, sending))
            found.reports[name] = task
        return await asyncio.shield(task)


async def _sent(found: _Round, name: bytes, sending: Sending) -> bool:
    try:
        is_taken = await sending()
        if is_taken:
            found.taken.add(name)
        return is_taken
    finally:
        found.reports[name] = None
