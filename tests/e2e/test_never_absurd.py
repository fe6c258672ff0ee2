"""Few users and little budget: no row is printed that has nothing to do with the truth."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

import headcount as hc

DATA = os.environ.get("HEADCOUNT_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="HEADCOUNT_DATA is not set")


def absurd_rows(folder: Path, rho: str, n_releases: int) -> list[tuple[int, int]]:
    """Rows below half of the truth whose bar excludes it: the truth, and what was printed."""
    source = Path(DATA or "") / "git_sklearn_author_files.parquet"
    count = f"select item, count(distinct user) from '{source}' group by 1"
    truth = dict(duckdb.sql(count).fetchall())
    found = []
    for number in range(n_releases):
        data = hc.open(
            source,
            user="user",
            account="git",
            budget=hc.Budget(rho=1000),
            ledger=folder / f"{rho} {number}.db",
        )
        plan = data.count_users("item", spend=hc.Budget(rho=rho, delta=1e-7))
        for row in plan.release().to_arrow().to_pylist():
            true_count = truth[row["item"]]
            if row["count"] < true_count / 2 and row["high"] < true_count:
                found.append((true_count, row["count"]))
    return found


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("rho", ["0.01", "0.02", "0.05"])
def test_no_row_is_absurd(rho: str, tmp_path: Path) -> None:
    assert absurd_rows(tmp_path, rho, 10) == []
