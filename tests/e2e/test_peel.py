"""``count_users`` with ``method="peel"``, as people call it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.releases.dataset import Dataset


def opened(source: Path, folder: Path) -> Dataset:
    budget = hc.Budget(rho=1, delta=1e-6)
    return hc.open(source, user="user_id", budget=budget, ledger=folder / "ledger.db")


def test_large_groups_are_within_the_target_without_any_bound(
    demo_file: Path, tmp_path: Path
) -> None:
    plan = opened(demo_file, tmp_path).count_users(by="page", method="peel", within=0.1, spend="1")
    assert "counts fully in all" in plan.explain()
    rows = plan.release().to_arrow()
    table = pq.read_table(demo_file).group_by("page").aggregate([("user_id", "count_distinct")])
    truth = dict(
        zip(table["page"].to_pylist(), table["user_id_count_distinct"].to_pylist(), strict=True)
    )
    assert rows.num_rows > 100
    good = [abs(row["count"] / truth[row["page"]] - 1) <= 0.11 for row in rows.to_pylist()]
    covered = [row["low"] <= truth[row["page"]] <= row["high"] for row in rows.to_pylist()]
    assert sum(good) / len(good) > 0.7
    assert sum(covered) / len(covered) > 0.8
    assert pc.all(pc.greater(rows["sd"], 0)).as_py()


def test_the_whole_spend_is_charged_in_advance(demo_file: Path, tmp_path: Path) -> None:
    data = opened(demo_file, tmp_path)
    plan = data.count_users(by="page", method="peel", spend=hc.Budget(rho="0.25"))
    plan.release()
    assert data.account.spent == plan.spend
    assert float(plan.spend.rho) == 0.25


def test_a_list_is_a_filter(demo_file: Path, tmp_path: Path) -> None:
    data = opened(demo_file, tmp_path)
    plan = data.count_users(
        by="page", method="peel", groups=["/home/0000", "/none"], top=2, spend="1"
    )
    assert "2 listed" in plan.explain()
    assert plan.release().to_arrow().column("page").to_pylist() == ["/home/0000"]


def test_few_users_give_no_rows_and_no_error(tmp_path: Path) -> None:
    source = tmp_path / "few.parquet"
    pq.write_table(pa.table({"user_id": [1, 2, 3], "page": ["a", "b", "b"]}), source)
    release = opened(source, tmp_path).count_users(by="page", method="peel", spend="1").release()
    assert len(release) == 0
    assert release.to_arrow().column_names == ["page", "count", "low", "high", "sd"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "magic"}, "method must be one of"),
        ({"method": "peel", "bound": 3}, "has no bound"),
        ({"method": "peel", "within": 0.0}, "within must be"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: dict[str, object], message: str, demo_file: Path, tmp_path: Path
) -> None:
    with pytest.raises(hc.UsageError, match=message):
        opened(demo_file, tmp_path).count_users(by="page", **{"spend": "1", **arguments})  # type: ignore[arg-type]
