"""Buckets arrive whole, and are known by their values, however these came."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headcount.contributions.buckets import Bucket, digest, drawn_by, in_buckets
from headcount.privacy.sensitivity import Sensitivity

SUM = Sensitivity.of_sum()
SCHEMA = pa.schema([("page", pa.string()), ("true_total", pa.int64())])
COLUMNS: dict[str, list[Any]] = {
    "text": ["a", None, "", "déjà", "a\0b"],
    "number": [1, None, 0, -5, 2**62],
    "flag": [True, None, False, True, False],
    "day": [date(2026, 1, 31), None, date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31)],
    "time": [datetime(2026, 1, 31, 5), None, datetime(1970, 1, 1), datetime(2, 1, 1), None],
    "true_total": [3, 1, 4, 1, 5],
}


def rows(sizes: list[int]) -> pa.Table:
    numbers = np.repeat(np.arange(len(sizes)) * 3, sizes)
    pages = [f"page {index}" for index in range(len(numbers))]
    return pa.table({"bucket": numbers, "page": pages, "true_total": np.arange(len(numbers)) % 50})


def cut(table: pa.Table, sizes: list[int]) -> Iterator[pa.RecordBatch]:
    start = 0
    for size in sizes:
        yield from table.slice(start, size).to_batches()
        start += size
    yield from table.slice(start).to_batches()


@pytest.mark.parametrize("sizes", [[], [1, 1, 1], [4, 0, 9], [40, 1], [5, 5, 5, 5]])
def test_buckets_are_whole_and_the_same_in_any_batches(sizes: list[int]) -> None:
    table = rows([7, 1, 12, 30])
    found = list(in_buckets(cut(table, sizes), SCHEMA, SUM))
    whole = list(in_buckets(iter(table.to_batches()), SCHEMA, SUM))
    assert [one.number for one in found] == [0, 3, 6, 9]
    assert [one.content for one in found] == [one.content for one in whole]
    assert [len(one.totals.query.ask()) for one in found] == [7, 1, 12, 30]
    every = pa.concat_tables(one.totals.every_name() for one in found)
    assert every.column("page").to_pylist() == table.column("page").to_pylist()


def test_nothing_is_no_bucket() -> None:
    assert list(in_buckets(iter([]), SCHEMA, SUM)) == []


def everything() -> pa.Table:
    return pa.table(COLUMNS)


def test_the_digest_is_of_values_and_not_of_memory() -> None:
    table = everything()
    padded = pa.concat_tables([table, table, table]).combine_chunks()
    chunked = pa.concat_tables([table.slice(0, 1), table.slice(1, 3), table.slice(4)])
    # Under a missing value there may be anything.
    under = pa.Array.from_buffers(
        pa.int64(), 5, [table["number"].chunk(0).buffers()[0], pa.py_buffer(np.arange(5))]
    )
    same = pa.array([1, 7, 0, -5, 2**62])
    masked = pa.Array.from_buffers(
        pa.int64(), 5, [table["number"].chunk(0).buffers()[0], same.buffers()[1]]
    )
    assert digest(chunked) == digest(padded.slice(5, 5)) == digest(table)
    assert digest(table.set_column(1, "number", masked)) == digest(table)
    assert digest(table.set_column(1, "number", under)) != digest(table)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("place", range(5))
def test_any_other_value_is_another_digest(name: str, place: int) -> None:
    changed = dict(COLUMNS)
    changed[name] = list(changed[name])
    before = changed[name][place]
    changed[name][place] = changed[name][0] if before is None else None
    other = pa.table(changed, schema=everything().schema)
    assert digest(other) != digest(everything())


def test_texts_do_not_run_into_each_other() -> None:
    ways = [["ab", "c"], ["a", "bc"], ["abc", ""], [None, "abc"]]
    tables = [pa.table({"page": pa.array(way), "true_total": [1, 1]}) for way in ways]
    assert len({digest(table) for table in tables}) == 4


def test_a_task_gives_what_is_drawn_of_each_bucket() -> None:
    def draw(bucket: Bucket) -> pa.Table:
        return bucket.totals.every_name().slice(0, 1)

    task = drawn_by(draw, SCHEMA, SUM)
    given = pa.Table.from_batches(task(cut(rows([3, 4]), [2, 2])))
    assert given.column("page").to_pylist() == ["page 0", "page 3"]
    assert "content" not in repr(next(in_buckets(cut(rows([1]), []), SCHEMA, SUM)))
