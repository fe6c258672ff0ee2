"""DuckDB, in this process, on a Parquet file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from tests.engines.loaders.loader import Loader


def written(table: pa.Table, path: Path) -> Path:
    """A Parquet file of several row groups."""
    pq.write_table(table, path, row_group_size=max(1, table.num_rows // 4))
    return path


class DuckDB(Loader):
    name = "duckdb"
    n_releases = 40

    def load(self, table: pa.Table, title: str) -> Path:
        return written(table, self.folder / f"{title}.parquet")


ENGINE = DuckDB
