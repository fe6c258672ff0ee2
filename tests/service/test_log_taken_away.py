"""SQLite's log is removed or replaced under a program that uses the ledger, as restores often do.

The program would go on in files that nobody else sees. It has to notice, show nothing, and leave
what was put back as it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headcount.errors import LedgerError
from headcount.ledger.ledger import Ledger
from headcount.ledger.stores.flush import Flush
from headcount.ledger.stores.log_files import LogFiles
from headcount.ledger.stores.sqlite import SQLiteStore

REFUSED = "was removed or replaced while this program was using it"
BESIDE = ("-wal", "-shm")


def removed(path: Path, _copy: Path) -> None:
    for ending in BESIDE:
        Path(f"{path}{ending}").unlink()


def removed_and_copied_over(path: Path, copy: Path) -> None:
    """``rm l.db-wal l.db-shm; cp copy.db l.db``: the file keeps its number."""
    removed(path, copy)
    shutil.copy(copy, path)


def moved_aside(path: Path, copy: Path) -> None:
    for ending in BESIDE:
        os.rename(f"{path}{ending}", f"{path}.old{ending}")
    shutil.copy(copy, path)


def only_the_index(path: Path, _copy: Path) -> None:
    Path(f"{path}-shm").unlink()


def used_by_others(path: Path, copy: Path) -> None:
    """There is a log again, which is not the program's."""
    removed_and_copied_over(path, copy)
    source = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM entries')"
    )
    subprocess.run([sys.executable, "-c", f"{source}; import os; os._exit(0)", path], check=True)
    assert Path(f"{path}-wal").exists()


def older_bytes_in_the_log(path: Path, copy: Path) -> None:
    """Both files stay where they are: a copy of the log is written over them, in place."""
    shutil.copyfile(copy, path)
    log = Path(f"{path}-wal")
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])


def emptied(path: Path, copy: Path) -> None:
    os.truncate(f"{path}-wal", 0)
    shutil.copyfile(copy, path)


def other_bytes_in_the_last_frame(path: Path, _copy: Path) -> None:
    log = Path(f"{path}-wal")
    held = bytearray(log.read_bytes())
    held[-4096 - 8 : -4096] = bytes(8)
    with log.open("r+b") as file:
        file.write(held)


WAYS = [removed, removed_and_copied_over, moved_aside, only_the_index, used_by_others]
IN_PLACE = [older_bytes_in_the_log, emptied, other_bytes_in_the_last_frame]
Way = Callable[[Path, Path], None]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "l.db"


def backed_up(clients: ModuleType, path: Path) -> Path:
    """A new ledger, closed, and a copy of it."""
    ledger = clients.new_ledger(str(path))
    ledger._store.engine.dispose()
    return Path(shutil.copy(path, path.with_name("copy.db")))


@pytest.mark.parametrize("way", [*WAYS, *IN_PLACE])
def test_a_program_notices_at_its_next_use(clients: ModuleType, path: Path, way: Way) -> None:
    copy = backed_up(clients, path)
    running = clients.other_process(str(path))
    assert [running(f"key-{i}") for i in range(5)] == ["True"] * 5
    way(path, copy)
    before = path.read_bytes()
    for word in ("key-0", "new key", "verify"):
        said = running(word)
        assert REFUSED in said
        assert "End every program that uses the ledger" in said
    if way in IN_PLACE:
        assert REFUSED in clients.other_process(str(path))("open"), "the index is still shared"
    elif way is not only_the_index:
        # Whoever starts anew finds out from what this machine saw.
        assert "had come to entry 6" in clients.other_process(str(path))("open")
    assert running("close") == "close"
    assert REFUSED in running("open"), "SQLite would use what is left of the old log"
    assert path.read_bytes() == before


def test_another_file_in_its_place_is_a_ledger_like_any_other(
    clients: ModuleType, path: Path
) -> None:
    copy = backed_up(clients, path)
    running = clients.other_process(str(path))
    assert running("key") == "True"
    removed(path, copy)
    before = copy.read_bytes()
    os.replace(copy, path)
    assert "entry 2, which this machine saw, is not in it any more" in running("another")
    assert path.read_bytes() == before


