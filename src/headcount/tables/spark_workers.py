"""Spark's executors, who draw beside the data: one job, whose output is committed once.

The job ends with the write. Nothing is shuffled, sorted, counted or cached after the task, which
would run it again; an explicit number of parts by a column of our own is kept by adaptive
execution, where one by the groups would be optimised away and files cut by bytes.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headcount.errors import UsageError
from headcount.tables.engine import withheld
from headcount.tables.spark_log import quiet
from headcount.tables.workers import BUCKETS_PER_FILE, Task
from headcount.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

BUCKET = "hc_bucket"
OPTIONS = {
    "compression": "zstd",
    # Files are moved when the job ends, so those of an attempt that died are never among them.
    "mapreduce.fileoutputcommitter.algorithm.version": 1,
    # The number of files follows nothing but what was asked.
    "maxRecordsPerFile": 0,
}
NONCE = "seen"
NOT_SHARED = (
    "Spark's executors cannot write where this program reads. to= needs a folder that the driver "
    "and all executors have in common, under one name and one user, and headcount {version} in the "
    "Python of the executors. Nothing was read and nothing was charged."
)


class SparkWorkers:
    """The executors of one session.

    query:  makes a data frame of an expression
    """

    def __init__(self, spark: Any, query: Callable[[Any], Any]) -> None:
        self._spark, self._query = spark, query

    def check(self, folder: Path, n_files: int) -> None:
        """Write a few public rows by the same path, and read them back."""
        import pyarrow as pa
        import pyarrow.parquet

        nonce = secrets.token_hex(16)
        (folder / NONCE).write_text(nonce, encoding="utf-8")
        n_rows = 4 * n_files
        try:
            with quiet():
                rows = self._spark.range(n_rows).selectExpr("id", "id as twice")
                task = _sees(str(folder / NONCE), nonce, __version__)
                schema = pa.schema([("column_0", pa.int64())])
                self._write(rows, task, schema, folder / "check", n_files)
            parts = sorted((folder / "check").glob("*.parquet"))
            seen = sum(pyarrow.parquet.ParquetFile(part).metadata.num_rows for part in parts)
        except Exception:
            seen = -1
        if seen != n_rows:
            raise UsageError(NOT_SHARED.format(version=__version__))

    def write(self, expr: Any, task: Task, written: pa.Schema, folder: Path, n_files: int) -> None:
        """Every task looks first whether it sees the folder that was checked."""
        place = folder.parent / NONCE
        nonce = place.read_text(encoding="utf-8")
        sees = _sees(str(place), nonce, __version__)

        def seeing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for _ in sees(iter(())):
                pass
            yield from task(batches)

        with withheld(), quiet():
            # Moved away: a task that is given up on late may still write where it began.
            output = folder.with_name("output")
            self._write(self._query(expr), seeing, written, output, n_files)
            _move_parts(output, folder, written, n_files)

    def _write(self, rows: Any, task: Task, written: pa.Schema, folder: Path, n_files: int) -> None:
        from pyspark.sql import functions

        # By place: a group may have any name.
        *columns, last = (f"column_{index}" for index in range(len(rows.columns)))
        rows = rows.toDF(*columns, last)
        number = functions.pmod(
            functions.xxhash64(*columns), functions.lit(BUCKETS_PER_FILE * n_files)
        )
        placed = rows.select(number.alias(BUCKET), *columns, last)
        placed = placed.repartition(n_files, BUCKET).sortWithinPartitions(BUCKET, *columns)
        drawn = placed.mapInArrow(task, _spark_schema(written))
        drawn.write.options(**OPTIONS).parquet(_address(folder))


def _sees(place: str, nonce: str, version: str) -> Task:
    """A task that fails where the folder is another, or headcount is; else it gives its rows."""

    def task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pathlib import Path

        from headcount.version import __version__ as own

        if Path(place).read_text(encoding="utf-8") != nonce or own != version:
            raise RuntimeError("another folder, or another version")
        for batch in batches:
            yield batch.select([1])

    return task


def _move_parts(output: Path, folder: Path, written: pa.Schema, n_files: int) -> None:
    """Name files by their part alone; a part without rows, which Spark leaves out, is added."""
    import pyarrow.parquet

    found = {int(path.name.split("-")[1]): path for path in output.glob("part-*.parquet")}
    folder.mkdir()
    for number in range(n_files):
        place = folder / f"part-{number:05}.parquet"
        if number in found:
            found.pop(number).rename(place)
        else:
            pyarrow.parquet.write_table(written.empty_table(), place, compression="zstd")
    if found:
        raise ValueError("more files than parts")


def _address(path: Path) -> str:
    """A path as Spark takes it: not escaped, so that one with a blank is not another."""
    return f"file://{path}"


def _spark_schema(schema: pa.Schema) -> Any:
    import pyarrow as pa
    from pyspark.sql import types

    kinds = {
        pa.int64(): types.LongType(),
        pa.float64(): types.DoubleType(),
        pa.string(): types.StringType(),
        pa.bool_(): types.BooleanType(),
        pa.date32(): types.DateType(),
        pa.timestamp("us"): types.TimestampNTZType(),
    }
    return types.StructType([types.StructField(field.name, kinds[field.type]) for field in schema])


def read_files(paths: list[Path]) -> Any:
    """A data frame of Parquet files, in the session that is active."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise UsageError("No Spark session is active here. Start one: SparkSession.builder...")
    return session.read.parquet(*map(_address, paths))
