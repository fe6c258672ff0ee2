"""One unsound cell of a Parquet file: nobody else's rows change, whatever their types are."""

from __future__ import annotations

import random
import struct
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headcount.errors import UsageError
from headcount.tables import open_table
from headcount.trials.reading import rows_read

BAD = pa.array([b"\xff"]).view(pa.string())
ENDS = [0, 1, -1, -1_001, 1_999, 2**62, -(2**62), 2**63 - 1, -(2**63) + 1, -(2**63)]
TIMES = [*ENDS, 9_223_372_036_854_775, -9_223_372_036_854_775, 1_700_000_000_000]


def whole(chooser: random.Random, n: int, kind: Any, ends: list[int]) -> pa.Array:
    bits = pa.int32() if kind == pa.date32() else pa.int64()
    values = [chooser.choice([*ends, None]) for _ in range(n)]
    return pa.array(values, bits).view(kind)


def decimals(chooser: random.Random, n: int, kind: Any) -> pa.Array:
    """Decimals, some of them beyond their precision."""
    raw = [chooser.choice([0, 7, -7, 10 ** (kind.precision - 1), 30_000]) for _ in range(n)]
    wide = pa.array([Decimal(value) for value in raw], pa.decimal128(38, 0))
    return pa.Array.from_buffers(kind, n, wide.buffers())


def columns(chooser: random.Random, n: int) -> dict[str, pa.Array]:
    """A column of every type that something can be counted by."""
    safe = [t for t in TIMES if abs(t) < 2**53]
    found = {
        f"{unit}{zone or ''}": whole(
            chooser, n, pa.timestamp(unit, zone), safe if unit == "ms" else TIMES
        )
        for unit in ("ms", "us", "ns")
        for zone in (None, "UTC", "Asia/Tokyo")
    }
    found["date"] = whole(chooser, n, pa.date32(), [0, -1, 2**31 - 1, -(2**31), 20_000])
    for precision in (3, 7, 15, 20, 38):
        found[f"decimal{precision}"] = decimals(chooser, n, pa.decimal128(precision, 1))
    doubles = [chooser.choice([1.5, float("nan"), None]) for _ in range(n)]
    found["float"] = pa.array(doubles, pa.float64())
    found["half"] = pa.array([chooser.choice([1.5, None]) for _ in range(n)], pa.float16())
    found["bool"] = pa.array([chooser.choice([True, False, None]) for _ in range(n)], pa.bool_())
    for kind in (pa.int8(), pa.int64(), pa.uint8(), pa.uint32()):
        found[str(kind)] = pa.array([chooser.choice([0, 5, None]) for _ in range(n)], kind)
    texts = [chooser.choice(["a", "é", "", "a\0b", None]) for _ in range(n)]
    found["text"] = pa.array(texts, pa.string())
    found["category"] = found["text"].dictionary_encode()
    return found


def read(path: Any) -> Counter[tuple[Any, ...]]:
    return rows_read(open_table(str(path), user="user"))


def unsound(table: pa.Table, name: str) -> pa.Table:
    """One more row, missing but for the user and an unsound cell."""
    row = {field.name: pa.nulls(1, field.type) for field in table.schema}
    row["user"] = pa.array(["eve"])
    row[name] = BAD if name in ("user", "text") else pa.array([2**62]).view(row[name].type)
    return pa.concat_tables([table, pa.table(row, schema=table.schema)])


@pytest.mark.parametrize("number", range(12))
def test_an_unsound_cell_changes_nobody_elses_rows(number: int, tmp_path: Path) -> None:
    chooser = random.Random(f"unsound {number}")
    n = chooser.choice([1, 5, 40])
    users = pa.array([f"u{i % 7}" for i in range(n)])
    table = pa.table({"user": users, **columns(chooser, n)})
    names = ["text", "user", "ms", "msUTC"]
    odd = unsound(table, names[number % 4])
    said: dict[str, Any] = {
        "row_group_size": chooser.choice([1, 3, 1000]),
        "use_dictionary": chooser.random() < 0.5,
        "store_decimal_as_integer": chooser.random() < 0.5,
        "use_deprecated_int96_timestamps": False,
        "compression": chooser.choice(["none", "zstd"]),
    }
    pq.write_table(table, tmp_path / "fine.parquet", **said)
    pq.write_table(odd, tmp_path / "odd.parquet", **said)
    without, with_cell = read(tmp_path / "fine.parquet"), read(tmp_path / "odd.parquet")
    assert not without - with_cell
    assert (with_cell - without).total() == (number % 4 != 1)  # without a user, no row


