"""What can be seen of a stream beside its counters follows from calls, never from events.

Two streams live the same life, but for one event after a state that somebody may have seen. Files
(their bytes but the counters, length, mode, whether their times moved), the number of draws, the
error bars and every text about them must be the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headcount as hc

SEED = "00112233445566778899aabbccddeeff"
GROUPS = ["no", "yes"]
EVENTS: dict[str, list[object]] = {
    "one event": ["yes"],
    "an event of no group": ["elsewhere"],
    "many events": ["yes", "no"] * 500,
}


def bytes_but_counters(path: Path) -> tuple[Any, ...]:
    """A file as whoever holds it reads it, with the counters and random names left out."""
    raw = path.read_bytes()
    magic, version, length = struct.unpack("<8sII", raw[:16])
    terms = json.loads(raw[16 : 16 + length])
    names = terms.pop("parts")
    counters = raw[-8 * len(GROUPS) :]
    rest = raw[16 + length + 32 : -len(counters)]
    rest = rest.replace(hashlib.sha256(counters).digest(), b"<hash of the counters>")
    return magic, version, len(names), terms, rest


def looks(folder: Path) -> dict[str, tuple[Any, ...]]:
    """All that is to be seen in a folder."""
    found = {}
    for path in sorted(folder.iterdir()):
        state = path.stat()
        found[path.name] = (
            state.st_size,
            state.st_mode,
            state.st_nlink,
            state.st_blocks,
            bytes_but_counters(path),
        )
    return found


def times(folder: Path) -> dict[str, tuple[int, ...]]:
    """When anything in a folder changed, and which files these are."""
    every = {".": folder.stat()} | {path.name: path.stat() for path in folder.iterdir()}
    return {
        name: (state.st_mtime_ns, state.st_ctime_ns, state.st_ino) for name, state in every.items()
    }


def after_a_snapshot(folder: Path) -> hc.Stream:
    stream = hc.Stream(groups=GROUPS, epsilon=1, path=folder / "s.hcs", hash_seed=SEED)
    stream.update(["yes"] * 5)
    stream.snapshot(folder / "copy.hcs")
    return stream


def after_a_merge(folder: Path) -> hc.Stream:
    stream = hc.Stream(groups=GROUPS, epsilon=1, path=folder / "s.hcs", hash_seed=SEED)
    part = hc.Stream.like(stream, path=folder / "part.hcs")
    part.update(["no"] * 3)
    part.close()
    stream.merge(folder / "part.hcs")
    return stream


def after_an_opening(folder: Path) -> hc.Stream:
    hc.Stream(groups=GROUPS, epsilon=1, path=folder / "s.hcs", hash_seed=SEED).close()
    return hc.Stream.load(folder / "s.hcs")


def after_a_beginning(folder: Path) -> hc.Stream:
    return hc.Stream(groups=GROUPS, epsilon=1, path=folder / "s.hcs", hash_seed=SEED)


def after_a_checkpoint(folder: Path) -> hc.Stream:
    stream = hc.Stream(groups=GROUPS, epsilon=1, path=folder / "s.hcs", hash_seed=SEED)
    stream.update(["yes"])
    stream.flush()
    return stream


def after_a_reseal(folder: Path) -> hc.Stream:
    stream = hc.Stream(groups=GROUPS, epsilon=1, path=folder / "s.hcs", hash_seed=SEED)
    stream.reseal()
    return stream


BEGINNINGS = [
    after_a_snapshot,
    after_a_merge,
    after_an_opening,
    after_a_beginning,
    after_a_checkpoint,
    after_a_reseal,
]


def life(
    folder: Path, begin: Callable[[Path], hc.Stream], events: list[object], end: str
) -> list[Any]:
    """Everything that can be seen from the last public call on, in the order it can be seen."""
    folder.mkdir()
    stream = begin(folder)
    seen: list[Any] = [looks(folder), repr(stream), stream.describe(), stream.n_noises]
    before = times(folder)
    time.sleep(0.02)  # so that a time that moves is seen to move
    if events:
        stream.update(events)
    seen += [looks(folder), repr(stream), stream.describe(), stream.n_noises]
    seen.append(times(folder) == before)
    if end == "flush":
        stream.flush()
    elif end == "snapshot":
        stream.snapshot(folder / "copy.hcs")
    elif end == "merge":
        stream.merge(hc.Stream.like(stream))
    elif end == "close":
        stream.close()
        stream = hc.Stream.load(folder / "s.hcs")
    after = times(folder)
    seen.append({name: after[name] != before.get(name) for name in after})
    seen += [looks(folder), repr(stream), stream.describe(), stream.n_noises]
    output = stream.finish()
    rows = output.to_arrow()
    widths = (rows["high"].to_numpy() - rows["low"].to_numpy()).tolist()
    seen += [output.facts, repr(output), rows["sd"].to_pylist(), widths]
    stream.close()
    seen += [looks(folder)]
    return seen


ENDS = [(end, "one event") for end in ("finish", "flush", "snapshot", "merge", "close")]
ENDS += [("close", events) for events in EVENTS if events != "one event"]


@pytest.mark.parametrize(("end", "events"), ENDS)
@pytest.mark.parametrize("begin", BEGINNINGS, ids=lambda begin: begin.__name__)
def test_s1_and_s2_nothing_but_the_counters_tells_whether_an_event_came(
    begin: Callable[[Path], hc.Stream], end: str, events: str, tmp_path: Path
) -> None:
    with_events = life(tmp_path / "with", begin, EVENTS[events], end)
    without = life(tmp_path / "without", begin, [], end)
    assert with_events == without


@pytest.mark.parametrize("event", [None, "yes"])
def test_s1_two_copies_are_never_the_same_whether_events_came_or_not(
    event: str | None, tmp_path: Path
) -> None:
    stream = hc.Stream(groups=[str(i) for i in range(200)], epsilon=0.01)
    copies = []
    for name in ("first", "second"):
        copies.append(stream.snapshot(tmp_path / name).read_bytes()[-1600:])
        if event:
            stream.update([event])
    assert copies[0] != copies[1]


@pytest.mark.parametrize("events", [[], ["yes"]], ids=["no event", "an event"])
def test_s1_every_call_that_lets_a_state_be_seen_draws_once_at_once(
    events: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "s.hcs"
    stream = hc.Stream(groups=GROUPS, epsilon=1, path=path)
    draws = [stream.n_noises]
    for call in (
        lambda: stream.snapshot(tmp_path / "copy.hcs"),
        stream.flush,
        stream.reseal,
        lambda: stream.merge(hc.Stream.like(stream)),
    ):
        stream.update(events)
        call()
        draws.append(stream.n_noises)
    stream.close()
    draws.append(hc.Stream.load(path).n_noises)
    assert draws == [1, 2, 3, 4, 4 + 1 + 1, 7]


def test_s2_an_event_writes_nothing_that_another_process_can_see(tmp_path: Path) -> None:
    path = tmp_path / "s.hcs"
    # All but the time of the last reading, which looking sets.
    look = (
        "import os, sys; s = os.stat(sys.argv[1]); print(s.st_mode, s.st_ino, s.st_nlink,"
        " s.st_uid, s.st_gid, s.st_size, s.st_blocks, s.st_mtime_ns, s.st_ctime_ns,"
        " open(sys.argv[1], 'rb').read())"
    )

    def seen_by_another() -> str:
        ran = subprocess.run(
            [sys.executable, "-c", look, str(path)], capture_output=True, text=True, check=True
        )
        return ran.stdout

    with hc.Stream(groups=GROUPS, epsilon=1, path=path) as stream:
        before = seen_by_another()
        time.sleep(0.02)
        stream.update(["yes"] * 100)
        assert seen_by_another() == before


def test_s2_the_file_has_no_mark_that_events_set(tmp_path: Path) -> None:
    path = tmp_path / "s.hcs"
    with hc.Stream(groups=GROUPS, epsilon=1, path=path) as stream:
        for events in ([], ["yes"]):
            stream.update(events)
            stream.flush()
            raw = path.read_bytes()
            assert b"sealed" not in raw
            assert b"open\0" not in raw


def test_s3_a_draft_that_was_there_before_is_not_written_to(tmp_path: Path) -> None:
    for name, make in (
        ("s.hcs", lambda: hc.Stream(groups=GROUPS, epsilon=1, path=tmp_path / "s.hcs")),
        ("copy.hcs", lambda: hc.Stream(groups=GROUPS, epsilon=1).snapshot(tmp_path / "copy.hcs")),
    ):
        planted = tmp_path / f"{name}.new"
        descriptor = os.open(planted, os.O_RDWR | os.O_CREAT)
        os.fchmod(descriptor, 0o666)
        made = make()
        assert os.fstat(descriptor).st_size == 0, "whoever made the draft can read the state"
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
        assert not planted.exists()
        os.close(descriptor)
        if isinstance(made, hc.Stream):
            made.close()


def test_s3_what_is_no_draft_of_ours_is_left_alone(tmp_path: Path) -> None:
    draft, other = tmp_path / "s.hcs.new", tmp_path / "diary.txt"
    other.write_text("dear diary")
    for plant in (
        lambda: draft.write_text("notes"),
        lambda: draft.symlink_to(other),
        lambda: os.mkfifo(draft),
        draft.mkdir,
    ):
        plant()
        with pytest.raises(hc.UsageError, match="cannot be used"):
            hc.Stream(groups=GROUPS, epsilon=1, path=tmp_path / "s.hcs")
        assert os.path.lexists(draft)
        assert not (tmp_path / "s.hcs").exists()
        draft.rmdir() if draft.is_dir() else draft.unlink()
    assert other.read_text() == "dear diary"


def test_s3_a_copy_never_goes_over_the_streams_own_file(tmp_path: Path) -> None:
    path, link, twin = (tmp_path / name for name in ("s.hcs", "link.hcs", "twin.hcs"))
    with hc.Stream(groups=GROUPS, epsilon=1, path=path) as stream:
        stream.snapshot(tmp_path / "copy.hcs")
        stream.flush()
        link.symlink_to(path)
        os.link(path, twin)
        before, draws = (path.read_bytes(), times(tmp_path)), stream.n_noises
        for own in (path, link, twin, str(path), tmp_path / "." / "s.hcs"):
            with pytest.raises(hc.UsageError, match="own file"):
                stream.snapshot(own)
        assert (path.read_bytes(), times(tmp_path)) == before
        assert stream.n_noises == draws
        with pytest.raises(hc.UsageError, match="counts in it"):
            hc.Stream.load(path)


def test_s3_a_copy_never_goes_over_a_copy_that_somebody_counts_in(tmp_path: Path) -> None:
    stream = hc.Stream(groups=GROUPS, epsilon=1)
    copy = stream.snapshot(tmp_path / "copy.hcs")
    with hc.Stream.load(copy), pytest.raises(hc.UsageError, match="counts in it"):
        stream.snapshot(copy)
