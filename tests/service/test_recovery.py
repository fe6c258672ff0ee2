"""What the page on looking after a ledger says to do when something was lost, done."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "ledger.md"
HEADCOUNT = (sys.executable, "-c", "from headcount.cli.main import main; main()")
CHARGE = (
    "import sys; from headcount.ledger.ledger import Ledger; sys.path.insert(0, sys.argv[1]);"
    "import clients; clients.charge(Ledger(sys.argv[2]), sys.argv[3])"
)


class Machine:
    """A computer with a home of its own, in which commands are run."""

    def __init__(self, home: Path) -> None:
        home.mkdir()
        self.heads = home / "heads"
        self.environment = dict(os.environ, HOME=str(home), HEADCOUNT_HEADS=str(self.heads))

    def run(self, *command: str) -> tuple[int, str]:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def verify(self, *arguments: object) -> tuple[int, str]:
        return self.run(*HEADCOUNT, "ledger", "verify", *map(str, arguments))

    def charge(self, ledger: object, key: str) -> tuple[int, str]:
        return self.run(sys.executable, "-c", CHARGE, str(Path(__file__).parent), str(ledger), key)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "home")


@pytest.fixture
def ledger(tmp_path: Path, clients: ModuleType, machine: Machine) -> Path:
    """A ledger with two charges, of which the second came after a backup."""
    path = tmp_path / "ledger.db"
    clients.new_ledger(str(path))._store.engine.dispose()
    assert machine.charge(path, "one")[0] == 0
    copy(path, tmp_path / "backup.db")
    assert machine.charge(path, "two")[0] == 0
    copy(path, tmp_path / "newest.db")
    return path


def copy(path: Path, to: Path) -> None:
    """As ``sqlite3 ledger.db ".backup copy.db"`` does."""
    source, target = sqlite3.connect(path), sqlite3.connect(to)
    source.backup(target)
    source.close()
    target.close()


def put_back(path: Path, backup: Path) -> None:
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink(missing_ok=True)
    shutil.copy(backup, path)


def test_the_page_has_these_procedures() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for words in (
        "**The head was lost**",
        "**A backup was put back, and the newest copy exists.**",
        "**A backup was put back, and the newest copy is gone**",
        "**The ledger is lost.**",
    ):
        assert words in text


def test_a_lost_head_is_a_first_opening(machine: Machine, ledger: Path) -> None:
    shutil.rmtree(machine.heads)
    code, said = machine.verify("--ledger", ledger)
    assert (code, "2 charges" in said) == (0, True), said
    assert machine.charge(ledger, "three")[0] == 0


def test_the_newest_copy_is_put_back_and_work_goes_on(
    machine: Machine, ledger: Path, tmp_path: Path
) -> None:
    put_back(ledger, tmp_path / "backup.db")
    for code, said in (machine.verify("--ledger", ledger), machine.charge(ledger, "three")):
        assert code != 0
        assert "ends at entry 2 and had come to entry 3" in said
    put_back(ledger, tmp_path / "newest.db")
    assert machine.verify("--ledger", ledger)[0] == 0
    assert machine.charge(ledger, "three")[0] == 0


def test_another_machine_says_whether_a_copy_is_the_newest(
    machine: Machine, ledger: Path, tmp_path: Path
) -> None:
    other = Machine(tmp_path / "another home")
    assert other.verify("--ledger", ledger)[0] == 0
    put_back(ledger, tmp_path / "backup.db")
    shutil.rmtree(machine.heads)
    code, said = other.verify("--ledger", ledger)
    assert (code, "had come to entry 3" in said) == (4, True), said
    # Stated, not hidden: without a head the old copy is taken as it is.
    assert machine.verify("--ledger", ledger)[0] == 0


def test_a_ledger_that_moved_is_held_to_its_head(
    machine: Machine, ledger: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    moved = tmp_path / "elsewhere" / "budget.db"
    shutil.copy(tmp_path / "backup.db", moved)
    code, said = machine.charge(moved, "three")
    assert code != 0
    assert "had come to entry 3" in said
    shutil.copy(tmp_path / "newest.db", moved)
    assert machine.charge(moved, "three")[0] == 0


def test_copies_are_checked_without_a_head(machine: Machine, ledger: Path, tmp_path: Path) -> None:
    code, said = machine.verify("--copy", tmp_path / "backup.db")
    assert (code, "1 charge in 1 account:" in said) == (0, True), said
    raw = sqlite3.connect(tmp_path / "backup.db")
    raw.execute("DROP TRIGGER entries_refuses_update")
    raw.execute("UPDATE entries SET rho = 0 WHERE sequence = 2")
    raw.commit()
    raw.close()
    code, said = machine.verify("--copy", tmp_path / "backup.db")
    assert (code, "entry 2 was changed" in said) == (4, True), said
