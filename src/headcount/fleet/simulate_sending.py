"""Reports of many made-up devices on their way to a relay, over some hundred connections at once.

A device sends again until it is told that its report is on disk, as the device's own program does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

from headcount.errors import FleetError
from headcount.fleet.device_http import MEDIA

TRIES = 20
WAIT = 0.5
Waiting = Iterator[tuple[str, bytes]]


async def send_all(relay: str, of: bytes, waiting: Waiting, connections: int) -> int:
    """Send reports, each under its device's token; how many were acknowledged.

    of:      the hash of the round's descriptor
    waiting: tokens and reports, taken as they can be sent
    """
    return sum(await asyncio.gather(*(_send(relay, of, waiting) for _ in range(connections))))


async def _send(relay: str, of: bytes, waiting: Waiting) -> int:
    taken = 0
    line = _Line(relay, of)
    try:
        for token, report in waiting:
            taken += await line.until_taken(token, report)
    finally:
        line.close()
    return taken


class _Line:
    """One connection, made again when it is lost."""

    def __init__(self, relay: str, of: bytes) -> None:
        place = urlsplit(relay)
        self._host, self._port = place.hostname or "", place.port or 80
        self._head = (
            f"POST /rounds/{of.hex()}/reports HTTP/1.1\r\nHost: {self._host}\r\n"
            f"Content-Type: {MEDIA}\r\n"
        )
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def until_taken(self, token: str, report: bytes) -> bool:
        """Whether the report is on disk; it is not where the round is over."""
        for _ in range(TRIES):
            try:
                status = await self._post(token, report)
            except (OSError, EOFError, asyncio.LimitOverrunError):
                self.close()
            else:
                if status in (204, 409):
                    return status == 204
            await asyncio.sleep(WAIT)
        raise FleetError("The relay of the simulation takes no reports. Nothing was released.")

    async def _post(self, token: str, report: bytes) -> int:
        if self._open is None:
            self._open = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._open
        head = f"{self._head}Authorization: Bearer {token}\r\nContent-Length: {len(report)}\r\n\r\n"
        writer.write(head.encode() + report)
        found = await reader.readuntil(b"\r\n\r\n")
        status = int(found.split(b" ", 2)[1])
        if status != 204:
            # A refusal says something, and may be the last on its connection.
            self.close()
        return status

    def close(self) -> None:
        """End the connection, if there is one."""
        if self._open is not None:
            with suppress(OSError):
                self._open[1].close()
            self._open = None
