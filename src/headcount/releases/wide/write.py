"""Rows into the files of a private folder, and the files read back."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from headcount.contributions.buckets import Bucket, write_buckets
from headcount.errors import UsageError
from headcount.mechanisms.bucket_chance import bucket_chance
from headcount.privacy.argument import NOTHING
from headcount.releases.rows import EachGroup, Part
from headcount.results.wide import WideFile, manifest_of

if TYPE_CHECKING:
    from headcount.contributions.tally import Tally
    from headcount.mechanisms.chance import Chance
    from headcount.releases.session import Answer, Session
    from headcount.releases.wide.place import Staging
    from headcount.releases.wide.wide import Wide
    from headcount.tables.engine import Engine

DEFAULT_FILES = 16
ROWS_PER_GROUP = 1 << 17
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class BucketDraw:
    """What is sent to workers: how to draw, and the secret key of this run."""

    each: EachGroup
    schema: pa.Schema
    key: bytes = field(repr=False)

    def __call__(self, bucket: Bucket) -> pa.Table:
        """What is published of one bucket, the same whenever it is drawn [WB3]."""
        chance = bucket_chance(self.key, bucket.number, bucket.content)
        return self.each.draw(Part(self.schema, bucket.totals), chance)


def files_for(engine: Engine, asked: int | None) -> int:
    """Into how many files: as asked, where there are workers to write them."""
    if engine.workers() is not None:
        return DEFAULT_FILES if asked is None else asked
    if asked not in (None, 1):
        raise UsageError(
            f"files={asked} is for Spark, whose executors write side by side; on {engine.name} all "
            f"rows go through one process, into one file. Leave files= out. {NOTHING}"
        )
    return 1


def check_workers(engine: Engine, staging: Staging) -> None:
    """Refuse, before anything is charged, where those who draw cannot write here."""
    workers = engine.workers()
    if workers is not None:
        workers.check(staging.path, staging.n_files)


def write(wide: Wide, session: Session, staging: Staging, key: bytes) -> Answer:
    """Count, draw and write all rows; what is handed back is the list of the files.

    key: a secret of this run alone, for whoever draws beside the data
    """
    true_tally = wide.tally(session)
    released = wide.each.schema(true_tally.schema)
    if session.store.engine.workers() is None:
        _stream(true_tally, wide.each, session.chance, released, staging.files)
    else:
        draw = BucketDraw(wide.each, true_tally.schema, key)
        write_buckets(true_tally, draw, released, staging.files, staging.n_files)
    return wide.described(manifest_of(_read_back(staging.files, released, staging.n_files)))


def _stream(
    true_tally: Tally, each: EachGroup, chance: Chance, released: pa.Schema, folder: Path
) -> None:
    """One file, in the order of the groups; its row groups are cut by rows that are published."""
    folder.mkdir()
    drawn = (
        each.draw(Part(true_tally.schema, part), chance) for part in true_tally.parts(ordered=True)
    )
    with pq.ParquetWriter(folder / "part-00000.parquet", released, compression="zstd") as writer:
        for rows in _regrouped(drawn, released):
            writer.write_table(rows, row_group_size=ROWS_PER_GROUP)


def _regrouped(tables: Iterator[pa.Table], schema: pa.Schema) -> Iterator[pa.Table]:
    held = schema.empty_table()
    for table in tables:
        held = pa.concat_tables([held, table.cast(schema)])
        while held.num_rows >= ROWS_PER_GROUP:
            yield held.slice(0, ROWS_PER_GROUP)
            held = held.slice(ROWS_PER_GROUP)
    if held.num_rows:
        yield held


def _read_back(folder: Path, released: pa.Schema, n_files: int) -> list[WideFile]:
    """Every file as it lies there: all of its rows are read, and none of its bytes is unknown."""
    paths = sorted(folder.iterdir())
    if [path.name for path in paths] != [f"part-{number:05}.parquet" for number in range(n_files)]:
        raise ValueError("other files than were written")
    return [_as_it_lies(path, released) for path in paths]


def _as_it_lies(path: Path, released: pa.Schema) -> WideFile:
    state, n_bytes = hashlib.sha256(), 0
    with path.open("rb+") as file:
        while block := file.read(BLOCK):
            state.update(block)
            n_bytes += len(block)
        os.fsync(file.fileno())
    with pq.ParquetFile(path) as parquet:
        if parquet.schema_arrow.remove_metadata().names != released.names:
            raise ValueError("other columns than were written")
        n_rows = sum(batch.num_rows for batch in parquet.iter_batches())
    return WideFile(path.name, n_bytes, state.hexdigest(), n_rows)
