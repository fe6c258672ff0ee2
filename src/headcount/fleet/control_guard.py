"""What stands before every request to the control API, and after every answer."""

from __future__ import annotations

import asyncio
import base64
import binascii
import logging
from typing import Any

from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headcount.fleet.control_problems import ProblemError, response_of
from headcount.fleet.tokens import SCOPES, role_of
from headcount.fleet.upload import BODY_SECONDS

log = logging.getLogger("headcount")
MOST_BYTES = 1 << 16
NEEDS = "x-headcount-scope"
"""Where a route says, also in the OpenAPI document, what a token must allow."""
PAGE = "x-headcount-page"
"""Where a route says that it is a page, to which a browser brings its token as a password."""


class ScopedRoute(APIRoute):
    """A route that looks at the token before it looks at anything else of a request."""

    def get_route_handler(self) -> Any:
        """Let in whoever may do this, and nobody else."""
        handle = super().get_route_handler()
        needed, is_page = ((self.openapi_extra or {}).get(one) for one in (NEEDS, PAGE))

        async def handled(request: Request) -> Any:
            if needed is not None:
                token = _token(request.headers.get("authorization", ""), bool(is_page))
                store = request.app.state.control.store
                role = await run_in_threadpool(role_of, store, token)
                if role is None:
                    asks = {"WWW-Authenticate": 'Basic realm="headcount"'} if is_page else {}
                    raise ProblemError("no-token", headers=asks)
                if needed not in SCOPES[role]:
                    raise ProblemError("not-allowed")
            return await handle(request)

        return handled


def _token(said: str, is_page: bool) -> str:
    """The token that a request brings. As a password only to a page, which changes nothing: a
    browser sends passwords by itself, also with requests that another site made it send.
    """
    kind, _, given = said.partition(" ")
    if kind.lower() == "bearer":
        return given.strip()
    if not is_page or kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(given, validate=True).decode("ascii").partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def methods_at(routes: list[BaseRoute], scope: Scope) -> str:
    """The methods that a path has, of all routes that it has."""
    found = {
        method
        for route in routes
        if isinstance(route, APIRoute) and route.matches(scope)[0] is not Match.NONE
        for method in route.methods or ()
    }
    return ", ".join(sorted(found))


class Guard:
    """Refuses what is too large, and tells what nobody foresaw in words that were."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, gathered, is_slow = False, list[Message](), False
        try:
            async with asyncio.timeout(BODY_SECONDS):
                gathered = await _gathered(receive)
        except TimeoutError:
            is_slow = True

        async def receive_some() -> Message:
            return gathered.pop() if gathered else await receive()

        async def send_some(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                headers["Cache-Control"] = "no-store"
                headers["X-Content-Type-Options"] = "nosniff"
            await send(message)

        try:
            if is_slow:
                raise ProblemError("too-slow", headers={"Connection": "close"})
            if not gathered:
                raise ProblemError("too-large")
            await self._app(scope, receive_some, send_some)
        except ProblemError as error:
            await response_of(error)(scope, receive, send_some)
        except Exception as error:
            # Its words may quote anything.
            log.error("a request failed: %s", type(error).__name__)
            if begun:
                raise ConnectionError from None
            await response_of(error)(scope, receive, send_some)


async def _gathered(receive: Receive) -> list[Message]:
    """The body of a request in one message; nothing where it is too large."""
    parts, size = list[bytes](), 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return [message]
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MOST_BYTES:
            return []
        if not message.get("more_body"):
            return [{"type": "http.request", "body": b"".join(parts), "more_body": False}]
