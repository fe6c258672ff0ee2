from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from headcount.ledger.stores import queue
from headcount.ledger.stores.queue import in_line

FORK = multiprocessing.get_context("fork")


def wait_in_line(path: Path, name: str, out: Path) -> None:
    with in_line(path), out.open("a") as file:
        file.write(name)


@pytest.mark.parametrize("byte_locks", [True, False])
def test_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, byte_locks: bool) -> None:
    monkeypatch.setattr(queue, "HAS_BYTE_LOCKS", byte_locks and queue.HAS_BYTE_LOCKS)
    inside = []
    most = []

    def member() -> None:
        for _ in range(20):
            with in_line(tmp_path / "queue"):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.0005)
                inside.pop()

    threads = [threading.Thread(target=member) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}


@pytest.mark.skipif(not queue.HAS_BYTE_LOCKS, reason="this system has no locks on bytes")
def test_first_come_first_served_and_the_dead_give_way(tmp_path: Path) -> None:
    path, out = tmp_path / "queue", tmp_path / "out"
    with in_line(path):
        waiting = []
        for name in "abcdef":
            process = FORK.Process(target=wait_in_line, args=(path, name, out))
            process.start()
            waiting.append(process)
            time.sleep(0.15)
        assert not out.exists()
        # The last in line dies: nobody is behind it, and nobody is held up by it later.
        assert waiting[-1].pid is not None
        os.kill(waiting[-1].pid, signal.SIGKILL)
        waiting[-1].join()
    for process in waiting:
        process.join()
    assert out.read_text() == "abcde"
    with in_line(path):
        pass
