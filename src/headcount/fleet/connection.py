"""A connection that ends unless a whole head of a request comes soon, and is short.

uvicorn sets limits to how long a connection rests between two requests, and none to how long the
first one, or the head of any, takes to come.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 10.0
MOST_HEAD = 1 << 14
"""Bytes of a method, a path and headers."""


class Connection(HttpToolsProtocol):
    """As uvicorn has it, with these limits."""

    _is_past_head = False
    _n_head = 0
    _too_late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless this head is too long."""
        super().data_received(data)
        self._n_head = 0 if self._is_past_head else self._n_head + len(data)
        if self._n_head > MOST_HEAD:
            self.transport.close()

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of a head."""
        self._is_past_head = False
        if self._too_late is None:
            self._wait()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Let the application wait for the body, with a limit of its own."""
        self._is_past_head = True
        self._wait_no_more()
        super().on_headers_complete()

    def _wait(self) -> None:
        self._too_late = self.loop.call_later(HEAD_SECONDS, lambda: self.transport.close())

    def _wait_no_more(self) -> None:
        if self._too_late is not None:
            self._too_late.cancel()
            self._too_late = None
