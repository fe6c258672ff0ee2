"""kill -9 while a stream writes: what is there always loads, and holds what was written before."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from headcount.errors import UsageError
from headcount.streams.file import chunks, header
from headcount.streams.stream import Stream

pytestmark = pytest.mark.slow

COUNTERS = 200_000
BARE = 60
"""An epsilon at which noise other than 0 has a chance of e**-60, so that counts can be checked."""
EACH = np.array(["0"] * 50)


def copy_for_ever(folder: Path, write: Callable[[Stream, Path], None]) -> None:
    """Count in memory, copy, and note how much the copy holds once it is made."""
    stream = Stream(buckets=COUNTERS, epsilon=BARE)
    for done in range(1, 1_000_000):
        stream.update(EACH)
        write(stream, folder / "copy.hcs")
        noted = os.open(folder / "acknowledged", os.O_WRONLY | os.O_CREAT)
        os.pwrite(noted, done.to_bytes(8, "little"), 0)
        os.close(noted)


@pytest.fixture(autouse=True)
def warm() -> None:
    """What is imported and computed once is done before any fork."""
    with Stream(buckets=COUNTERS, epsilon=BARE) as stream:
        stream.update(EACH)
        stream.reseal()


def atomically(stream: Stream, path: Path) -> None:
    stream.snapshot(path)


def in_place(stream: Stream, path: Path) -> None:
    """The control: the obvious way to write a file."""
    with path.open("wb") as file:
        file.write(header(stream.terms) + bytes(4096))
        for part in chunks(stream._place.counters):
            file.write(part.tobytes())


def killed_soon(clients: ModuleType, dice: random.Random, folder: Path, write: object) -> None:
    for left in folder.iterdir():
        left.unlink()
    child = clients.forked(copy_for_ever, folder, write)
    while not (folder / "acknowledged").exists():
        time.sleep(0.005)
    time.sleep(dice.random() * 0.05)
    if dice.random() < 0.7:  # most kills are to find a copy half done
        deadline = time.monotonic() + 0.5
        while not os.path.exists(folder / "copy.hcs.new") and time.monotonic() < deadline:
            pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def loaded(path: Path) -> int:
    """The count that a file holds; it must be whole."""
    with Stream.load(path) as stream:
        counted = int(stream._place.counters.sum())
        assert counted % len(EACH) == 0
        return counted // len(EACH)


def test_the_last_complete_copy_always_loads(
    clients: ModuleType, tmp_path: Path, long: bool, record_property: Callable[[str, object], None]
) -> None:
    dice = random.Random(5)
    cut = 0
    for _ in range(200 if long else 10):
        killed_soon(clients, dice, tmp_path, atomically)
        acknowledged = int.from_bytes((tmp_path / "acknowledged").read_bytes(), "little")
        cut += (tmp_path / "copy.hcs.new").exists()
        assert loaded(tmp_path / "copy.hcs") in (acknowledged, acknowledged + 1)
        assert not (tmp_path / "copy.hcs.new").exists()
    record_property("kills in the middle of a copy", cut)
    assert cut, "no kill fell into a copy: the test lost its grip"


def test_writing_in_place_is_caught(clients: ModuleType, tmp_path: Path) -> None:
    dice = random.Random(5)
    broken = 0
    for _ in range(15):
        killed_soon(clients, dice, tmp_path, in_place)
        try:
            loaded(tmp_path / "copy.hcs")
        except UsageError:
            broken += 1
    assert broken


def count_for_ever(path: Path, noted: Path) -> None:
    """Count with a file, write it in every way there is, and note what is in it then."""
    acknowledged = os.open(noted, os.O_WRONLY | os.O_CREAT)
    done = int.from_bytes(noted.read_bytes(), "little")
    for _ in range(1_000_000):
        with Stream.load(path) as stream:
            for step in range(3):
                stream.update(EACH)
                done += 1
                if step == 0:
                    stream.flush()
                    os.pwrite(acknowledged, done.to_bytes(8, "little"), 0)
                elif step == 1:
                    stream.reseal()
                    stream.snapshot(path.with_name("copy.hcs"))
        os.pwrite(acknowledged, done.to_bytes(8, "little"), 0)


def test_a_killed_process_loses_at_most_what_it_counted_since_it_wrote(
    clients: ModuleType, tmp_path: Path, long: bool
) -> None:
    dice = random.Random(6)
    path, noted = tmp_path / "state.hcs", tmp_path / "acknowledged"
    Stream(buckets=COUNTERS, epsilon=BARE, path=path).close()
    noted.write_bytes(bytes(8))
    for _ in range(200 if long else 10):
        before = noted.read_bytes()
        child = clients.forked(count_for_ever, path, noted)
        while noted.read_bytes() == before:
            time.sleep(0.005)
        time.sleep(dice.random() * 0.1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        acknowledged = int.from_bytes(noted.read_bytes(), "little")
        held = loaded(path)
        assert held - acknowledged in (0, 1, 2), "what was written, and perhaps not yet noted"
        noted.write_bytes(held.to_bytes(8, "little"))
    assert held
