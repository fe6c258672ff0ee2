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


def written(
    path: Path, n_robots: int, n_people: int = 4_000, n_groups: int = N_GROUPS, each: int = 6
) -> dict[str, int]:
    """A file of people in about so many groups each and robots in all; and the true counts."""
    chooser = random.Random(5)
    likely = [1 / (group + 5) for group in range(n_groups)]
    pairs = {
        (user, group)
        for user in range(n_people)
        for group in chooser.choices(range(n_groups), likely, k=each)
    }
    pairs |= {(n_people + robot, group) for robot in range(n_robots) for group in range(n_groups)}
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


@pytest.mark.parametrize("within", [None, 0.1])
@pytest.mark.parametrize("epsilon", [2, 4])
def test_bars_hold_in_small_tables_with_robots(
    within: float | None, epsilon: int, tmp_path: Path
) -> None:
    """Two in five of a small group are in all groups: it loses far more than a large one."""
    truth = written(tmp_path / "visits.parquet", 40, n_people=2_000, n_groups=30, each=3)
    data = hc.open(
        tmp_path / "visits.parquet",
        user="user",
        budget=hc.Budget(epsilon=100, delta="1e-6"),
        ledger=tmp_path / "ledger.db",
    )
    held: list[bool] = []
    for _ in range(6):
        plan = data.count_users("page", within=within, spend=hc.Budget(epsilon=epsilon))
        release = plan.release(fresh=True)
        rows = release.to_arrow().to_pylist()
        if release.withheld is not None:
            rows += release.withheld.to_pylist()
        held += [row["low"] <= truth[row["page"]] <= row["high"] for row in rows]
    assert len(held) >= 60
    assert sum(held) >= 0.85 * len(held)
