"""Ctrl-C from a shell: 130, what was charged, no traceback, and the repetition is free."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headcount.ledger.ledger import Ledger

COUNT = ("count-users", "big.parquet", "--user", "user", "--by", "page", "--epsilon", "1")
AT_IMPORT = """
import os, signal, sys
class Stop:
    def find_spec(self, name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Stop())
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADCOUNT_LEDGER", str(tmp_path / "l.db"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def charges(place: Path) -> int:
    """How many charges are committed, without opening the ledger."""
    if not (place / "l.db").exists():
        return 0
    connection = sqlite3.connect(place / "l.db")
    try:
        query = "select count(*) from entries where kind = 'charge'"
        return int(connection.execute(query).fetchone()[0])
    except sqlite3.OperationalError:
        return 0
    finally:
        connection.close()


def stored(place: Path) -> int:
    with closing(sqlite3.connect(place / "l.db", timeout=0)) as connection:
        try:
            return int(connection.execute("select count(*) from results").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def stopped_when_charged(command: list[str], place: Path, delay: float = 0.1) -> tuple[int, str]:
    before = charges(place)
    # A group of its own, as a shell gives one to what it runs.
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0
    )
    while charges(place) == before and process.poll() is None:
        time.sleep(0.005)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=600)
    return process.returncode, said


def stopped_at_import(
    module: str, place: Path, headcount_command: str
) -> subprocess.CompletedProcess[str]:
    (place / "site").mkdir()
    (place / "site" / "sitecustomize.py").write_text(AT_IMPORT.format(module=module))
    search = os.pathsep.join([str(place / "site"), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [headcount_command, *COUNT, "--budget", "3"],
        env={**os.environ, "PYTHONPATH": search},
        capture_output=True,
        text=True,
        check=False,
    )


def write_many_rows() -> None:
    i = np.arange(1_500_000)
    pages = pa.DictionaryArray.from_arrays(
        pa.array((i * 7919) % 3_000, pa.int32()), pa.array([f"p{k}" for k in range(3_000)])
    )
    pq.write_table(pa.table({"user": (i * 104_729) % 500_009, "page": pages}), "big.parquet")


@pytest.mark.slow
def test_a_release_of_a_parquet_file_ends_and_is_finished_by_the_same_command(
    place: Path, headcount_command: str
) -> None:
    write_many_rows()
    command = [headcount_command, *COUNT, "--budget", "3"]
    code, said = stopped_when_charged(command, place)
    (account,) = (book := Ledger(place / "l.db")).accounts()
    (entry,) = book.entries(account.name)
    assert code == 130, said
    assert "Traceback" not in said
    assert not entry.has_result, "it ran to its end"
    assert (
        f"headcount: Stopped. Entry {entry.sequence} was charged and has no rows yet. Give the "
        "same command again: it is finished without a second charge."
    ) in said
    plan = subprocess.run([*command, "--plan"], capture_output=True, text=True, check=True)
    assert "has no rows yet: finished without a charge" in plan.stdout
    subprocess.run(command, capture_output=True, check=True)
    (entry,) = book.entries(account.name)
    assert entry.has_result
    code, said = stopped_when_charged([*command, "--fresh"], place)
    _, fresh = book.entries(account.name)
    assert (code, fresh.has_result) == (130, False)
    assert f"Entry {fresh.sequence} was charged" in said
    assert "Give the same command without --fresh again" in said
    subprocess.run(command, capture_output=True, check=True)
    assert [one.has_result for one in book.entries(account.name)] == [True, True]


@pytest.mark.slow
@pytest.mark.timeout(2400)  # ten releases of a large file, also on a busy machine
def test_at_any_moment_after_the_charge(place: Path, headcount_command: str) -> None:
    write_many_rows()
    command = [headcount_command, *COUNT, "--budget", "90", "--fresh"]
    for delay in range(0, 120, 12):
        code, said = stopped_when_charged(command, place, delay / 1000)
        assert code == 130, (delay, said)
        assert "has no rows yet" in said, (delay, said)


def test_inside_a_library_that_forgets_it(place: Path, headcount_command: str) -> None:
    """DuckDB asks for this module at its first table of Arrow, and could do without it."""
    # So many users in some groups each that numbers of groups go to the engine.
    i = np.arange(60_000)
    pq.write_table(pa.table({"user": i % 20_000, "page": i // 20_000 + i % 4}), "big.parquet")
    ended = stopped_at_import("pyarrow.dataset", place, headcount_command)
    assert ended.returncode == 130, ended.stderr
    (account,) = (book := Ledger(place / "l.db")).accounts()
    (entry,) = book.entries(account.name)
    assert not entry.has_result
    assert f"Stopped. Entry {entry.sequence} was charged and has no rows yet" in ended.stderr


@pytest.mark.parametrize(
    "module",
    ["headcount.privacy.budget", "typer", "headcount.cli.commands", "headcount.ledger.ledger"],
)
def test_before_the_charge_and_during_imports(
    module: str, place: Path, headcount_command: str
) -> None:
    pq.write_table(pa.table({"user": [1], "page": ["a"]}), "big.parquet")
    ended = stopped_at_import(module, place, headcount_command)
    assert ended.returncode == 130, ended.stderr
    assert ended.stderr.splitlines() == ["headcount: Stopped. Nothing was charged."]
    assert charges(place) == 0
