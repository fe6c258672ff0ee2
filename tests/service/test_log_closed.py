"""The end of a connection: SQLite's last one empties the log into the file and removes it.

That must not happen to a file that was put back meanwhile, and must not be taken for a theft of the
log where it is the ordinary end of a program.
"""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headcount.ledger.ledger import Ledger

PROGRAM = """
import sys
from headcount.errors import LedgerError
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
ledger = Ledger(sys.argv[1])
for number in range(20):
    ledger.open_account(f"account-{number}", Budget(rho=1))
print("used", flush=True)
sys.stdin.readline()
if sys.argv[2] == "notices":
    try:
        ledger.open_account("late", Budget(rho=1))
    except LedgerError:
        print("refused", flush=True)
"""
PLAIN = """
import sqlite3, sys
raw = sqlite3.connect(sys.argv[1])
with raw:
    raw.execute("CREATE TABLE more AS SELECT * FROM entries")
print("used", flush=True)
sys.stdin.readline()
raw.close()
"""


@pytest.mark.parametrize(
    ("program", "then"), [(PROGRAM, "notices"), (PROGRAM, "ends"), (PLAIN, "ends")]
)
def test_the_end_of_a_program_leaves_what_was_put_back_alone(
    clients: ModuleType, tmp_path: Path, program: str, then: str
) -> None:
    """SQLite's last connection writes its log into the file, whichever file that is by now."""
    path = tmp_path / "l.db"
    clients.new_ledger(str(path))._store.engine.dispose()
    copy = Path(shutil.copy(path, path.with_name("copy.db")))
    running = subprocess.Popen(
        [sys.executable, "-c", program, path, then],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "used\n"
    for ending in ("-wal", "-shm"):
        Path(f"{path}{ending}").unlink()
    shutil.copy(copy, path)
    said, _ = running.communicate("\n")
    assert running.returncode == 0
    assert said == ("refused\n" if then == "notices" else "")
    is_untouched = path.read_bytes() == copy.read_bytes()
    assert is_untouched == (program is not PLAIN), "the control is touched"


def coming_and_going(number: int, ready: Callable[[], object], address: str, charge: Any) -> int:
    """Open, charge and close again and again; often nobody else has the ledger open."""
    ready()
    for attempt in range(12):
        ledger = Ledger(address)
        for part in range(3):
            assert charge(ledger, f"{number}-{attempt}-{part}").is_new
        if attempt % 3 == 0:
            with sqlite3.connect(address) as raw:
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            raw.close()
        if attempt % 4 == 0:
            ledger.verify()
        ledger._store.engine.dispose()
        if attempt % 2:
            assert charge(ledger, f"{number}-{attempt}-again").is_new
    return 12 * 3 + 6


def test_those_who_come_and_go_are_never_refused(clients: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "l.db"
    clients.new_ledger(str(path), clients.PLENTY)
    made = clients.together(6, coming_and_going, str(path), clients.charge)
    assert len(Ledger(path).entries("web")) == sum(made)


def test_threads_that_come_and_go_are_never_refused(clients: ModuleType, tmp_path: Path) -> None:
    """All connections of a process share one note, and each thread closes what it likes."""
    address = str(tmp_path / "l.db")
    shared = clients.new_ledger(address, clients.PLENTY)

    def work(number: int) -> int:
        for attempt in range(6):
            assert clients.charge(shared, f"shared-{number}-{attempt}").is_new
            own = Ledger(address)
            assert clients.charge(own, f"own-{number}-{attempt}").is_new
            (own if attempt % 2 else shared)._store.engine.dispose()
        return 12

    with ThreadPoolExecutor(8) as pool:
        made = sum(pool.map(work, range(8)))
    assert len(Ledger(address).entries("web")) == made
