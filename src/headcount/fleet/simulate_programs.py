"""The programs of a simulated fleet, each in a process of its own, as a supervisor runs them."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from headcount.errors import FleetError
from headcount.fleet.settings import with_settings

T = TypeVar("T")
PATIENCE = 120.0
END_SECONDS = 30.0


class Programs:
    """Programs that run while a block does; what they print is in files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._running: list[tuple[str, subprocess.Popen[bytes]]] = []

    def __enter__(self) -> Programs:
        return self

    def start(self, name: str, module: str, *words: object, **settings: str) -> None:
        """Start a module of the fleet."""
        with (self._folder / f"{name}.printed").open("ab") as printed:
            started = subprocess.Popen(  # noqa: S603  our own modules
                [sys.executable, "-m", f"headcount.fleet.{module}", *map(str, words)],
                env=with_settings(**settings),
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
            )
        self._running.append((name, started))

    def until(self, what: Callable[[], T | None], seconds: float = PATIENCE) -> T:
        """What is there in the end, while all programs run."""
        end = time.monotonic() + seconds
        while not (found := what()):
            gone = [name for name, one in self._running if one.poll() is not None]
            if gone or time.monotonic() > end:
                why = f"the {gone[0]} ended" if gone else "a program does not answer"
                raise FleetError(f"The simulation cannot go on: {why}. Nothing was released.")
            time.sleep(0.05)
        return found

    def process(self, name: str) -> int:
        """The id of a program's process."""
        return next(one.pid for called, one in self._running if called == name)

    def printed(self) -> str:
        """All that they printed, by their names."""
        return "".join(
            f"{one.stem}: {text}"
            for one in sorted(self._folder.glob("*.printed"))
            if (text := one.read_text(errors="replace"))
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for _, one in reversed(self._running):
            one.terminate()
        for _, one in self._running:
            try:
                one.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


def all_told(module: str, given: list[bytes]) -> list[bytes]:
    """What a module prints for each of these, all of them at once, in processes of their own."""

    def told(said: bytes) -> bytes:
        ended = subprocess.run(  # noqa: S603  our own module
            [sys.executable, "-m", f"headcount.fleet.{module}"],
            input=said,
            stdout=subprocess.PIPE,
            check=False,
        )
        if ended.returncode:
            raise FleetError("Devices of the simulation failed. Nothing was released.")
        return ended.stdout

    with ThreadPoolExecutor(max(1, len(given))) as pool:
        return list(pool.map(told, given))


def free_ports(n: int) -> list[int]:
    """So many ports of this machine at which nothing listens."""
    probes = [socket.socket() for _ in range(n)]
    try:
        for one in probes:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in probes]
    finally:
        for one in probes:
            one.close()


def is_ready(port: int) -> bool:
    """Whether a server answers there, and has what it needs."""
    connection = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 204
    except OSError:
        return False
    finally:
        connection.close()
