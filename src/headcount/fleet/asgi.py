"""The little of ASGI that the servers of a fleet need: bodies with limits, and replies.

Nothing is logged: not who asks, not what for, and not what went wrong, which could say either.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from headcount.fleet.refusals import MEDIA, RefusedError, TooLongError, TooSlowError, problem

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
RETRY = 5
"""Seconds after which it makes sense to ask again."""


class GoneError(Exception):
    """Whoever asked went away."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request."""

    method: str
    path: str
    headers: dict[bytes, bytes]
    receive: Receive

    async def body(self, most: int, seconds: float) -> bytes:
        """All of the body, refused when it is longer than that or takes longer than that."""
        stated = self.headers.get(b"content-length", b"0")
        if not stated.isdigit() or len(stated) > 12 or int(stated) > most:
            raise TooLongError
        found = bytearray()
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await self.receive()
                    if message["type"] == "http.disconnect":
                        raise GoneError
                    found += message.get("body", b"")
                    if len(found) > most:
                        raise TooLongError
                    if not message.get("more_body", False):
                        return bytes(found)
        except TimeoutError:
            raise TooSlowError from None


@dataclass(frozen=True, slots=True)
class Reply:
    """What is answered."""

    status: int = 204
    body: bytes = b""
    media: str = ""
    closes: bool = False

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Of one length and in one order for one status."""
        found = [(b"cache-control", b"no-store")]
        if self.status != 204:
            found.append((b"content-length", str(len(self.body)).encode()))
        if self.media:
            found.append((b"content-type", self.media.encode()))
        if self.status == 401:
            found.append((b"www-authenticate", b"Bearer"))
        if self.status in (429, 503):
            found.append((b"retry-after", str(RETRY).encode()))
        if self.closes:
            found.append((b"connection", b"close"))
        return found


Answer = Callable[[Asked], Awaitable[Reply]]


def application(answer: Answer) -> Application:
    """An ASGI application of a function from a request to a reply."""

    async def answered(scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        asked = Asked(scope["method"], scope["path"], dict(scope["headers"]), receive)
        try:
            reply = await answer(asked)
        except GoneError:
            return
        except Exception as error:
            status, said = problem(error)
            closes = isinstance(error, RefusedError) and error.closes
            reply = Reply(status, said, MEDIA, closes)
        started = {"status": reply.status, "headers": reply.headers()}
        await send({"type": "http.response.start", **started})
        body = b"" if asked.method == "HEAD" else reply.body
        await send({"type": "http.response.body", "body": body})

    return answered
