"""A few users who are in every group, as robots are: bars hold, or there are no rows."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc

N_GROUPS, N_RELEASES = 300, 3


def written(path: Path, n_robots: int) -> dict[str, int]:
    """A file of 4,000 people in about six groups each and robots in all; and the true counts."""
    chooser = random.Random(5)
    likely = [1 / (group + 5) for group in range(N_GROUPS)]
    pairs = {
        (user, group)
        for user in range(4_000)
        for group in chooser.choices(range(N_GROUPS), likely, k=6)
    }
    pairs |= {(4_000 + robot, group) for robot in range(n_robots) for group in range(N_GROUPS)}
    rows = sorted(pairs)
    users, pages = [user for user, _ in rows], [f"p{group}" for _, group in rows]
    pq.write_table(pa.table({"user": users, "page": pages}), path)
    return dict(Counter(pages))


@pytest.mark.parametrize("n_robots", [0, 60])
def test_bars_hold_where_robots_are_in_every_group(n_robots: int, tmp_path: Path) -> None:
    """Rows are kept to those that robots leave most of: three in four releases have forty."""
    truth = written(tmp_path / "visits.parquet", n_robots)
    data = hc.open(
        tmp_path / "visits.parquet",
        user="user",
        account="visits",
        budget=hc.Budget(rho=N_RELEASES, delta="1e-5"),
        ledger=tmp_path / "ledger.db",
    )
    shown = 0
    for _ in range(N_RELEASES):
        plan = data.count_users("page", spend=hc.Budget(rho=1, delta="1e-6"))
        rows = plan.release(fresh=True).to_arrow().to_pylist()
        held = [row["low"] <= truth[row["page"]] <= row["high"] for row in rows]
        shown += len(rows) >= 40
        assert sum(held) >= 0.85 * len(rows)
    assert shown >= 2
