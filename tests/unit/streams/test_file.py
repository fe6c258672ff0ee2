"""Streams: the file that is their state, its copies, and what is added up from several."""

from __future__ import annotations

import copy
import errno
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from headcount.errors import OutputError, UsageError
from headcount.streams.file import Counters, header, read_state, read_terms
from headcount.streams.stream import Stream
from headcount.streams.terms import Terms

Make = Callable[..., Stream]
Read = Callable[[Stream], dict[str, int]]
BARE = 60
"""An epsilon at which noise other than 0 has a chance of e**-60: counts come out as they are."""


def held(path: Path) -> list[int]:
    """The three counters of a file, as whoever has it reads them."""
    return np.frombuffer(path.read_bytes()[-24:], "<i8").tolist()


def test_the_file_holds_the_state_when_it_is_written(
    tmp_path: Path, abc: Make, counts: Read
) -> None:
    path = tmp_path / "state.hcs"
    with abc(path=path) as stream:
        stream.update(["a", "a", "c"])
        assert held(path) == [0, 0, 0]
        stream.flush()
        assert held(path) == [2, 0, 1]
        stream.update(["b"])
        assert held(path) == [2, 0, 1]
    assert held(path) == [2, 1, 1]
    with Stream.load(path) as stream:
        stream.update(["b"])
        assert counts(stream) == {"a": 2, "b": 2, "c": 1}
    assert held(path) == [2, 2, 1]
    assert path.stat().st_mode & 0o077 == 0


def test_memory_and_file_have_noise_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "state.hcs"
    stream = Stream(buckets=20_000, epsilon=1, path=path)
    sd = stream.terms.mechanism.sd()

    def step() -> float:
        there = np.frombuffer(path.read_bytes()[-8 * 20_000 :], "<i8")
        return float(np.std(stream._place.counters - there))

    assert step() == pytest.approx(sd, rel=0.1), "a new file has no noise, and no events"
    stream.flush()
    assert step() == pytest.approx(sd, rel=0.1)
    stream.merge(Stream.like(stream))
    assert step() == pytest.approx(sd, rel=0.1)
    stream.close()
    stream = Stream.load(path)
    assert step() == pytest.approx(sd, rel=0.1)
    stream.close()


def test_a_file_is_not_made_twice_nor_used_twice(tmp_path: Path, abc: Make) -> None:
    path = tmp_path / "state.hcs"
    with abc(path=path):
        with pytest.raises(UsageError, match="there already"):
            abc(path=path)
        with pytest.raises(UsageError, match="another process counts"):
            Stream.load(path)
    Stream.load(path).close()


@pytest.mark.parametrize("at", [0, 8, 12, 40, 4096, 8192, -1])
def test_one_changed_byte_is_noticed(tmp_path: Path, at: int, abc: Make) -> None:
    path = tmp_path / "state.hcs"
    abc(path=path).close()
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(UsageError, match="Nothing was changed"):
        Stream.load(path)


def test_a_file_that_is_cut_or_foreign_is_refused(tmp_path: Path, abc: Make) -> None:
    path = tmp_path / "state.hcs"
    abc(path=path).close()
    content = path.read_bytes()
    for wrong in (content[:-1], content[:100], b"", content + b"\0", b"PAR1" + content):
        path.write_bytes(wrong)
        with pytest.raises(UsageError):
            Stream.load(path)
    with pytest.raises(UsageError, match="No such file"):
        Stream.load(tmp_path / "nothing.hcs")


def test_terms_of_a_later_version_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, abc: Make
) -> None:
    path = tmp_path / "state.hcs"
    to_json = Terms.to_json
    later = b'{"decay": "1/2", '
    monkeypatch.setattr(Terms, "to_json", lambda self: to_json(self).replace(b"{", later, 1))
    abc(path=path).close()
    monkeypatch.undo()
    with pytest.raises(UsageError, match="another version"):
        Stream.load(path)


def test_a_killed_process_leaves_what_it_wrote_last(
    tmp_path: Path, abc: Make, counts: Read
) -> None:
    path = tmp_path / "state.hcs"
    child = os.fork()
    if child == 0:
        stream = abc(path=path)
        stream.update(["a"] * 5)
        stream.flush()
        stream.update(["a"])
        os._exit(0)  # as a kill does: nothing is closed
    os.waitpid(child, 0)
    with Stream.load(path) as stream:
        assert counts(stream)["a"] == 5


@pytest.mark.parametrize("end", ["", "del stream", "raise SystemExit(3)", "1 / 0"])
def test_a_stream_that_nobody_closed_is_written_when_python_ends(tmp_path: Path, end: str) -> None:
    path = tmp_path / "state.hcs"
    code = f"""if True:
        import headcount as hc
        stream = hc.Stream(groups=["a", "b", "c"], epsilon=60, path={str(path)!r})
        stream.update(["a", "c"])
        {end}
    """
    subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert held(path) == [1, 0, 1]


