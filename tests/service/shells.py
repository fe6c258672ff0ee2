"""A shell in front of a fleet: commands that end, and servers that are ended with the test."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HEADCOUNT = str(Path(sys.executable).with_name("headcount"))
PATIENCE = 240


class Shell:
    """Commands of ``headcount`` in one folder; all that was typed and printed is kept."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        self.environment = {**os.environ, "COLUMNS": "300", "TERM": "dumb", **environment}
        self.typed: list[tuple[str, ...]] = []
        self.printed = ""
        self.running: list[subprocess.Popen[bytes]] = []

    def __call__(self, *words: str, code: int = 0, **environment: str) -> str:
        """What a command prints on standard output, or its error where one is expected."""
        self.typed.append(words)
        ran = subprocess.run(
            [HEADCOUNT, *words],
            cwd=self.folder,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        self.printed += ran.stdout + ran.stderr
        assert ran.returncode == code, (words, ran.stdout, ran.stderr)
        return ran.stderr if code else ran.stdout

    def start(self, *words: str, **environment: str) -> None:
        """A server; what it prints is in a file."""
        self.typed.append(words)
        with self._log(len(self.running)).open("ab") as log:
            self.running.append(
                subprocess.Popen(
                    [HEADCOUNT, *words],
                    cwd=self.folder,
                    env=self.environment | environment,
                    stdout=log,
                    stderr=log,
                )
            )

    def _log(self, number: int) -> Path:
        return self.folder / f"server-{number}.log"

    def logs(self) -> str:
        return "".join(self._log(i).read_text() for i in range(len(self.running)))

    def wait(self, what: Callable[[], Any]) -> Any:
        """What is there in the end, while all servers run."""
        end = time.monotonic() + PATIENCE
        while not (found := what()):
            assert all(one.poll() is None for one in self.running), self.logs()
            assert time.monotonic() < end, self.logs()
            time.sleep(0.1)
        return found

    def end(self, how: int = signal.SIGTERM) -> list[int]:
        """How each server ended."""
        for one in self.running:
            one.send_signal(how)
        return [one.wait(PATIENCE) for one in self.running]


class Typed:
    """A command that runs while others do."""

    def __init__(self, shell: Shell, *words: str, **environment: str) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._said = self._pool.submit(lambda: shell(*words, code=0, **environment))

    def said(self) -> str:
        """What it printed, when it has ended."""
        self._pool.shutdown()
        return self._said.result()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
