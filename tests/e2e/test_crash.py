"""kill -9 at any moment of a release: no result is ever shown that was not charged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import headcount as hc
from headcount.ledger.ledger import Ledger

N_KILLS = 50
STAGES = ("charging the ledger", "reading the table", "storing the result")


class Programs:
    """A line to ``crash_child.py``: start a program, kill it when it reaches a stage."""

    def __init__(self, folder: Path) -> None:
        script = Path(__file__).with_name("crash_child.py")
        self._server = subprocess.Popen(
            [sys.executable, str(script), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self._server.stdout is not None
        return self._server.stdout.readline().strip()

    def kill_at(self, key: str, stage: str, pause: float, order: str = "charge-first") -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(f"{key} {order}\n")
        self._server.stdin.flush()
        while (line := self._line()) != "ended":
            pid, _, reached = line.partition(" ")
            if reached == stage:
                time.sleep(pause)
                os.kill(int(pid), signal.SIGKILL)

    def close(self) -> None:
        self._server.communicate()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shown").mkdir()
    Ledger(tmp_path / "ledger.db").open_account("crash", hc.Budget(epsilon=10, delta=1e-6))
    return tmp_path


@pytest.fixture
def programs(folder: Path) -> Iterator[Programs]:
    running = Programs(folder)
    yield running
    running.close()


def shown_and_charged(folder: Path) -> tuple[set[str], set[str]]:
    entries = Ledger(folder / "ledger.db").entries("crash")
    return {path.name for path in (folder / "shown").iterdir()}, {entry.key for entry in entries}


def test_fifty_kills_never_show_what_was_not_charged(
    folder: Path, programs: Programs, record_property: Callable[[str, object], None]
) -> None:
    for number in range(N_KILLS):
        stage = STAGES[number % len(STAGES)]
        programs.kill_at(f"key-{number}", stage, pause=(number * 7 % 13) / 1000)
    shown, charged = shown_and_charged(folder)
    record_property("kills", json.dumps({"shown": len(shown), "charged": len(charged)}))
    assert not shown - charged
    assert charged - shown, "no kill fell between charge and release: the test lost its grip"
    ledger = Ledger(folder / "ledger.db")
    entries = ledger.entries("crash")
    assert sum(entry.spend.rho for entry in entries) == ledger.account("crash").spent.rho

    # Whoever retries pays nothing more, and a stored result is shown to the byte.
    table = pa.table({"user": list(range(2000)), "group": [str(i % 3) for i in range(2000)]})
    data = hc.open(table, user="user", account="crash", ledger=folder / "ledger.db")
    spent = data.account.spent
    for entry in entries[:10]:
        plan = data.count_users(by="group", spend=hc.Budget(epsilon="0.1"))
        again = plan.release(key=entry.key).to_bytes()
        if entry.key in shown:
            assert (folder / "shown" / entry.key).read_bytes() == again
    assert data.account.spent == spent


def test_the_broken_order_is_caught(folder: Path, programs: Programs) -> None:
    for number in range(8):
        programs.kill_at(f"key-{number}", STAGES[2], number / 1000, "charge-last")
    shown, charged = shown_and_charged(folder)
    assert shown - charged
