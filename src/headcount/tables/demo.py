"""Made-up events with the shape of real ones: heavy-tailed users, heavy-tailed pages.

Nothing here is random: every number is a hash of a counter, so the same call writes the same file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SECTIONS = ("home", "news", "shop", "help", "team", "blog", "docs", "jobs", "press", "about")
FIRST_SECOND = 1_767_225_600  # 2026-01-01 00:00 UTC
SECONDS = 90 * 24 * 3600


def _uniform(n: int, stream: int) -> NDArray[np.float64]:
    """Numbers in (0, 1) from the splitmix64 hash of 0, 1, 2, ..."""
    with np.errstate(over="ignore"):
        z = (np.arange(n, dtype=np.uint64) + np.uint64(stream << 40)) * np.uint64(
            0x9E3779B97F4A7C15
        )
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return ((z >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53


def write_demo(path: Path, *, n_users: int, n_pages: int) -> int:
    """Write a Parquet table of page views and return its number of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Pareto activity with exponent 1.3, at least 1 event and at most 5,000 a user.
    activity = np.minimum(5000, 3 * _uniform(n_users, 1) ** (-1 / 1.3)).astype(np.int64)
    user = np.repeat(np.arange(n_users, dtype=np.int64), activity)
    n_rows = len(user)
    popularity = np.cumsum(1 / np.arange(1, n_pages + 1) ** 1.05)
    rank = np.searchsorted(popularity, _uniform(n_rows, 2) * popularity[-1]).astype(np.int64)
    names = pa.array(
        [f"/{SECTIONS[i % len(SECTIONS)]}/{i // len(SECTIONS):04d}" for i in range(n_pages)]
    )
    second = FIRST_SECOND + (_uniform(n_rows, 3) * SECONDS).astype(np.int64)
    table = pa.table(
        {
            "user_id": pa.array(user),
            "page": names.take(pa.array(rank)),
            "time": pa.array(second, pa.timestamp("s")).cast(pa.timestamp("us")),
        }
    )
    with path.open("wb") as file:
        pq.write_table(table, file)
    return n_rows
