"""Streams: what is counted, what is published, and what is refused."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.errors import UsageError
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.pan_private import PanPrivate, one_event
from headcount.privacy.neighbours import Neighbours
from headcount.streams.output import TOO_FEW, StreamFrequencies, run_lengths
from headcount.streams.stream import Stream
from headcount.trials.given import given
from headcount.trials.seam import Recorder

Make = Callable[..., Stream]
Read = Callable[[Stream], dict[str, int]]
BARE = 60
"""An epsilon at which noise other than 0 has a chance of e**-60: counts come out as they are."""


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b", "a", None, "no group"],
        pa.array(["a", "b", "a", None, "no group"]),
        pa.chunked_array([["a"], [], ["b", None], ["a", "no group"]]),
        pa.array(["x", "a", "b", "a"])[1:],
        pa.array(["a", "b", "a", None]).dictionary_encode(),
        pa.array([b"a", b"b", b"a"]),
        pa.record_batch({"page": ["a", "b", "a"]}),
        np.array(["a", "b", "a"]),
    ],
    ids=lambda values: type(values).__name__,
)
def test_values_of_every_kind_are_counted(values: object, abc: Make, counts: Read) -> None:
    stream = abc()
    stream.update(values)
    assert counts(stream) == {"a": 2, "b": 1, "c": 0}


def test_numbers_are_counted_by_their_text(counts: Read) -> None:
    stream = Stream(groups=["-3", "7", "true"], epsilon=BARE)
    stream.update([7, -3, 7])
    stream.update([True, False])
    stream.update(np.array([7], np.uint8))
    stream.update([])
    stream.update([None])
    assert counts(stream) == {"-3": 1, "7": 3, "true": 1}


@pytest.mark.parametrize(
    "values",
    ["text", b"text", {"a": 1}, 7, np.array([1.5]), pa.array([1.5]), pa.array([["a"]])],
)
def test_a_column_of_another_kind_is_refused_without_quoting_it(values: object, abc: Make) -> None:
    with pytest.raises(UsageError) as refusal:
        abc().update(values)
    assert "Nothing was counted" in str(refusal.value)
    assert "1.5" not in str(refusal.value)
    assert "text'" not in str(refusal.value)


def test_a_value_of_another_kind_has_no_say_in_the_others(counts: Read) -> None:
    for strange in (
        1.5,
        float("nan"),
        ["a"],
        object(),
        datetime(2026, 1, 1),
        2**80,
        10**9999,
        "\ud800",
    ):
        stream = Stream(groups=["a", "7", "true", "2026-01-01"], epsilon=BARE)
        stream.update(["a", 7, strange, True, date(2026, 1, 1), b"a"])
        assert counts(stream) == {"a": 2, "7": 1, "true": 1, "2026-01-01": 1}


def test_long_values_and_short_ones_have_one_counter_each(counts: Read) -> None:
    groups = ["x" * n for n in (1, 7, 8, 9, 16, 17, 1023, 1024, 1025, 5000)] + ["é", "日本"]
    stream = Stream(groups=groups, epsilon=BARE)
    for times, group in enumerate(groups, start=1):
        stream.update([group] * times)
    assert counts(stream) == {group: times for times, group in enumerate(groups, start=1)}


def test_every_counter_has_noise_before_the_first_event() -> None:
    stream = Stream(buckets=50_000, epsilon=1)
    state = stream._place.counters
    assert np.std(state) == pytest.approx(stream.terms.mechanism.sd(), rel=0.05)
    assert np.count_nonzero(state) / len(state) == pytest.approx(0.538, abs=0.02)


def test_two_streams_share_no_noise() -> None:
    states = [Stream(buckets=1_000, epsilon="0.01")._place.counters for _ in range(2)]
    assert np.count_nonzero(states[0] == states[1]) < 50


def test_the_output_has_a_draw_of_its_own_and_is_taken_once(tmp_path: Path) -> None:
    path = tmp_path / "state.hcs"
    stream = Stream(groups=[str(i) for i in range(1_000)], epsilon=1, path=path)
    state = np.array(stream._place.counters)
    output = stream.finish()
    assert np.count_nonzero(output.to_arrow()["count"].to_numpy() != state) > 400
    for closed in (
        stream.finish,
        stream.reseal,
        lambda: stream.update(["1"]),
        lambda: stream.merge(path),
    ):
        with pytest.raises(UsageError, match="finished"):
            closed()
    assert stream.output().to_arrow().equals(output.to_arrow())
    stream.close()
    with Stream.load(path) as again:
        assert again.output().to_arrow().equals(output.to_arrow())
        with pytest.raises(UsageError, match="finished"):
            again.finish()


def test_output_without_fresh_noise_says_what_it_costs(abc: Make) -> None:
    stream = abc(epsilon=1)
    state = np.array(stream._place.counters)
    output = stream.finish(fresh_noise=False)
    assert output.to_arrow()["count"].to_pylist() == state.tolist()
    assert "exposes what was counted after" in stream.describe()


def test_there_is_no_output_before_the_end(abc: Make) -> None:
    with pytest.raises(UsageError, match="still counting"):
        abc().output()


def test_error_bars_hold_the_law_of_all_draws() -> None:
    for epsilon in ("0.01", "1", "3"):
        for n in (1, 2, 100):
            mechanism = PanPrivate.calibrate(one_event(Neighbours.ADD_REMOVE), Fraction(epsilon))
            drawn = sum(
                mechanism.draw(given(mechanism.sensitivity, np.zeros(40_000, np.int64)), Drawn())
                for _ in range(n)
            )
            width = mechanism.error_bound(0.95, n)
            inside = np.mean(np.abs(drawn) <= width)
            assert inside > 0.945
            assert np.mean(np.abs(drawn) <= width - 1) < 0.955
            assert np.std(drawn) == pytest.approx(mechanism.sd(n), rel=0.03)


def test_replacement_has_twice_the_scale() -> None:
    assert Stream(buckets=1, epsilon=1).terms.mechanism.scale == 1
    replaced = Stream(buckets=1, epsilon=1, neighbours="replace").terms.mechanism
    assert replaced.scale == 2
    assert replaced.epsilon == 1


def test_threads_lose_no_event() -> None:
    stream = Stream(buckets=1_000_000, epsilon=BARE)
    values = pa.array([str(i % 50) for i in range(2_000)])

    def count() -> None:
        for _ in range(20):
            stream.update(values)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stream._place.counters.sum() == 4 * 20 * 2_000


def test_frequencies_of_buckets(tmp_path: Path) -> None:
    path = tmp_path / "state.hcs"
    stream = Stream(buckets=6_000, epsilon=8, path=path)
    stream.update([str(i % 500) for i in range(1_500)])
    output = stream.finish()
    assert isinstance(output, StreamFrequencies)
    rows = output.to_arrow()
    assert output.distinct().value == pytest.approx(500, abs=25)
    assert dict(zip(*(rows[name].to_pylist() for name in ("count", "groups")), strict=True))[
        3
    ] == pytest.approx(500, abs=40)
    assert "epsilon 8 for one event" in repr(output)
    assert "account" not in repr(output)
    assert output.write(tmp_path / "out.parquet").exists()
    assert output.write(tmp_path / "out.csv").exists()
    stream.close()
    with Stream.load(path) as again:
        assert again.output().to_arrow().equals(rows)
        refitted = again.output(method="l1")
        assert isinstance(refitted, StreamFrequencies)
        assert refitted.distinct().value == pytest.approx(500, abs=100)


@pytest.mark.parametrize(
    ("terms", "fix"),
    [
        ({"epsilon": 1}, "buckets=100_000"),
        ({"groups": ["a"], "buckets": 3, "epsilon": 1}, "either groups or buckets"),
        ({"buckets": 0, "epsilon": 1}, "buckets=100_000"),
        ({"buckets": True, "epsilon": 1}, "buckets=100_000"),
        ({"buckets": 2.5, "epsilon": 1}, "buckets=100_000"),
        ({"buckets": 2**32 + 1, "epsilon": 1}, "buckets=100_000"),
        ({"buckets": 3, "epsilon": 0}, "epsilon=1"),
        ({"buckets": 3, "epsilon": -1}, "epsilon=1"),
        ({"buckets": 3, "epsilon": "1e-9"}, "epsilon=1"),
        ({"buckets": 3, "epsilon": 10_000}, "epsilon=1"),
        ({"buckets": 3, "epsilon": float("nan")}, "epsilon=1"),
        ({"buckets": 3, "epsilon": None}, "epsilon=1"),
        ({"buckets": 3, "epsilon": [1]}, "epsilon=1"),
        ({"groups": "abc", "epsilon": 1}, "groups=['home', 'help']"),
        ({"groups": ["a", "a"], "epsilon": 1}, "'a' twice"),
        ({"groups": ["7", 7], "epsilon": 1}, "'7' twice"),
        ({"groups": [], "epsilon": 1}, "groups=['home', 'help']"),
        ({"groups": ["a", None], "epsilon": 1}, "groups=['home', 'help']"),
        ({"groups": ["a", 1.5], "epsilon": 1}, "groups=['home', 'help']"),
        ({"groups": ["a\0b"], "epsilon": 1}, "groups=['home', 'help']"),
        ({"groups": ["\ud800"], "epsilon": 1}, "groups=['home', 'help']"),
        ({"groups": {"a": 1}, "epsilon": 1}, "groups=['home', 'help']"),
        ({"buckets": 3, "epsilon": 1, "neighbours": "swap"}, "neighbours='add-remove'"),
        ({"buckets": 3, "epsilon": 1, "neighbours": None}, "neighbours='add-remove'"),
        ({"buckets": 3, "epsilon": 1, "hash_seed": "07"}, "other.hash_seed"),
        ({"buckets": 3, "epsilon": 1, "hash_seed": 7}, "other.hash_seed"),
        ({"buckets": 3, "epsilon": 1, "path": 3}, "path='pages.hcs'"),
        ({"buckets": 3, "epsilon": 1, "path": ""}, "path='pages.hcs'"),
        ({"buckets": 3, "epsilon": 1, "path": "/"}, "path='pages.hcs'"),
        ({"buckets": 3, "epsilon": 1, "path": "a\0b"}, "path='pages.hcs'"),
        ({"buckets": 3, "epsilon": 1, "path": "/nowhere/s.hcs"}, "Make the folder first"),
        ({"buckets": 3, "epsilon": 1, "path": "/tmp"}, "Choose another name"),
    ],
    ids=str,
)
def test_terms_that_make_no_sense_are_refused_with_a_fix(
    terms: dict[str, object], fix: str
) -> None:
    with pytest.raises(UsageError) as refusal:
        Stream(**terms)  # type: ignore[arg-type]
    assert fix in str(refusal.value)
    assert "Nothing was" in str(refusal.value)


def test_groups_are_spelled_as_their_events_are(counts: Read) -> None:
    stream = Stream(groups=[7, True, date(2026, 1, 1), "a"], epsilon=BARE)
    stream.update([7, "7", True, date(2026, 1, 1), "2026-01-01"])
    assert counts(stream) == {"2026-01-01": 2, "7": 2, "a": 0, "true": 1}


def test_calls_that_make_no_sense_are_refused_and_draw_nothing(abc: Make, tmp_path: Path) -> None:
    stream: Any = abc()
    hashed: Any = Stream(buckets=8, epsilon=1)
    kind: Any = Stream
    calls: list[Callable[[], object]] = [
        lambda: kind.load(3),
        lambda: kind.load(tmp_path),
        lambda: kind.at_rest(None),
        lambda: kind.like(b"x"),
        lambda: stream.merge(3),
        lambda: stream.merge(hashed),
        lambda: stream.snapshot(None),
        lambda: stream.snapshot(tmp_path),
        lambda: stream.snapshot(tmp_path / "nowhere" / "copy.hcs"),
        lambda: stream.snapshot(tmp_path / ("x" * 300)),
        lambda: stream.finish(fresh_noise=1),
        lambda: stream.finish(confidence="high"),
        lambda: stream.finish(confidence=True),
        lambda: stream.finish(colour="red"),
        lambda: hashed.finish(n_events=-1),
        lambda: hashed.finish(method=3),
    ]
    for call in calls:
        with pytest.raises(UsageError, match="Nothing was"):
            call()
    assert stream.n_noises == hashed.n_noises == 1


def test_options_are_refused_before_the_output_is_taken(abc: Make) -> None:
    stream = abc()
    for options in ({"confidence": 1.0}, {"method": "l1"}, {"n_events": 3}):
        with pytest.raises(UsageError):
            stream.finish(**options)
    hashed = Stream(buckets=8, epsilon=1)
    with pytest.raises(UsageError, match="one of"):
        hashed.finish(method="guess")
    with pytest.raises(UsageError, match="replace"):
        hashed.finish(n_events=3)
    for _ in range(3):
        hashed.reseal()
    with pytest.raises(UsageError, match="draws of noise"):
        hashed.finish(method="l1")
    assert not stream.terms.is_finished
    assert not hashed.terms.is_finished


def test_what_is_printed_holds_no_count(abc: Make) -> None:
    stream = abc()
    stream.update(["a"] * 777)
    assert "777" not in repr(stream) + stream.describe() + repr(stream.terms)
    for promised in ("at any moment", "together: still epsilon", "c times", "two moments"):
        assert promised in stream.describe()


def test_buckets_hold_every_event() -> None:
    stream = Stream(buckets=1_000, epsilon=BARE)
    stream.update([str(i) for i in range(5_000)])
    stream.update(np.arange(5_000))
    state = stream._place.counters
    assert state.sum() == 10_000
    assert not (state % 2).any(), "one value, one bucket"


def test_too_few_buckets_show_their_loads_and_say_so() -> None:
    stream = Stream(buckets=40, epsilon=8)
    stream.update([str(i) for i in range(400)])
    output = stream.finish()
    assert output.facts.notes[0] == TOO_FEW
    assert isinstance(output, StreamFrequencies)
    assert output.distinct().value == pytest.approx(40, abs=2)


def test_run_lengths_over_several_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headcount.streams.file.CHUNK", 7)
    values = np.array([3, -1, 3, 5, 5, 5, 0, 0, -1, 3, 9], np.int64)
    found, times = run_lengths(values)
    assert found.tolist() == [-1, 0, 3, 5, 9]
    assert times.tolist() == [2, 2, 3, 3, 1]


def test_every_draw_comes_from_the_chance_of_the_class(tmp_path: Path) -> None:
    recorder = Recorder()

    class Recorded(Stream):
        _chance = recorder

    def drawn(n: int) -> bool:
        """Whether so many draws on both counters came since the last time."""
        n_values = [len(one.true_values) for one in recorder.draws]
        recorder.asked.clear()
        return n_values == [2] * n

    path, other = tmp_path / "a.hcs", tmp_path / "b.hcs"
    stream: Stream = Recorded(groups=["a", "b"], epsilon=1, path=path)
    assert drawn(1)
    Recorded.like(stream, path=other).close()
    assert drawn(1)
    stream.flush()
    stream.snapshot(tmp_path / "copy.hcs")
    stream.reseal()
    assert drawn(3)
    stream.merge(other)
    assert drawn(1)
    stream.close()
    assert drawn(0)
    stream = Recorded.load(path)
    assert type(stream) is Recorded
    assert drawn(1)
    stream.finish()
    assert drawn(1)
    assert Stream._chance is not recorder
