"""An ingest and a relay as they are run: uvicorn in processes of their own, on loopback."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.service.fleets import written

from headcount.fleet import serving
from headcount.fleet.device_http import MEDIA, Http
from headcount.fleet.relay import POST_SECONDS, Relay
from headcount.fleet.senders import TokenFile, add_senders
from headcount.fleet.wire import Descriptor

Made = Callable[[], serving.Stopping]
HEADERS = {"Content-Type": MEDIA}


class Running:
    """A server in a process of its own, which can be killed and started again at the same port."""

    def __init__(self, made: Made, clients: ModuleType, printed: Path) -> None:
        self._made, self._clients, self.printed = made, clients, printed
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self, edit: Callable[[], None] = lambda: None) -> None:
        self.pid: int = self._clients.forked(self._serve, edit)
        self._clients.wait_until(self._answers, 60)

    def _serve(self, edit: Callable[[], None]) -> None:
        handle = os.open(self.printed, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        # Not ours: locks of devices that run just now, and connections of the test.
        os.closerange(3, 4_096)
        edit()
        serving.serve(self._made(), self.port)

    def _answers(self) -> bool:
        assert os.waitpid(self.pid, os.WNOHANG) == (0, 0), self.printed.read_text()
        try:
            return self.ask("GET", "/healthz")[0] == 204
        except OSError:
            return False

    def ask(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, Any]:
        """The status, and what is said as JSON."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, {**HEADERS, **headers} if body else headers)
            answer = connection.getresponse()
            found = answer.read()
        finally:
            connection.close()
        return answer.status, json.loads(found) if found else None

    def post(self, described: Descriptor, body: bytes, **headers: str) -> int:
        where = f"/rounds/{described.hash.hex()}/reports"
        return self.ask("POST", where, body, **headers)[0]

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.ended()

    def ended(self) -> int:
        """How it ended, when it has."""
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        return os.waitstatus_to_exitcode(status)


class Servers:
    """A fleet with a round that is open, and servers for it."""

    def __init__(self, fleet: Any, clients: ModuleType) -> None:
        self.fleet, self.clients = fleet, clients
        self.running: list[Running] = []
        self.tokens = fleet.folder / "devices"

    def open(self, epsilon: float = 1, **more: Any) -> tuple[Any, Any, Descriptor]:
        """A door, a task and its first round."""
        if epsilon > 1:
            self.fleet.open_account(self.fleet.folder / "large.db", epsilon=epsilon + 0.1)
        door = self.fleet.door()
        task = door.apply(written(spend={"account": "app-users", "epsilon": epsilon}, **more))
        return door, task, door.open_round(task.id, 0)

    def ingest(self, address: str = "", relays: str | None = None) -> Running:
        place = address or self.fleet.address
        return self._run(lambda: serving.ingest(place, relays))

    def relay(
        self, ingest: int, names: list[str], gather: float = 0.1, delay: float = 0.05
    ) -> tuple[Running, dict[str, str]]:
        """A relay, and the token of each device."""
        tokens = dict(zip(names, add_senders(self.tokens, names), strict=True))
        return self._run(lambda: self._relay(f"http://127.0.0.1:{ingest}", gather, delay)), tokens

    def _relay(self, ingest: str, gather: float, delay: float) -> Relay:
        way = Http(ingest, seconds=POST_SECONDS)
        return Relay(way, TokenFile(self.tokens), gather=gather, delay=delay)

    def _run(self, made: Made) -> Running:
        printed = self.fleet.folder / f"printed-{len(self.running)}"
        self.running.append(Running(made, self.clients, printed))
        return self.running[-1]

    def end(self) -> None:
        for one in self.running:
            if one.pid:
                one.kill()

    def rows(self) -> list[bytes]:
        """All posts that are kept."""
        return [bytes(body) for (body,) in self.fleet.sql("SELECT body FROM fleet.posted")]

    def printed(self) -> bytes:
        return b"".join(one.printed.read_bytes() for one in self.running)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def slowly(port: int, head: bytes, seconds: float) -> tuple[float, bytes]:
    """Send a head and nothing more; how long it took until an answer or the end, and the answer."""
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(head)
        found = b""
        while more := connection.recv(4096):
            found += more
    return time.monotonic() - begun, found
