"""Processes of an engine that can draw beside the data and write what they drew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa

Task = Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]
"""From batches of rows to batches of rows. It is sent, and may run more than once."""
BUCKETS_PER_FILE = 16


class Workers(Protocol):
    """They run tasks on parts of a query, and write what these give back to files."""

    def check(self, folder: Path, n_files: int) -> None:
        """Refuse, by public rows alone, where they cannot write what this process reads."""
        ...

    def write(self, expr: Any, task: Task, written: pa.Schema, folder: Path, n_files: int) -> None:
        """Run a task once over all rows of a query, and write what it gives to ``n_files`` files.

        A task is given the number of a bucket, which is a public function of all columns but the
        last, and then the columns: whole buckets, in the order of their numbers and of the columns.
        Whatever runs more than once, one attempt of each part is written. Any failure is an
        ``EngineError``.

        expr:    the query; its last column is no part of a row's name
        folder:  it is not there yet; files are called ``part-00000.parquet`` and so on, and one
                 that has no row is there as well
        """
        ...
