"""Reports on their way into the database: whole posts, committed in groups.

While one group is being written the next one gathers, so that all who wait share one flush. Nobody
is told that a post was taken before it is on disk.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from headcount.errors import FleetError
from headcount.fleet.posts import check_post
from headcount.fleet.store import FleetStore

MOST_GROUP = 1 << 24
"""Bytes that are written at a time."""
MOST_WAITING = 1 << 26


@dataclass(eq=False, slots=True)
class _Post:
    round: int
    body: bytes
    taken: asyncio.Future[bool]


@dataclass(eq=False)
class Intake:
    """Takes posts for one database, in one event loop."""

    store: FleetStore
    _waiting: list[_Post] = field(default_factory=list)
    _bytes: int = 0
    _writer: asyncio.Task[None] | None = None

    async def post(self, number: int, body: bytes) -> bool:
        """Whether a post was taken, and is on disk; it is not where the round is over."""
        check_post(body)
        if self._bytes + len(body) > MOST_WAITING:
            raise FleetError("More reports wait than can be written. Nothing was taken: try later.")
        one = _Post(number, body, asyncio.get_running_loop().create_future())
        self._waiting.append(one)
        self._bytes += len(body)
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        return await one.taken

    async def _write(self) -> None:
        while self._waiting:
            group = self._next()
            try:
                bodies = [one.body for one in group]
                taken = await asyncio.to_thread(self.store.take, group[0].round, bodies)
            except Exception as error:
                # Each is told, and none that it was taken.
                for one in group:
                    if not one.taken.done():
                        one.taken.set_exception(error)
            else:
                for one in group:
                    if not one.taken.done():
                        one.taken.set_result(taken)
            finally:
                self._bytes -= sum(len(one.body) for one in group)

    def _next(self) -> list[_Post]:
        """Those who wait for the same round as the first, up to so many bytes."""
        group: list[_Post] = []
        rest: list[_Post] = []
        size = 0
        for one in self._waiting:
            size += len(one.body) if one.round == self._waiting[0].round else 0
            fits = one.round == self._waiting[0].round and (size <= MOST_GROUP or not group)
            (group if fits else rest).append(one)
        self._waiting = rest
        return group
