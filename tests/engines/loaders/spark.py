"""Spark: a standalone cluster of several processes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from tests.engines.loaders.duckdb import written
from tests.engines.loaders.loader import Loader


class Spark(Loader):
    name = "spark"
    marks = (pytest.mark.spark,)
    server = "spark_cluster"

    def load(self, table: pa.Table, title: str) -> Any:
        path = written(table, self.folder / f"{title}.parquet")
        return self.server_at.session.read.parquet(str(path))


ENGINE = Spark
