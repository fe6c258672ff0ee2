"""SQLite's locks on the files beside a ledger hold for as long as a connection is open.

They belong to the process, and closing any descriptor of a file gives all of them up: another
program would then take the files for left over and begin them anew, under the feet of this one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from headcount.ledger.copies import verify_copy
from headcount.ledger.ledger import Ledger
from headcount.ledger.stores import sqlite
from headcount.ledger.stores.log_index import LogIndex
from headcount.privacy.budget import Budget

IN_USE = 128
"""The byte of the index that everybody locks who has it open."""
ASK = """
import fcntl, sys
try:
    fcntl.lockf(open(sys.argv[1], "r+b"), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(sys.argv[2]))
except OSError:
    print("held")
"""


def is_held(path: Path) -> bool:
    """Whether a process has the index of this ledger open, as another one sees it."""
    asked = [sys.executable, "-c", ASK, f"{path}-shm", str(IN_USE)]
    return "held" in subprocess.run(asked, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> Ledger:
    ledger = Ledger(path)
    ledger.open_account("web", Budget(epsilon=1, delta=1e-6))
    return ledger


def test_the_index_is_let_go_after_the_last_connection(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = []
    close = LogIndex.close

    def noted(index: LogIndex) -> None:
        held.append(Path(f"{path}-shm").exists() and is_held(path))
        close(index)

    assert is_held(path)
    monkeypatch.setattr(LogIndex, "close", noted)
    ledger._store.engine.dispose()
    assert held == [False]


def test_a_connection_that_is_being_made_keeps_its_locks(
    path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last connection of one thread closes while another thread makes its first."""
    made, go_on = threading.Event(), threading.Event()
    settings = sqlite._settings

    def waits(connection: Any) -> None:
        settings(connection)
        connection.execute("PRAGMA user_version").fetchone()
        made.set()
        go_on.wait(60)

    monkeypatch.setattr(sqlite, "_settings", waits)
    second = Ledger.__new__(Ledger)

    def open_second() -> None:
        second.__init__(path)  # type: ignore[misc]

    opening = threading.Thread(target=open_second)
    closing = threading.Thread(target=ledger._store.engine.dispose)
    opening.start()
    assert made.wait(60)
    closing.start()
    closing.join(0.5)
    assert is_held(path)
    go_on.set()
    opening.join()
    closing.join()
    assert is_held(path)
    assert second.account("web").name == "web"


def test_verifying_the_ledger_itself_keeps_its_locks(path: Path, ledger: Ledger) -> None:
    with ledger._store.reading():
        verify_copy(path)
        asked = [sys.executable, "-c", ASK, str(path), str(0x40000002)]
        # Shared by all who have the database open.
        found = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
        assert is_held(path)
        assert "held" in found


def test_a_fork_in_the_middle_of_a_transaction(path: Path, ledger: Ledger) -> None:
    with ledger._store.reading():
        child = os.fork()
        if child == 0:
            try:
                Ledger(path).account("web")
            except Exception as error:
                (path.parent / "said").write_text(str(error))
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert is_held(path)
    said = (path.parent / "said").read_text()
    assert "forked while another thread was using the ledger" in said
    assert "Nothing was charged" in said
    assert ledger.account("web").name == "web"


def test_a_fork_while_nothing_is_under_way(path: Path, ledger: Ledger) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0 if Ledger(path).account("web").name == "web" else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert ledger.account("web").name == "web"
