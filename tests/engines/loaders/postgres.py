"""PostgreSQL: a server of its own, on loopback."""

from __future__ import annotations

import pyarrow as pa
import pytest
from tests.engines.loaders.loader import Loader


class Postgres(Loader):
    name = "postgres"
    marks = (pytest.mark.postgres,)
    server = "postgres_address"
    gaps = dict.fromkeys(
        ("nul in text", "nul in list"), "PostgreSQL text cannot hold the character NUL"
    )

    def load(self, table: pa.Table, title: str) -> str:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(self.server_at) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(title, table, mode="create")
            connection.commit()
        return f"{self.server_at}?table=public.{title}"


ENGINE = Postgres
