"""Arrow columns: every value is sound, or missing, and no other value changes."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headcount.errors import UsageError
from headcount.tables.sound import sound


def text(*values: bytes | None, kind: Any = None) -> pa.Array:
    as_bytes = pa.large_binary() if kind == pa.large_string() else pa.binary()
    return pa.array(values, as_bytes).view(kind or pa.string())


def one(column: Any) -> list[Any]:
    kept, others = sound(pa.table({"c": column}))
    assert not others
    return list(kept["c"].to_pylist())


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_text_that_is_not_utf8_is_missing(kind: Any) -> None:
    many = [b"ok %d" % i for i in range(1000)]
    many[17] = many[500] = b"\xff"
    got = one(text(*many, None, kind=kind))
    assert [i for i, value in enumerate(got) if value is None] == [17, 500, 1000]
    assert got[18] == "ok 18"


def test_chunks_and_slices() -> None:
    chunked = pa.chunked_array([text(b"a", b"\xff").slice(1), text(b"b"), text()])
    assert one(chunked) == [None, "b"]


def test_dictionaries_are_decoded() -> None:
    numbers = pa.array([0, 1, 5, -3, None], pa.int8())
    column = pa.DictionaryArray.from_arrays(numbers, text(b"ok", b"\xff"), safe=False)
    assert one(column) == ["ok", None, None, None, None]


def test_times_are_microseconds_rounded_down() -> None:
    def local(unit: str, *values: int) -> list[Any]:
        return one(pa.array(values, pa.int64()).view(pa.timestamp(unit)))

    last = datetime(1969, 12, 31, 23, 59, 59, 999_999)
    assert local("ns", -1, 1_999) == [last, datetime(1970, 1, 1, 0, 0, 0, 1)]
    assert local("s", 2**62, -62_135_596_801, -62_135_596_800) == [None, None, datetime(1, 1, 1)]
    assert local("ms", 253_402_300_800_000, 253_402_300_799_999) == [
        None,
        datetime(9999, 12, 31, 23, 59, 59, 999_000),
    ]
    zoned = pa.array([0, 2**63 - 1], pa.int64()).view(pa.timestamp("s", "America/New_York"))
    assert one(zoned) == [datetime(1970, 1, 1, tzinfo=UTC), None]


def test_days_and_numbers() -> None:
    days = pa.array([-1, 2**62 // 86_400_000 * 86_400_000], pa.int64()).view(pa.date64())
    assert one(days) == [date(1969, 12, 31), None]
    assert one(pa.array([1.5, None], pa.float16())) == [1.5, None]
    assert one(pa.array([Decimal("1.5")], pa.decimal32(5, 1))) == [Decimal("1.5")]


def test_a_decimal_beyond_its_precision_is_missing() -> None:
    wide = pa.array([Decimal(5), Decimal(10**20)], pa.decimal128(38, 0))
    narrow = pa.Array.from_buffers(pa.decimal128(3, 0), 2, wide.buffers())
    assert one(narrow) == [Decimal(5), None]


def test_what_cannot_be_counted_by_is_named() -> None:
    table = pa.table({"a": [1], "list": [[1]], "nothing": pa.nulls(1), "bytes": [b"x"]})
    kept, others = sound(table)
    assert kept.column_names == ["a"]
    assert others == ("list", "nothing", "bytes")


def test_buffers_that_do_not_fit_are_refused() -> None:
    backwards = pa.array([0, 2, 1], pa.int32()).buffers()[1]
    broken = pa.Array.from_buffers(pa.string(), 2, [None, backwards, pa.py_buffer(b"abc")])
    with pytest.raises(UsageError, match="not a valid Arrow table"):
        sound(pa.table({"c": broken}))
