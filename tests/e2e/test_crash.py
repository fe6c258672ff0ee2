"""kill -9 at every point of a release and of its repetition, by the program's own hand.

Never a result that was not charged, never two different answers of one entry.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import headcount as hc
from headcount.ledger.ledger import Ledger

N_KILLS = 2000 if os.environ.get("HEADCOUNT_LONG") == "1" else 200


class Programs:
    """A line to ``crash_child.py``: start a program that dies at a point, or lives."""

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

    def run(self, key: str, die_at: int = 0, order: str = "charge-first") -> int | None:
        """How many points it passed, or nothing if it died."""
        assert self._server.stdin is not None
        self._server.stdin.write(f"{key} {die_at} {order}\n")
        self._server.stdin.flush()
        passed = None
        while (line := self._line()) != "ended":
            passed = int(line.removeprefix("passed "))
        return passed

    def close(self) -> None:
        self._server.communicate()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shown").mkdir()
    Ledger(tmp_path / "ledger.db").open_account("crash", hc.Budget(rho=1000, delta=1e-3))
    return tmp_path


@pytest.fixture
def programs(folder: Path) -> Iterator[Programs]:
    running = Programs(folder)
    yield running
    running.close()


def shown_and_charged(folder: Path) -> tuple[set[str], list[str]]:
    entries = Ledger(folder / "ledger.db").entries("crash")
    return {path.name for path in (folder / "shown").iterdir()}, [entry.key for entry in entries]


@pytest.mark.slow
@pytest.mark.timeout(max(1800, 9 * N_KILLS))
def test_a_kill_at_every_point_never_shows_what_was_not_charged_and_one_answer_only(
    folder: Path, programs: Programs, record_property: Callable[[str, object], None]
) -> None:
    n_points = programs.run("whole")
    assert n_points is not None
    n_replay = programs.run("whole")
    assert n_replay is not None
    assert n_replay < n_points, "a repetition neither charges nor reads"
    ends, kills, number = {"charged": 0, "shown": 0}, 0, 0
    while kills < N_KILLS:
        key = f"key-{number}"
        first = 1 + number % n_points
        assert programs.run(key, first) is None
        kills += 1
        shown, charged = shown_and_charged(folder)
        assert shown <= set(charged)
        ends["charged"] += key in charged
        ends["shown"] += key in shown
        # The repetition dies as well, at a point of its own, and the last one lives.
        second = 1 + (number * 7) % n_replay
        kills += programs.run(key, second) is None
        if number % 3 == 0:
            assert programs.run(key) is not None
            assert (folder / "shown" / key).exists()
        number += 1
    record_property("kills", json.dumps({"kills": kills, "points": n_points, **ends}))
    assert number >= n_points, "every point was the last of some program"
    assert 0 < ends["shown"] < ends["charged"] < number
    assert not (folder / "differs").exists(), "one entry has one answer"
    _, charged = shown_and_charged(folder)
    assert len(charged) == len(set(charged)), "and one charge"
    ledger = Ledger(folder / "ledger.db")
    entries = ledger.entries("crash")
    assert sum(entry.spend.rho for entry in entries) == ledger.account("crash").spent.rho
    ledger.verify()


def test_the_broken_order_is_caught(folder: Path, programs: Programs) -> None:
    died = [programs.run(f"key-{number}", number, "charge-last") for number in range(1, 30)]
    shown, charged = shown_and_charged(folder)
    assert died.count(None) > 5
    assert shown - set(charged)
