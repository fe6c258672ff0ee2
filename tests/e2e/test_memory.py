"""A limit of memory: the same numbers, and rows of people in one private folder, nowhere else."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
import os
import signal
import stat
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHILD = Path(__file__).with_name("memory_child.py")
N_ROWS = 2_000_000
LIMIT = "40MB"
MADE = 0x100 | 0x80  # IN_CREATE | IN_MOVED_TO

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="folders are watched by inotify")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A DuckDB file, and the same rows as Parquet, in a folder of their own."""
    import duckdb

    folder = tmp_path_factory.mktemp("rows")
    with duckdb.connect(str(folder / "events.duckdb")) as connection:
        connection.execute("select setseed(0.5)").fetchall()
        connection.execute(
            "create table events as select "
            f"cast(floor({N_ROWS // 20} * pow(random(), 1.6)) as bigint) as user_id, "
            f"cast(floor(pow({N_ROWS // 25}, random())) as bigint) as item from range({N_ROWS})"
        )
        connection.execute(f"copy events to '{folder / 'events.parquet'}'")
    return folder


@contextmanager
def watched(*folders: Path) -> Iterator[list[str]]:
    """The names of all that is made in some folders meanwhile, however briefly."""
    system = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
    events = system.inotify_init1(os.O_NONBLOCK)
    assert events >= 0
    for folder in folders:
        assert system.inotify_add_watch(events, os.fsencode(folder), MADE) >= 0
    made: list[str] = []
    try:
        yield made
        with open(events, "rb", buffering=0, closefd=False) as stream:
            while data := stream.read(1 << 16):
                while data:
                    _, _, _, length = struct.unpack_from("iIII", data)
                    made.append(os.fsdecode(data[16 : 16 + length].rstrip(b"\0")))
                    data = data[16 + length :]
    finally:
        os.close(events)


def on_two_cores() -> None:
    """What a query needs at least grows with the threads that DuckDB has."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])


def run(source: str, scratch: Path, *more: str, **given: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CHILD), source, str(scratch), *more]
    return subprocess.run(
        command, stdout=subprocess.PIPE, text=True, timeout=300, preexec_fn=on_two_cores, **given
    )


def left(scratch: Path) -> list[Path]:
    return [path for path in scratch.rglob("*") if path.name != f"headcount-{os.getuid()}"]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir(mode=0o700)
    return folder


@pytest.mark.parametrize("kind", ["duckdb", "parquet"])
def test_a_limit_changes_no_number_and_spills_in_one_folder(
    kind: str, place: Path, scratch: Path, tmp_path: Path
) -> None:
    source = str(place / "events.parquet")
    if kind == "duckdb":
        source = f"duckdb://{place / 'events.duckdb'}?table=events"
    here, temporary = tmp_path / "here", tmp_path / "temporary"
    here.mkdir()
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    environment.pop("HEADCOUNT_TMP", None)
    whole = json.loads(run(source, scratch, "all", check=True).stdout.splitlines()[-1])
    with watched(here, place, temporary) as made:
        done = run(source, scratch, LIMIT, check=True, cwd=here, env=environment)
    limited = json.loads(done.stdout.splitlines()[-1])
    assert limited["digest"] == whole["digest"]
    assert limited["spilled"] > 0 == whole["spilled"]
    assert made == []
    assert left(scratch) == []


def test_the_watcher_sees_what_is_made(tmp_path: Path) -> None:
    with watched(tmp_path) as made:
        (tmp_path / "spill").write_text("rows")
        (tmp_path / "spill").unlink()
    assert made == ["spill"]


def test_what_a_killed_process_spilled_goes_with_the_next(place: Path, scratch: Path) -> None:
    source = str(place / "events.parquet")
    killed = run(source, scratch, LIMIT, "killed")
    assert killed.returncode == -signal.SIGKILL
    remains = left(scratch)
    assert any(path.is_file() for path in remains)
    (own,) = scratch.iterdir()
    assert all(stat.S_IMODE(one.stat().st_mode) == 0o700 for one in (own, *own.iterdir()))
    run(source, scratch, "all", check=True)
    assert left(scratch) == []


def test_a_release_finishes_within_little_memory(
    place: Path, scratch: Path, tmp_path: Path, headcount_command: str
) -> None:
    """2e7 rows under 400 MB, and 1e8 under 2 GB, are the same: benchmarks/memory.py."""
    command = [
        headcount_command, "count-users", str(place / "events.parquet"), "--user", "user_id",
        "--by", "item", "--within", "0.1", "--method", "equal", "--epsilon", "1", "--budget", "10",
        "--ledger", str(tmp_path / "ledger.db"), "--memory", "80MB", "--scratch", str(scratch),
        "--json",
    ]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, preexec_fn=on_two_cores
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") > 10
    assert left(scratch) == []
