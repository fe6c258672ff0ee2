"""``headcount stream`` as it is used: pipes, kills, merges, one output."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from headcount.streams.stream import Stream


@pytest.fixture
def run(headcount_command: str, tmp_path: Path):  # type: ignore[no-untyped-def]
    def call(*words: str, text: bytes | None = None, fails: bool = False) -> str:
        ran = subprocess.run(
            [headcount_command, "stream", *words], input=text, capture_output=True, cwd=tmp_path
        )
        assert (ran.returncode != 0) == fails, ran.stderr.decode()
        return (ran.stdout + ran.stderr).decode()

    return call


def test_two_machines_count_and_one_publishes(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "pages.txt").write_text("home\nhelp\n")
    said = run("new", "here.hcs", "--groups", "pages.txt", "--epsilon", "60")
    assert "Promised" in said
    run("new", "there.hcs", "--like", "here.hcs")
    run("add", "here.hcs", text=b"home\nhelp\nhome\nelsewhere\n")
    run("add", "there.hcs", "--json", "page", text=b'{"page": "home"}\n{"page": "help"}\n')
    assert "home" not in run("describe", "here.hcs")
    assert "2 draws" in run("merge", "here.hcs", "there.hcs")
    assert "twice" in run("merge", "here.hcs", "there.hcs", fails=True)
    run("finish", "here.hcs", "--out", "pages.parquet")
    rows = pyarrow.parquet.read_table(tmp_path / "pages.parquet").to_pydict()
    assert rows["group"] == ["help", "home"]
    assert rows["count"] == [2, 3]
    # The output is in the file: the same one again, and no more counting.
    run("finish", "here.hcs", "--out", "again.csv")
    again = pyarrow.csv.read_csv(tmp_path / "again.csv").to_pydict()
    assert again["count"] == rows["count"]
    assert "finished" in run("add", "here.hcs", text=b"home\n", fails=True)


def started(command: str, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [command, "stream", "add", "state.hcs", "--flush-every", "0.1"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )


def held(path: Path) -> int:
    """What is in the only counter, read past the lock as an intruder would."""
    return int.from_bytes(path.read_bytes()[-8:], "little", signed=True)


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_command_that_is_ended_has_counted_what_it_read(
    headcount_command: str, tmp_path: Path, end: signal.Signals
) -> None:
    path = tmp_path / "state.hcs"
    Stream(groups=["home"], epsilon=60, path=path).close()
    process = started(headcount_command, tmp_path)
    assert process.stdin is not None
    process.stdin.write(b"home\n" * 1000)
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while held(path) < 1000 and time.monotonic() < deadline:
        time.sleep(0.02)
    second = started(headcount_command, tmp_path)
    _, said = second.communicate(b"home\n")
    assert second.returncode == 2
    assert b"another process counts in it" in said
    os.kill(process.pid, end)
    process.communicate()
    with Stream.load(path) as stream:
        stream.update(["home"])
        assert stream.finish().to_arrow()["count"].to_pylist() == [1001]
