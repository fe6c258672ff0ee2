"""Something that changes elsewhere, read now and then, by one at a time, for all who ask."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class Fresh(Generic[T]):
    """The last reading, and when it was begun.

    read:    takes a while, and is called in a thread of its own
    seconds: how old a reading may be
    """

    def __init__(self, read: Callable[[], T], seconds: float) -> None:
        self._read, self._seconds = read, seconds
        self._found: tuple[float, T] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1)

    @property
    def last(self) -> T | None:
        """As it was when it was read last."""
        return None if self._found is None else self._found[1]

    async def recent(self) -> T:
        """As it was a moment ago."""
        return await self._since(time.monotonic() - self._seconds)

    async def now(self) -> T:
        """As it is now: the reading was begun after this was asked."""
        return await self._since(time.monotonic())

    async def _since(self, moment: float) -> T:
        while self._found is None or self._found[0] < moment:
            if self._reading is None:
                self._reading = asyncio.create_task(self._again())
            # Whoever goes away takes it from nobody else.
            await asyncio.shield(self._reading)
        return self._found[1]

    async def _again(self) -> None:
        begun = time.monotonic()
        try:
            found = await asyncio.get_running_loop().run_in_executor(self._thread, self._read)
            self._found = begun, found
        finally:
            self._reading = None
