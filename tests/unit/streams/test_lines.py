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


@pytest.mark.parametrize("field", [None, "page"])
@pytest.mark.parametrize("block", [1, 7, 64, 1 << 18])
def test_a_line_that_is_too_long_is_dropped_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, block: int, field: str | None
) -> None:
    """By its length alone: wherever it lies in the buffer, and whatever is in it."""
    monkeypatch.setattr(lines, "BLOCK", block)
    monkeypatch.setattr(lines, "LONGEST_LINE", 100)

    def line(value: bytes, length: int = 0) -> bytes:
        if field is None:
            return value * max(1, length // len(value))
        return (b'{"page": "%s"' % value).ljust(length - 1) + b"}"

    short, longest = line(b"b") + b"\n", line(b"a", 100)
    groups = [longest.decode() if field is None else "a", "b"]
    for bad in (line(b"a", 101), line(b"a", 1_000), b'"[{' * 50, b"\r" * 101, longest + b"\r"):
        assert piped(bad, groups=groups, field=field) == [0, 0]
        assert piped(short + bad, groups=groups, field=field) == [0, 1]
        assert piped(bad + b"\n" + short + longest, groups=groups, field=field) == [1, 1]
        between = longest + b"\n" + bad + b"\r\n" + bad + b"\n" + short
        assert piped(between * 3, groups=groups, field=field) == [3, 3]


def test_a_long_line_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    held = []
    take = lines._kept

    def spy(data: np.ndarray, begin: int, end: int) -> int:
        held.append(len(data))
        return take(data, begin, end)

    monkeypatch.setattr(lines, "_kept", spy)
    assert piped(b"x" * 5_000_000 + b"\na\n", groups=["a"]) == [1]
    assert len(held) > 10
    assert max(held) < lines.BLOCK + lines.LONGEST_LINE + 100


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