def test_a_copy_leaves_and_counting_goes_on_over_fresh_noise(tmp_path: Path) -> None:
    stream = Stream(buckets=20_000, epsilon=1, path=tmp_path / "state.hcs")
    before = np.array(stream._place.counters)
    stream.snapshot(tmp_path / "copy.hcs")
    assert stream.n_noises == 2
    steps = stream._place.counters - before
    assert np.std(steps) == pytest.approx(stream.terms.mechanism.sd(), rel=0.1)
    with Stream.at_rest(tmp_path / "copy.hcs") as copied:
        assert np.array_equal(copied._place.counters, before)
    with Stream.load(tmp_path / "copy.hcs") as restored:
        assert restored.n_noises == 2
        other = restored._place.counters - before
    assert np.count_nonzero(steps != other) > 5_000
    # The restored copy is a state now, and no longer a copy to write over.
    with pytest.raises(UsageError, match="no copy of this stream"):
        stream.snapshot(tmp_path / "copy.hcs")
    stream.close()


def test_a_file_at_rest_is_copied_merged_and_finished_without_a_draw_for_counting(
    tmp_path: Path, abc: Make, counts: Read
) -> None:
    path = tmp_path / "state.hcs"
    with abc(path=path) as stream:
        stream.update(["a"])
        other = Stream.like(stream, path=tmp_path / "other.hcs")
    other.close()
    before = path.read_bytes(), path.stat()
    with Stream.at_rest(path) as resting, pytest.raises(UsageError, match="opened at rest"):
        resting.update(["a"])
    assert (path.read_bytes(), path.stat()) == before
    with Stream.at_rest(path) as resting:
        resting.merge(tmp_path / "other.hcs")
        assert resting.n_noises == 3
    with Stream.at_rest(path) as resting:
        resting.snapshot(tmp_path / "copy.hcs")
    with Stream.at_rest(path) as resting:
        assert resting.n_noises == 4
        assert counts(resting) == {"a": 1, "b": 0, "c": 0}
        assert resting.n_noises == 5