def written_int96(path: Path, days: int, nanoseconds: int, user: pa.Array) -> None:
    """Rows of any INT96, and one of 1970 whose user is given."""
    times = pa.array([111] * 3 + [0], pa.timestamp("ns"))
    users = pa.concat_arrays([pa.array(["a", "b", "c"]), user])
    pq.write_table(pa.table({"user": users, "t": times}), path, write_statistics=False,
                   use_deprecated_int96_timestamps=True, compression="none",
                   use_dictionary=False)  # fmt: skip
    stood, now = struct.pack("<qi", 111, 2440588), struct.pack("<qi", nanoseconds, days)
    path.write_bytes(path.read_bytes().replace(stood, now))


@pytest.mark.parametrize("days", [0, 2440588, 2440587, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("nanoseconds", [-1, 5, 2**63 - 1, -(2**63)])
def test_the_old_times_of_others_stay(days: int, nanoseconds: int, tmp_path: Path) -> None:
    written_int96(tmp_path / "fine.parquet", days, nanoseconds, pa.array(["eve"]))
    written_int96(tmp_path / "odd.parquet", days, nanoseconds, BAD)
    fine, odd = read(tmp_path / "fine.parquet"), read(tmp_path / "odd.parquet")
    assert (fine - odd).total() == 1
    assert set(fine - odd) == {row for row in fine if "eve" in row}


def test_damage_leaves_its_own_column_and_row_group_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    table = pa.table({"user": [f"u{i}" for i in range(20)], "x": ["y" * 50] * 20, "z": range(20)})
    pq.write_table(table, path, row_group_size=10, use_dictionary=False)
    at = pq.read_metadata(path).row_group(0).column(1)
    raw, end = bytearray(path.read_bytes()), at.data_page_offset + at.total_compressed_size
    raw[end - 20 : end] = b"\xff" * 20
    path.write_bytes(raw)
    found = read(path)
    assert found.total() == 20
    assert sum(row[1] is None for row in found) == 10
    assert {row[2] for row in found} == {str(i) for i in range(20)}


def test_several_files_are_mended_one_by_one(tmp_path: Path) -> None:
    for index, text in enumerate([b"a", b"\xff", b"c", b"\xfe"]):
        folder = tmp_path / f"day={index}"
        folder.mkdir()
        texts = pa.array([text, b"ok"]).view(pa.string())
        pq.write_table(pa.table({"user": ["u", "v"], "g": texts}), folder / "x.parquet")
    found = rows_read(open_table(str(tmp_path / "*" / "*.parquet"), user="user"))
    assert found == Counter(
        {(str(i), "ok", "v"): 1 for i in range(4)}
        | {(str(i), t, "u"): 1 for i, t in enumerate(["a", None, "c", None])}
    )


def refused(folder: Path, first: pa.Table, last: pa.Table | None, match: str) -> None:
    pq.write_table(first, folder / "1.parquet")
    if last is not None:
        pq.write_table(last, folder / "2.parquet")
    with pytest.raises(UsageError, match=match):
        open_table(str(folder / "*.parquet"), user="user")


def test_files_of_other_schemas_are_refused(tmp_path: Path) -> None:
    dotted = pa.table({"user": ["a"], "a.b": ["p"]})
    refused(tmp_path, dotted, pa.table({"user": ["b"], "a": [{"b": "q"}]}), "differ")
    spans = pa.table({"user": ["a"], "g": pa.array([5], pa.duration("ns"))})
    refused(tmp_path, spans, pa.table({"user": ["b"], "g": [7]}), "differ")


def test_names_that_cannot_be_told_apart_are_refused(tmp_path: Path) -> None:
    twice = pa.table([["a"], ["same"]], names=["user", "user"])
    refused(tmp_path, twice, None, "one name")
    with pytest.raises(UsageError, match="one name"):
        open_table(twice, user="user")
    nul = pa.table({"user": ["a"], "pa\0ge": ["x"]})
    refused(tmp_path, nul, None, "NUL|cannot be read")
    with pytest.raises(UsageError, match="NUL"):
        open_table(nul, user="user")
