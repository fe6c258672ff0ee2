"""A table with a column of every kind, and words that many queries about it have."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

import headcount as hc

COLUMNS: dict[str, Any] = {
    "user_id": pa.array(["ann", "bob", None]),
    "page": pa.array(["/home", None, "/news"]),
    "country": pa.array(["SE", "NO", "SE"]),
    "age": pa.array([17, 18, None], pa.int64()),
    "price": pa.array([0.5, 10.0, None]),
    "amount": pa.array([Decimal("1.50"), None, Decimal("2.25")]),
    "time": pa.array([datetime(2026, 1, 1, 8), datetime(2026, 2, 2), None]),
    "seen": pa.array([datetime(2026, 1, 1)] * 3, pa.timestamp("us", "UTC")),
    "day": pa.array([date(2026, 1, 1), date(2026, 2, 2), None]),
    "ok": pa.array([True, False, None]),
    "ref": pa.array([UUID(int=1).bytes] * 3, pa.binary(16)),
    "order": pa.array(["x", "y", "z"]),
    'a "b"': pa.array(["x", "y", "z"]),
    "user": pa.array(["x", "y", "z"]),
    "count": pa.array([1, 2, 3]),
    "größe": pa.array([1, 2, 3]),
}


def opened(folder: Path, where: str | None = None, name: str = "events.parquet") -> hc.Dataset:
    """The table as a file, with a ledger beside it."""
    path = folder / name
    if not path.exists():
        pq.write_table(pa.table(COLUMNS), path)
    return hc.open(
        path,
        user="user_id",
        budget=hc.Budget(rho=1),
        ledger=folder / "ledger.db",
        where=where,
    )


D = "COUNT(DISTINCT user_id)"
PEOPLE, ROWS = f"SELECT page, {D} FROM events", "SELECT page, COUNT(*) FROM events"
BY_PAGE, ROWS_BY_PAGE = f"{PEOPLE} GROUP BY page", f"{ROWS} GROUP BY page"
MONTH = hc.truncate("time", "month")
USERS, EVENTS, EVERYONE = "count_users", "count_events", "count_ranges"
ALL = {"of": None, "ranges": [(1, None)]}
PAGE: dict[str, Any] = {"by": "page"}
