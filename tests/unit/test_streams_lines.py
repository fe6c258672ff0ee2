"""Reading lines and JSON from a pipe: what is an event, and what is left behind."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from headcount.streams import lines
from headcount.streams.lines import add_lines
from headcount.streams.stream import Stream

BARE = 60


def piped(*parts: bytes, groups: list[str], field: str | None = None, wait: float = 0) -> list[int]:
    """The counts of what comes through a pipe in these parts."""
    out, into = os.pipe()

    def write() -> None:
        for part in parts:
            os.write(into, part)
            time.sleep(wait)
        os.close(into)

    writer = threading.Thread(target=write)
    writer.start()
    with Stream(groups=groups, epsilon=BARE) as stream:
        add_lines(stream, out, field=field)
        counted = stream._place.counters.tolist()
    writer.join()
    os.close(out)
    return counted


def test_lines_are_events() -> None:
    assert piped(b"a\nb\na\n\nc\n", groups=["a", "b"]) == [2, 1]
    assert piped(b"a\r\nb\r\n\r\na", groups=["a", "b"]) == [2, 1]
    assert piped(b"", groups=["a"]) == [0]
    assert piped(b"\n\n\n", groups=["a"]) == [0]
    assert piped(b"a b\t c\n", groups=["a b\t c"]) == [1]
    assert piped(b"\xff\xfe\na\n", groups=["a"]) == [1]


def test_lines_that_come_in_pieces_are_one_event() -> None:
    pieces = [b"al", b"pha\nbe", b"ta\nalpha", b"\n", b"beta"]
    assert piped(*pieces, groups=["alpha", "beta"], wait=0.02) == [2, 2]


def test_a_line_longer_than_the_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK", 64)
    long = b"x" * 5_000
    counted = piped(long + b"\na\n" + long + b"\n" + b"a" * 10, groups=["a", "x" * 5_000])
    assert counted == [1, 2]


def test_blocks_of_every_size_count_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [str(i % 37) for i in range(2_000)]
    text = "\n".join(values).encode()
    groups = sorted({*values})
    expected = [values.count(group) for group in groups]
    for block in (16, 61, 1_000, 1 << 16):
        monkeypatch.setattr(lines, "BLOCK", block)
        assert piped(text, groups=groups) == expected


def test_json_takes_one_field() -> None:
    text = b'{"page": "a", "n": 1}\n{"n": 2}\n{"page": null}\n{"x": {"page": "b"}, "page": "b"}\n'
    assert piped(text, groups=["a", "b"], field="page") == [1, 1]
    assert piped(b'{"page": "\\u00e9"}\n', groups=["é"], field="page") == [1]
    assert piped(b'{"other": 1}\n', groups=["a"], field="page") == [0]


def test_json_that_is_none_or_of_another_kind_is_dropped_or_read_as_text() -> None:
    text = b'{"page": "a"}\nno json\n{"page": 7}\n[1]\n{"page": true}\n{"page": ["a"]}\n"a"\n{"pa'
    assert piped(text, groups=["7", "a", "true"], field="page") == [1, 1, 1]
    assert piped(b"\xff\n" + b'{"page": "a"}\n', groups=["a"], field="page") == [1]


def test_the_buffer_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    add = lines._add_block

    def spy(stream: Stream, data: np.ndarray, end: int) -> None:
        seen.append(data)
        add(stream, data, end)

    monkeypatch.setattr(lines, "_add_block", spy)
    assert piped(b"secret\n" * 100, groups=["secret"]) == [100]
    assert seen
    assert not any(data.any() for data in seen)


def test_a_file_can_be_read_too(tmp_path: Path) -> None:
    source = tmp_path / "lines"
    source.write_bytes(b"a\n" * 300_000)
    descriptor = os.open(source, os.O_RDONLY)
    with Stream(groups=["a"], epsilon=BARE) as stream:
        add_lines(stream, descriptor)
        assert stream._place.counters.tolist() == [300_000]
    os.close(descriptor)


class Hands:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


def test_the_clock_that_writes_by_leaves_no_step_out(monkeypatch: pytest.MonkeyPatch) -> None:
    hands = Hands()
    monkeypatch.setattr(lines, "time", hands)
    clock = lines.Clock(10.0)
    assert (clock.wait(), clock.n_due()) == (10.0, 0)
    hands.now += 7  # a line came
    clock.go_on()
    assert (clock.wait(), clock.n_due()) == (3.0, 0)
    hands.now += 3
    assert (clock.wait(), clock.n_due()) == (0.0, 1)
    hands.now += 25  # a line that took long to read
    assert clock.n_due() == 2
    clock.go_on()
    assert clock.wait() == 5.0
    hands.now += 5
    assert clock.n_due() == 1
    hands.now += 31  # a write that took longer than a step, whatever was counted
    clock.go_on()
    assert (clock.wait(), clock.n_due()) == (10.0, 0)
    assert lines.Clock(None).wait() is None
    assert lines.Clock(None).n_due() == 0
