"""One event moves one counter by one, whatever else is in the same read.

The promise of a stream is for one event, so this is its sensitivity: lines with one line taken out
give counters that differ by one in one place, or not at all.
"""

from __future__ import annotations

import io
import json
import os
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headcount.streams import lines
from headcount.streams.json_lines import Field
from headcount.streams.lines import add_lines
from headcount.streams.stream import Stream

EXAMPLES = int(os.environ.get("HEADCOUNT_EXAMPLES", "150"))
BARE = 60
SEED = "00112233445566778899aabbccddeeff"

pieces = st.sampled_from(
    ["{", "}", '"page"', '"pag"', '"e"', ":", ": ", " ", ",", '"', "\\", "a", "[", "]", "7", "0",
     "12345678", "null", "true", "\r", "é", '{"page": "a"}', '{"page":"b"}', '{"page": 12}',
     '"x": 1, ', '"\\u0070age"']
)  # fmt: skip
broken = st.lists(pieces, max_size=9).map("".join)
plain_values: Any = st.one_of(
    st.text(max_size=12), st.integers(-5, 10**9), st.booleans(), st.none(), st.floats(width=16)
)
records = st.dictionaries(
    st.sampled_from(["page", "x", "pa", "page ", '"page"']),
    st.one_of(plain_values, st.lists(plain_values, max_size=2)),
    max_size=3,
).flatmap(
    lambda record: st.sampled_from(
        [
            json.dumps(record),
            json.dumps(record, ensure_ascii=False, separators=(",", ":")),
            json.dumps({"outer": record}),
        ]
    )
)
raw_lines = st.lists(
    st.one_of(broken, records, st.text(max_size=20)).map(
        lambda text: text.encode("utf-8", "surrogatepass").replace(b"\n", b" ")
    ),
    max_size=12,
)


def counted(events: list[bytes], field: str | None, block: int) -> Any:
    before, lines.BLOCK = lines.BLOCK, block
    out, into = os.pipe()
    os.write(into, b"".join(event + b"\n" for event in events))
    os.close(into)
    try:
        with Stream(buckets=997, epsilon=BARE, hash_seed=SEED) as stream:
            add_lines(stream, out, field=field)
            return np.array(stream._place.counters)
    finally:
        os.close(out)
        lines.BLOCK = before


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    raw_lines,
    st.integers(0, 11),
    st.sampled_from([None, "page", 'a"b']),
    st.sampled_from([16, 4096]),
)
@example([b'{"page": "a"}', b'{"page": "a"}{"page": "b"}', b"no"], 2, "page", 4096)
@example([b'{"page": "a"}', b'{"page": "a", "page": "b"}', b'{"page": [}'], 2, "page", 4096)
def test_one_line_is_one_event(
    events: list[bytes], left_out: int, field: str | None, block: int
) -> None:
    whole = counted(events, field, block)
    if left_out < len(events):
        rest = counted(events[:left_out] + events[left_out + 1 :], field, block)
        apart = np.abs(whole - rest)
        assert apart.sum() <= 1
    one_by_one = sum((counted([event], field, block) for event in events), np.zeros_like(whole))
    assert np.array_equal(whole, one_by_one)


def by_the_block(_field: Field, stream: Stream, data: Any, end: int) -> None:
    """The control: a fast parser for the whole read, a patient one when it fails."""
    block = data[:end].tobytes()
    try:
        stream.update(pyarrow.json.read_json(io.BytesIO(block)).column("page"))
    except pa.ArrowInvalid:
        stream.update([Field("page").parsed(line) for line in block.splitlines()])


def test_a_parser_of_whole_reads_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [b'{"page": "a"} {"page": "b"}'] * 5 + [b"{"]
    for adder, most in ((lines._add_json, 1), (by_the_block, 10)):
        monkeypatch.setattr(lines, "_add_json", adder)
        apart = counted(events, "page", 4096) - counted(events[:-1], "page", 4096)
        assert np.abs(apart).sum() <= most
        assert (np.abs(apart).sum() > 1) == (adder is by_the_block)


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.lists(records, min_size=1, max_size=8))
def test_lines_that_are_json_give_what_python_reads(texts: list[str]) -> None:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    data = np.frombuffer(b"".join(line + b"\n" for line in encoded) + bytes(16), np.uint8)
    lengths = np.array([len(line) for line in encoded])
    ends = np.cumsum(lengths + 1) - 1
    field = Field("page")
    begins, sizes, others = field.values(data, ends - lengths, ends)
    found = [data[a : a + n].tobytes() for a, n in zip(begins, sizes, strict=True)] + others
    expected = [value for line in encoded if (value := field.parsed(line)) is not None]
    assert sorted(found) == sorted(expected)


@settings(max_examples=EXAMPLES, deadline=None)
@given(
    st.lists(st.one_of(plain_values, st.binary(max_size=5), st.just(object())), max_size=12),
    st.integers(0, 11),
)
def test_one_value_is_one_event(values: list[Any], left_out: int) -> None:
    states = []
    for chosen in (values, values[:left_out] + values[left_out + 1 :]):
        with Stream(buckets=997, epsilon=BARE, hash_seed=SEED) as stream:
            stream.update(chosen)
            states.append(np.array(stream._place.counters))
    assert np.abs(states[0] - states[1]).sum() <= 1
