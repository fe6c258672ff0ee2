"""Reports of many devices in one post, in an order that says nothing of who came when.

A post leaves when it has enough reports or its time is over, a little later than that by chance,
and is sent, byte for byte, until the ingest says that it is on disk or that the round is over.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field

from headcount.errors import HeadcountError
from headcount.fleet.refusals import BusyError

MOST_REPORTS = 500
"""In one post."""
MOST_WAITING = 100_000
GATHER_SECONDS, DELAY_SECONDS = 2.0, 1.0
TRY_SECONDS = 10.0
"""After which a post is not tried once more; devices, who wait for it, try again by themselves."""
FIRST_WAIT, LONGEST_WAIT = 0.1, 2.0
KEY_BYTES = 16
Post = Callable[[bytes, bytes], bool]


@dataclass(eq=False)
class _Gathered:
    reports: list[bytes] = field(default_factory=list)
    is_full: asyncio.Event = field(default_factory=asyncio.Event)
    sent: asyncio.Task[bool] | None = None


class Mix:
    """Gathers reports for each round, and posts them.

    post: sends reports of a round, by its descriptor, and waits until they are on disk
    """

    def __init__(
        self, post: Post, gather: float = GATHER_SECONDS, delay: float = DELAY_SECONDS
    ) -> None:
        self._post, self._gather, self._delay = post, gather, delay
        self._open: dict[bytes, _Gathered] = {}
        self._n_waiting = 0
        self._hurried = asyncio.Event()
        self._threads = ThreadPoolExecutor(8)

    async def send(self, descriptor: bytes, report: bytes) -> bool:
        """Whether a report is on disk; it is not where the round is over."""
        if self._n_waiting >= MOST_WAITING:
            raise BusyError
        gathered = self._open.setdefault(descriptor, _Gathered())
        gathered.reports.append(report)
        if len(gathered.reports) >= MOST_REPORTS:
            gathered.is_full.set()
            del self._open[descriptor]
        if gathered.sent is None:
            gathered.sent = asyncio.create_task(self._carry(descriptor, gathered))
        self._n_waiting += 1
        try:
            return await asyncio.shield(gathered.sent)
        finally:
            self._n_waiting -= 1

    def hurry(self) -> None:
        """Wait for no further reports: the process ends."""
        self._hurried.set()
        for gathered in self._open.values():
            gathered.is_full.set()

    async def _carry(self, descriptor: bytes, gathered: _Gathered) -> bool:
        if not self._hurried.is_set():
            await _at_most(self._gather, gathered.is_full)
        if self._open.get(descriptor) is gathered:
            del self._open[descriptor]
        await _at_most(self._delay * secrets.randbelow(1_001) / 1_000, self._hurried)
        return await self._until_taken(descriptor, b"".join(shuffled(gathered.reports)))

    async def _until_taken(self, descriptor: bytes, body: bytes) -> bool:
        loop, wait = asyncio.get_running_loop(), FIRST_WAIT
        end = time.monotonic() + TRY_SECONDS
        while True:
            with suppress(OSError, HeadcountError):
                return await loop.run_in_executor(self._threads, self._post, descriptor, body)
            if time.monotonic() + wait > end:
                raise BusyError
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)


def shuffled(reports: list[bytes]) -> list[bytes]:
    """The same reports in an order of the system's chance: every order is as likely."""
    return sorted(reports, key=lambda _: secrets.token_bytes(KEY_BYTES))


async def _at_most(seconds: float, until: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await until.wait()