def test_a_file_that_cannot_be_written_costs_nothing_but_the_draw(
    tmp_path: Path, abc: Make, counts: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "state.hcs"
    stream = abc(path=path)
    stream.update(["a"])

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        for call in (stream.flush, stream.close, lambda: stream.snapshot(tmp_path / "copy.hcs")):
            with pytest.raises(OutputError, match="the disk is full"):
                call()
    assert held(path) == [0, 0, 0]
    assert sorted(tmp_path.iterdir()) == [path]
    assert stream.n_noises == 3, "who saw what of a file that was not written is not known"
    assert counts(stream)["a"] == 1
    stream.close()


def test_a_file_that_went_away_or_was_replaced_is_not_written_over(
    tmp_path: Path, abc: Make
) -> None:
    path = tmp_path / "state.hcs"
    stream = abc(path=path)
    stream.update(["b"])
    path.rename(tmp_path / "elsewhere.hcs")
    for _ in range(2):
        with pytest.raises(OutputError, match="moved, removed or replaced"):
            stream.flush()
        path.write_text("something else")
    assert path.read_text() == "something else"
    stream.snapshot(tmp_path / "copy.hcs")
    assert held(tmp_path / "copy.hcs") == [0, 1, 0]
    path.unlink()
    (tmp_path / "elsewhere.hcs").rename(path)
    stream.close()
    assert held(path) == [0, 1, 0]


def test_a_copy_replaces_nothing_but_an_earlier_copy(
    tmp_path: Path, abc: Make, counts: Read
) -> None:
    other, table = tmp_path / "other.hcs", tmp_path / "table.parquet"
    table.write_bytes(b"PAR1 and so on")
    abc(path=other).close()
    with abc(path=tmp_path / "s.hcs") as stream:
        for path in (tmp_path / "s.hcs", other, table):
            before = path.read_bytes()
            with pytest.raises(UsageError, match="cannot be used"):
                stream.snapshot(path)
            assert path.read_bytes() == before
        for _ in range(2):
            stream.snapshot(tmp_path / "copy.hcs")
            stream.update(["a"])
    with Stream.load(tmp_path / "copy.hcs") as restored:
        assert counts(restored)["a"] == 1


def test_a_fork_holds_a_copy_and_is_refused(tmp_path: Path, abc: Make, counts: Read) -> None:
    for path in (None, tmp_path / "state.hcs"):
        stream = abc(path=path)
        child = os.fork()
        if child == 0:
            try:
                stream.update(["a"])
            except UsageError:
                stream.close()
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        if path is not None:
            with pytest.raises(UsageError, match="another process counts"):
                Stream.load(path)
        stream.update(["a"])
        assert counts(stream)["a"] == 1


def test_reseal_adds_one_draw(tmp_path: Path) -> None:
    for path in (None, tmp_path / "state.hcs"):
        stream = Stream(buckets=20_000, epsilon=1, path=path)
        before = np.array(stream._place.counters)
        stream.reseal()
        assert stream.n_noises == 2
        assert np.std(stream._place.counters - before) == pytest.approx(1.357, rel=0.1)


def read_state_at(path: Path) -> tuple[Terms, Counters]:
    with path.open("rb") as file:
        return read_state(file.fileno(), path)


def test_merge_adds_counts_and_draws(tmp_path: Path, abc: Make, counts: Read) -> None:
    first = abc(path=tmp_path / "first.hcs")
    first.update(["a", "b"])
    second = Stream.like(first, path=tmp_path / "second.hcs")
    second.update(["b"])
    second.close()
    third = Stream.like(first)
    third.update(["b", "c"])
    _, before = read_state_at(tmp_path / "second.hcs")
    first.merge(third, tmp_path / "second.hcs")
    terms, after = read_state_at(tmp_path / "second.hcs")
    assert terms.is_merged
    assert (after == before).all(), "no noise and no event is new in a part that is closed"
    assert first.n_noises == 3 + 1
    with pytest.raises(UsageError, match="closed"):
        third.update(["a"])
    with pytest.raises(UsageError, match="twice"):
        first.merge(tmp_path / "second.hcs")
    first.close()
    with pytest.raises(UsageError, match="was merged into another stream"):
        Stream.load(tmp_path / "second.hcs")
    with (
        Stream.at_rest(tmp_path / "second.hcs") as part,
        pytest.raises(UsageError, match="finish that one"),
    ):
        part.finish()
    with Stream.at_rest(tmp_path / "first.hcs") as merged:
        assert len(merged.terms.parts) == 3
        assert merged.n_noises == 3 + 1
        assert counts(merged) == {"a": 1, "b": 3, "c": 1}
        assert merged.n_noises == 3 + 2


def test_only_streams_of_the_same_terms_are_merged() -> None:
    stream = Stream(buckets=8, epsilon=1)
    for other, word in (
        (Stream(buckets=8, epsilon=1), "hash seed"),
        (Stream(buckets=9, epsilon=1, hash_seed=stream.hash_seed), "counters"),
        (Stream(buckets=8, epsilon=2, hash_seed=stream.hash_seed), "epsilon"),
        (
            Stream(buckets=8, epsilon=1, hash_seed=stream.hash_seed, neighbours="replace"),
            "neighbours",
        ),
    ):
        with pytest.raises(UsageError, match=word):
            stream.merge(other)
    with pytest.raises(UsageError, match="twice"):
        stream.merge(stream)
    assert stream.n_noises == 1


def test_a_stream_is_never_copied(abc: Make) -> None:
    stream = abc()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="never copied"):
            attempt(stream)


def test_large_states_are_handled_in_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("file", "places"):
        monkeypatch.setattr(f"headcount.streams.{module}.CHUNK", 7)
    with Stream(buckets=50, epsilon=BARE, path=tmp_path / "s.hcs") as stream:
        stream.update(np.arange(200))
        stream.reseal()
        stream.merge(Stream.like(stream))
        assert stream._place.counters.sum() == 200


def test_the_header_is_as_written(tmp_path: Path) -> None:
    path = tmp_path / "state.hcs"
    groups = [f"group {i} é" for i in range(3_000)]
    Stream(groups=groups, epsilon="1/3", path=path).close()
    with Stream.at_rest(path) as stream:
        assert read_terms(path) == stream.terms
        start = header(stream.terms)
    assert len(start) % 4096 == 0
    assert path.read_bytes().startswith(start)
    assert path.stat().st_size == len(start) + 4096 + 8 * 3_000


@pytest.mark.parametrize(
    "change",
    [
        {"n_noises": -1},
        {"n_noises": 1.5},
        {"n_counters": 4},
        {"n_counters": True},
        {"is_finished": 1},
        {"epsilon": "1/0"},
        {"epsilon": "0"},
        {"neighbours": "swap"},
        {"hash_seed": "07"},
        {"parts": "abc"},
        {"parts": [3]},
        {"groups": ["a", "a", "b"]},
        {"groups": {"a": 1}},
        {"more": 1},
    ],
    ids=str,
)
def test_terms_that_nobody_would_write_are_refused(
    tmp_path: Path, abc: Make, monkeypatch: pytest.MonkeyPatch, change: dict[str, object]
) -> None:
    to_json = Terms.to_json

    def changed(terms: Terms) -> bytes:
        return json.dumps(json.loads(to_json(terms)) | change).encode()

    monkeypatch.setattr(Terms, "to_json", changed)
    abc(path=tmp_path / "state.hcs").close()
    for read in (Stream.load, Stream.like):
        with pytest.raises(UsageError, match="another version"):
            read(tmp_path / "state.hcs")
