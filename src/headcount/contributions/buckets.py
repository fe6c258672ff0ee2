"""Totals of groups where the data is: whole buckets of groups, each a question of its own.

A bucket is chosen by a hash of the group, which is public, and arrives whole and in the order of
its groups [WB1]. What is in it is known by a digest of the values, whatever batches they came in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headcount.contributions.group_totals import GroupTotals

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.contributions.tally import Tally
    from headcount.privacy.sensitivity import Sensitivity


@dataclass(frozen=True, slots=True)
class Bucket:
    """Some groups and their totals, as a question, and what their draw depends on."""

    number: int
    content: bytes = field(repr=False)
    """SHA-256 of the groups and their totals; private, as these are."""
    totals: GroupTotals = field(repr=False)


DrawBucket = Callable[[Bucket], "pa.Table"]


def write_buckets(
    tally: Tally, draw: DrawBucket, released: pa.Schema, folder: Path, n_files: int
) -> None:
    """Draw every bucket beside the data, into files of a folder; no total comes through here.

    draw:      what is published of a bucket, in columns ``released``; it is sent to the workers
    n_files:   into how many files, which is public
    """
    workers = tally.contributions.grouped.table.engine.workers()
    if workers is None:
        raise ValueError("this engine has no workers that draw")
    task = drawn_by(draw, tally.schema, tally.sensitivity)
    workers.write(tally.query(ordered=False), task, released, folder, n_files)


def drawn_by(
    draw: DrawBucket, schema: pa.Schema, sensitivity: Sensitivity
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a worker does: whole buckets in, what is published of them out."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for bucket in in_buckets(batches, schema, sensitivity):
            yield from draw(bucket).to_batches()

    return task


def in_buckets(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, sensitivity: Sensitivity
) -> Iterator[Bucket]:
    """Whole buckets, one at a time, from batches whose first column is the bucket's number.

    They are in the order of these numbers, so a bucket ends where another begins.
    """
    held: list[pa.RecordBatch] = []
    current = -1
    for batch in batches:
        numbers = np.asarray(batch.column(0))
        cuts = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
        for start, end in pairwise(cuts):
            if start == end:
                continue
            if held and int(numbers[start]) != current:
                yield _bucket(current, held, schema, sensitivity)
                held = []
            current = int(numbers[start])
            held.append(batch.slice(start, end - start))
    if held:
        yield _bucket(current, held, schema, sensitivity)


def _bucket(
    number: int, held: list[pa.RecordBatch], schema: pa.Schema, sensitivity: Sensitivity
) -> Bucket:
    import pyarrow as pa

    given = pa.Table.from_batches(held).columns[1:]
    columns = [column.cast(one.type) for column, one in zip(given, schema, strict=True)]
    true_rows = pa.Table.from_arrays(columns, schema=schema).combine_chunks()
    return Bucket(number, digest(true_rows), GroupTotals(sensitivity, partial(_same, true_rows)))


def _same(true_rows: pa.Table) -> pa.Table:
    return true_rows


def digest(true_rows: pa.Table) -> bytes:
    """SHA-256 of the values: not of how they lie in memory, nor of what is under a missing one."""
    state = hashlib.sha256(b"%d|%d|" % (true_rows.num_rows, true_rows.num_columns))
    for column in true_rows.columns:
        for part in _spelled(column):
            state.update(b"%d|" % len(part))
            state.update(part)
    return state.digest()


def _spelled(column: pa.ChunkedArray) -> Iterator[bytes]:
    import pyarrow as pa
    import pyarrow.compute as pc

    yield np.packbits(column.is_valid().to_numpy()).tobytes()
    if pa.types.is_string(column.type):
        values = column.fill_null("")
        yield pc.binary_length(values).to_numpy().tobytes()
        yield b"".join(map(_text, values.chunks))
        return
    if pa.types.is_date32(column.type):
        column = column.cast(pa.int32())
    elif not pa.types.is_integer(column.type):
        column = column.cast(pa.int64())
    yield column.fill_null(0).to_numpy().tobytes()


def _text(values: pa.StringArray) -> bytes:
    """All characters of an array, one text after the other."""
    _, ends, text = values.buffers()
    first, last = np.frombuffer(ends, np.int32)[[values.offset, values.offset + len(values)]]
    return bytes(memoryview(text)[first:last]) if last > first else b""
