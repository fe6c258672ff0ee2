"""``headcount stream`` as it is used: pipes, kills, merges, one output."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from headcount.streams.stream import Stream

Run = Callable[..., str]


@pytest.fixture
def run(headcount_command: str, tmp_path: Path) -> Run:
    def call(*words: str, text: bytes | None = None, fails: bool = False) -> str:
        ran = subprocess.run(
            [headcount_command, "stream", *words], input=text, capture_output=True, cwd=tmp_path
        )
        assert (ran.returncode != 0) == fails, ran.stderr.decode()
        return (ran.stdout + ran.stderr).decode()

    return call


def test_two_machines_count_and_one_publishes(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pages.txt").write_text("home\nhelp\n")
    said = run("new", "here.hcs", "--groups", "pages.txt", "--epsilon", "60")
    assert "Promised" in said
    run("new", "there.hcs", "--like", "here.hcs")
    run("add", "here.hcs", text=b"home\nhelp\nhome\nelsewhere\n")
    run("add", "there.hcs", "--json", "page", text=b'{"page": "home"}\n{"page": "help"}\n')
    assert "home" not in run("describe", "here.hcs")
    assert "3 draws" in run("merge", "here.hcs", "there.hcs")
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


def test_a_part_that_was_merged_is_closed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pages.txt").write_text("home\nhelp\n")
    run("new", "a.hcs", "--groups", "pages.txt", "--epsilon", "60")
    run("new", "c.hcs", "--like", "a.hcs")
    run("new", "d.hcs", "--like", "a.hcs")
    run("add", "c.hcs", text=b"home\n")
    run("merge", "a.hcs", "c.hcs")
    before = (tmp_path / "c.hcs").read_bytes()
    said = run("add", "c.hcs", text=b"home\n", fails=True)
    assert "was merged into another stream" in said
    assert "headcount stream new part2.hcs --like part.hcs" in said
    assert "merged before" in run("merge", "d.hcs", "c.hcs", fails=True)
    assert (tmp_path / "c.hcs").read_bytes() == before
    run("new", "part2.hcs", "--like", "c.hcs")
    run("add", "part2.hcs", text=b"help\n")
    run("merge", "a.hcs", "part2.hcs")
    run("finish", "a.hcs", "--out", "pages.csv")
    assert pyarrow.csv.read_csv(tmp_path / "pages.csv").to_pydict()["count"] == [1, 1]


def test_a_stream_says_what_was_changed_in_the_words_of_a_shell(run: Run) -> None:
    said = [
        run("new", "a.hcs", "--epsilon", "0", fails=True),
        run("new", "a.hcs", "--epsilon", "1", fails=True),
        run("new", "a.hcs", "--epsilon", "1", "--groups", "none.txt", fails=True),
    ]
    run("new", "a.hcs", "--epsilon", "1", "--buckets", "100")
    said += [
        run("add", "a.hcs", "--flush-every", "0", text=b"", fails=True),
        run("finish", "a.hcs", "--events", "5", fails=True),
    ]
    for words in said:
        assert "charged" not in words
        assert "flush_every" not in words
        assert "n_events" not in words
    assert "--flush-every must be" in said[3]
    assert "--events is for --neighbours replace" in said[4]


def test_frequencies_of_buckets_are_never_more_than_there_are(run: Run, tmp_path: Path) -> None:
    run("new", "a.hcs", "--epsilon", "0.1", "--buckets", "16")
    run("add", "a.hcs", text=b"".join(b"%d\n" % i for i in range(1000)))
    said = run("finish", "a.hcs", "--out", "a.csv")
    assert "Half of the buckets or more are in use" in said
    assert max(pyarrow.csv.read_csv(tmp_path / "a.csv").to_pydict()["high"]) <= 16


def started(command: str, folder: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [command, "stream", "add", "state.hcs", *words],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
    )


def held(path: Path) -> int:
    """What is in the only counter, read past the lock as an intruder would."""
    return int.from_bytes(path.read_bytes()[-8:], "little", signed=True)


def waited_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert is_so()


def test_a_command_that_is_killed_leaves_what_it_wrote_last(
    headcount_command: str, tmp_path: Path
) -> None:
    path = tmp_path / "state.hcs"
    Stream(groups=["home"], epsilon=60, path=path).close()
    process = started(headcount_command, tmp_path, "--flush-every", "1")
    assert process.stdin is not None
    process.stdin.write(b"home\n" * 1000)
    process.stdin.flush()
    waited_for(lambda: held(path) == 1000)
    second = started(headcount_command, tmp_path)
    _, said = second.communicate(b"home\n")
    assert second.returncode == 2
    assert b"another process counts in it" in said
    process.kill()
    process.communicate()
    with Stream.load(path) as stream:
        stream.update(["home"])
        assert stream.finish().to_arrow()["count"].to_pylist() == [1001]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_command_that_is_stopped_writes_what_it_counted(
    headcount_command: str, tmp_path: Path, end: signal.Signals
) -> None:
    path = tmp_path / "state.hcs"
    Stream(groups=["home"], epsilon=60, path=path).close()
    process = started(headcount_command, tmp_path)
    assert process.stdin is not None
    process.stdin.write(b"home\n" * 1000)
    process.stdin.flush()
    waited_for(lambda: unread(process) == 0)
    time.sleep(1)  # from the pipe into the counter
    os.kill(process.pid, end)
    process.communicate()
    assert process.returncode == 128 + end
    assert held(path) == 1000


def unread(process: subprocess.Popen[bytes]) -> int:
    """How many bytes wait in the pipe to a process."""
    assert process.stdin is not None
    return struct.unpack("i", fcntl.ioctl(process.stdin.fileno(), termios.FIONREAD, bytes(4)))[0]


def seen(folder: Path) -> dict[str, object]:
    """All files of a folder, as bytes, with the counter, its hash and random names left out."""
    found: dict[str, object] = {}
    for path in sorted(folder.glob("*.hcs")):
        raw = path.read_bytes()
        names = json.loads(raw[16 : 16 + int.from_bytes(raw[12:16], "little")])["parts"]
        for name in names:
            raw = raw.replace(name.encode(), b"<name>")
        counter = raw[-8:]
        raw = raw[:-8].replace(hashlib.sha256(counter).digest(), b"<hash>")
        # The hash of the header covers the random names.
        end = raw.index(b"}") + 1
        found[path.name] = (raw[:end], raw[end + 32 :], path.stat().st_size, path.stat().st_mode)
    return found


SEED = "00112233445566778899aabbccddeeff"


@pytest.mark.parametrize("before", ["new", "add", "snapshot", "merge"])
def test_from_a_shell_nothing_but_the_counters_tells_whether_an_event_came(
    run: Run,
    tmp_path: Path,
    before: str,
) -> None:
    lives = []
    for name, lines in (("with", b"home\n"), ("without", b"")):
        folder = tmp_path / name
        folder.mkdir()
        state, part, copy = (f"{name}/{file}.hcs" for file in ("state", "part", "copy"))
        Stream(groups=["home"], epsilon=1, hash_seed=SEED, path=tmp_path / state).close()
        run("new", part, "--like", state)
        if before == "add":
            run("add", state, text=b"home\n" * 3)
        if before == "snapshot":
            run("snapshot", state, copy)
        if before == "merge":
            run("merge", state, part)
        said: list[object] = [seen(folder)]
        run("add", state, text=lines)
        said += [seen(folder), run("describe", state)]
        run("finish", state, "--out", f"{name}/out.csv")
        rows = pyarrow.csv.read_csv(folder / "out.csv")
        said += [seen(folder), run("describe", state), rows["sd"].to_pylist()]
        said.append(rows["high"][0].as_py() - rows["low"][0].as_py())
        lives.append(said)
    assert lives[0] == lives[1]


def test_a_state_is_written_by_the_clock_whether_lines_come_or_not(
    headcount_command: str, tmp_path: Path
) -> None:
    lives = []
    for line in (b"home\n", b""):
        (tmp_path / "state.hcs").unlink(missing_ok=True)
        Stream(groups=["home"], epsilon=1, path=tmp_path / "state.hcs").close()
        process = started(headcount_command, tmp_path, "--flush-every", "2")
        assert process.stdin is not None
        path = tmp_path / "state.hcs"
        n_written, last = 0, path.stat().st_mtime_ns
        began = 0.0
        while n_written < 3:
            waited_for(lambda: path.stat().st_mtime_ns != last)  # noqa: B023
            last = path.stat().st_mtime_ns
            n_written, began = n_written + 1, began or time.monotonic()
            time.sleep(0.7)
            process.stdin.write(line)
            process.stdin.flush()
        steps = 1 + (time.monotonic() - began) / 2
        process.communicate()
        # One draw when it was made, one when it was opened, and one at each step of the clock.
        with Stream.at_rest(path) as stream:
            assert abs(stream.n_noises - 2 - steps) < 1.5
            lives.append(stream.n_noises)
    assert lives[0] >= 5
    assert lives[1] >= 5


def test_a_copy_onto_the_state_itself_is_refused_before_anything_happens(
    run: Run,
    tmp_path: Path,
) -> None:
    (tmp_path / "pages.txt").write_text("home\n")
    run("new", "state.hcs", "--groups", "pages.txt", "--epsilon", "1")
    (tmp_path / "link.hcs").symlink_to(tmp_path / "state.hcs")
    run("snapshot", "state.hcs", "copy.hcs")
    before = (tmp_path / "state.hcs").read_bytes(), (tmp_path / "state.hcs").stat().st_ino
    for own in ("state.hcs", "./state.hcs", "link.hcs"):
        assert "same file" in run("snapshot", "state.hcs", own, fails=True)
    assert ((tmp_path / "state.hcs").read_bytes(), (tmp_path / "state.hcs").stat().st_ino) == before
