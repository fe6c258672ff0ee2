"""The control API and drivers of a fleet, in processes of their own."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import uvicorn  # noqa: F401  imported before any fork
from tests.service.conftest import beside
from tests.service.fleets import written

from headcount.fleet import control_process, driver
from headcount.fleet.control_store import ControlStore
from headcount.fleet.tokens import make_token

PATIENCE = 120


def nothing() -> None:
    """No edit."""


def printing_to(printed: Path) -> None:
    with printed.open("ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


def forked_control(fleet: Any, port: int, delay: int, edit: Callable[[], None]) -> None:
    """What ``control_process`` does, without the seconds that its imports take."""
    printing_to(fleet.folder / "control.printed")
    os.environ.update(environment(fleet))
    edit()
    control_process.serve(fleet.address, fleet.book, port, delay)


def forked_driver(fleet: Any, lease: float, edit: Callable[[], None]) -> None:
    printing_to(fleet.folder / "driver.printed")
    logging.basicConfig(level=logging.INFO, force=True, stream=os.fdopen(2, "w", 1))
    os.environ.update(environment(fleet))
    edit()
    sys.argv[1:] = ["0.1", str(lease)]
    driver.main()


def environment(fleet: Any, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "HEADCOUNT_FLEET": fleet.address,
        "HEADCOUNT_LEDGER": str(fleet.book),
        "HEADCOUNT_FLEET_CORE": str(fleet.core.place),
        "HEADCOUNT_FLEET_KEY": str(fleet.key),
        **more,
    }


class RunningControl:
    """A control API; what it prints is kept, and so is every answer that it gave.

    edit: what is run before it serves, to make a mutant of it
    """

    def __init__(self, fleet: Any, delay: int = 1, edit: Callable[[], None] = nothing) -> None:
        forked = beside("clients").forked
        self.fleet, self.printed = fleet, fleet.folder / "control.printed"
        self.store = ControlStore(fleet.address)
        self.tokens = {
            role: make_token(self.store, role, f"tests, as {role}")
            for role in ("reader", "analyst", "operator", "owner")
        }
        self.said: list[bytes] = []
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        self.process = forked(forked_control, fleet, port, delay, edit)
        self.url = f"http://127.0.0.1:{port}"
        # Without TLS no certificates are read, which takes longer than all requests do.
        self.client = httpx.Client(
            base_url=self.url,
            timeout=60,
            verify=False,
            trust_env=False,
            event_hooks={"response": [self._keep]},
        )
        end = time.monotonic() + PATIENCE
        while True:
            try:
                assert self.client.get("/healthz").json() == {"status": "ok"}
                return
            except httpx.TransportError:
                assert time.monotonic() < end, self.printed.read_text()
                time.sleep(0.05)

    def _keep(self, response: httpx.Response) -> None:
        response.read()
        self.said.append(str(response.headers).encode() + response.content)

    def ask(
        self, role: str | None, method: str, path: str, body: Any = None, **more: Any
    ) -> httpx.Response:
        """One request with the token of a role, with another, or with none."""
        token = self.tokens.get(role or "", role)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        if body is not None:
            more["json"] = body
        return self.client.request(method, path, headers=headers, **more)

    def close(self) -> None:
        self.client.close()
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


class RunningDriver:
    """A driver that looks ten times a second; what it prints is kept."""

    def __init__(self, fleet: Any, lease: float = 60.0, edit: Callable[[], None] = nothing) -> None:
        assert fleet.owner
        self.printed: Path = fleet.folder / "driver.printed"
        self.process = beside("clients").forked(forked_driver, fleet, lease, edit)
        self.is_over = False

    def kill(self) -> None:
        if not self.is_over:
            self._over(signal.SIGKILL)

    def end(self) -> None:
        """Ask it to end, as a supervisor does."""
        assert self._over(signal.SIGTERM) == 0, self.printed.read_text()

    def wait(self) -> int:
        """How it ended."""
        self.is_over = True
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def _over(self, how: signal.Signals) -> int:
        os.kill(self.process, how)
        return self.wait()


def given(**more: Any) -> dict[str, Any]:
    """A task as it is sent."""
    found = written(**more).record()
    found["spend"]["epsilon"] = float(found["spend"]["epsilon"])
    return found


def shift(fleet: Any, seconds: int) -> None:
    """Let tasks have been applied so much earlier: what is due later is due now."""
    fleet.sql("UPDATE fleet.task SET applied = applied - %s * interval '1 second'", seconds)