def spent_in_all(clients: ModuleType, path: Path) -> int:
    """How much of a budget of 100 a running program and another user get out of the ledger."""
    copy = backed_up(clients, path)
    running = clients.other_process(str(path))
    assert running("key") == "True"
    removed_and_copied_over(path, copy)
    other = clients.other_process(str(path), heads=str(path.with_name("another user")))
    return sum(
        ask(f"{n}-{i}") == "True" for n, ask in enumerate((other, running)) for i in range(100)
    )


def test_a_budget_is_not_spent_twice(clients: ModuleType, path: Path) -> None:
    assert spent_in_all(clients, path) == 100


def test_without_a_look_at_the_files_it_would_be(
    clients: ModuleType, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LogFiles, "are_lost", lambda _self: False)
    monkeypatch.setattr(LogFiles, "are_held", lambda _self: False)
    monkeypatch.setattr(SQLiteStore, "_look_for", lambda _self, _head: None)
    assert spent_in_all(clients, path) == 199


def after_commit(store: Any, job: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    commit = store.commit

    def then(connection: Any) -> int:
        ticket = int(commit(connection))
        job()
        return ticket

    monkeypatch.setattr(store, "commit", then)


@pytest.mark.parametrize("way", WAYS)
def test_a_charge_whose_log_is_taken_away_is_not_acknowledged(
    clients: ModuleType, path: Path, monkeypatch: pytest.MonkeyPatch, way: Way
) -> None:
    copy = backed_up(clients, path)
    ledger = Ledger(path)
    charge = clients.charge(ledger, "key")
    head = ledger._heads.read()
    after_commit(ledger._store, lambda: way(path, copy), monkeypatch)
    with pytest.raises(LedgerError, match=rf"{REFUSED}.*may be lost with it: count it as spent"):
        ledger.store_result(charge.sequence, b"rows")
    assert ledger._heads.read() == head
    with pytest.raises(LedgerError, match=REFUSED):
        ledger.stored_result(charge.sequence)


def test_a_commit_is_not_made_into_a_log_that_was_taken_away(
    clients: ModuleType, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = backed_up(clients, path)
    ledger = Ledger(path)
    begin = ledger._store.begin

    def then(connection: Any, *, turn: bool) -> None:
        begin(connection, turn=turn)
        removed_and_copied_over(path, copy)

    monkeypatch.setattr(ledger._store, "begin", then)
    with pytest.raises(LedgerError, match=rf"{REFUSED}.*Nothing was charged"):
        clients.charge(ledger, "key")
    assert path.read_bytes() == copy.read_bytes()


def before_settling(store: Any, job: Callable[[], object], patch: pytest.MonkeyPatch) -> None:
    settle = store.settle

    def first(*asked: Any) -> None:
        job()
        settle(*asked)

    patch.setattr(store, "settle", first)


def test_connections_that_were_closed_since_are_not_missed(
    clients: ModuleType, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As all are before a fork; the log is gone with the last, and its entries are in the file."""
    ledger = clients.new_ledger(str(path))

    def closed() -> None:
        ledger._store.engine.dispose()
        assert not Path(f"{path}-wal").exists()

    before_settling(ledger._store, closed, monkeypatch)
    charge = clients.charge(ledger, "key")
    assert ledger.store_result(charge.sequence, b"rows") == b"rows"
    assert ledger.verify().head.sequence == 3


def test_a_copy_that_is_put_back_after_the_last_connection_closed(
    clients: ModuleType, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = backed_up(clients, path)
    ledger = Ledger(path)

    def closed_and_put_back() -> None:
        ledger._store.engine.dispose()
        shutil.copy(copy, path)

    before_settling(ledger._store, closed_and_put_back, monkeypatch)
    with pytest.raises(LedgerError, match=r"entry 2, which this machine saw.*count it as spent"):
        clients.charge(ledger, "key")


def test_a_log_that_is_missing_is_an_error_while_somebody_holds_it(tmp_path: Path) -> None:
    (tmp_path / "queue").touch()
    Flush(tmp_path / "queue", tmp_path / "log").settle(1)
    with pytest.raises(FileNotFoundError):
        Flush(tmp_path / "queue", tmp_path / "log", lambda: True).settle(2)
