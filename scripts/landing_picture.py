"""Draw docs/pictures/first-count.svg: the count of the landing page, as anybody would draw it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import headcount as hc
from headcount.tables.demo import write_demo

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "first-count.svg"


def main() -> None:
    """Make the demo table in a folder of its own, count, and draw."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HEADCOUNT_HEADS"] = folder
        os.chdir(folder)
        write_demo(Path("events.parquet"), n_users=20_000, n_pages=2_000)
        data = hc.open(
            "events.parquet", user="user_id", budget=hc.Budget(epsilon=3), ledger="ledger.db"
        )
        release = data.count_users("page", top=12, spend=hc.Budget(epsilon=1)).release()
        release.plot(PICTURE)


if __name__ == "__main__":
    main()
