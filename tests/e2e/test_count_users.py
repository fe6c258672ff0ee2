"""``count_users`` as people call it."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.releases.dataset import Dataset


def events(n_users: int = 3000, groups_each: int = 3) -> pa.Table:
    user = np.repeat(np.arange(n_users), groups_each)
    group = (np.arange(n_users * groups_each) % 7).astype(str)
    return pa.table({"user": user, "group": group})


def opened(table: object, tmp_path: Path, *, epsilon: float = 1, **more: object) -> Dataset:
    return hc.open(
        table,
        user="user",
        account="test",
        budget=hc.Budget(epsilon=epsilon, delta=1e-6),
        ledger=tmp_path / "ledger.db",
        **more,  # type: ignore[arg-type]
    )


def test_counts_are_near_the_truth_and_bars_are_honest(tmp_path: Path) -> None:
    table = events()
    inside = total = 0
    data = opened(table, tmp_path, epsilon=50)
    truth = table.group_by("group").aggregate([("user", "count_distinct")]).to_pylist()
    true_counts = {row["group"]: row["user_count_distinct"] for row in truth}
    for _ in range(15):
        rows = data.count_users(by="group", spend=hc.Budget(epsilon=1)).release().to_arrow()
        assert rows.column("group").to_pylist() == sorted(true_counts)
        for row in rows.to_pylist():
            total += 1
            inside += row["low"] <= true_counts[row["group"]] <= row["high"]
            assert abs(row["count"] - true_counts[row["group"]]) < 6 * row["sd"]
    assert inside / total > 0.85


def test_known_groups_are_all_released_also_empty_ones(tmp_path: Path) -> None:
    plan = opened(events(), tmp_path).count_users(
        by="group", groups=["6", "0", "nobody"], spend="1"
    )
    assert "3 known groups, all released" in plan.explain()
    assert plan.spend.delta == 0
    rows = plan.release().to_arrow()
    assert rows.column("group").to_pylist() == ["0", "6", "nobody"]


def test_an_empty_table_gives_an_empty_release(tmp_path: Path) -> None:
    empty = events().slice(0, 0)
    release = opened(empty, tmp_path).count_users(by="group", spend="1").release()
    assert len(release) == 0
    assert release.to_arrow().column_names == ["group", "count", "low", "high", "sd"]


def test_a_plan_reads_and_spends_nothing(tmp_path: Path) -> None:
    data = opened(events(), tmp_path)
    plan = data.count_users(by="group", spend="1")
    assert "nothing was read and nothing was charged" in plan.explain()
    assert data.account.spent.rho == 0
    assert repr(plan).startswith("<Plan count users by group")


def test_one_plan_is_charged_once_and_shows_the_same_rows(tmp_path: Path) -> None:
    data = opened(events(), tmp_path)
    plan = data.count_users(by="group", spend="1")
    first, second = plan.release(), plan.release()
    assert first.to_bytes() == second.to_bytes()
    assert len(data.ledger.entries("test")) == 1


def test_two_releases_differ(tmp_path: Path) -> None:
    data = opened(events(), tmp_path, epsilon=10)
    one, two = (
        data.count_users(by="group", spend=hc.Budget(epsilon=1)).release(fresh=True)
        for _ in range(2)
    )
    assert one.to_arrow().column("count") != two.to_arrow().column("count")


def test_a_key_is_for_one_request(tmp_path: Path) -> None:
    data = opened(events(), tmp_path, epsilon=10)
    spend = hc.Budget(epsilon=1)
    stored = data.count_users(by="group", spend=spend).release(key="monday")
    again = data.count_users(by="group", spend=spend).release(key="monday")
    assert stored.to_bytes() == again.to_bytes()
    with pytest.raises(hc.KeyReusedError):
        data.count_users(by="group", groups=["1"], spend=spend).release(key="monday")


def test_what_the_account_cannot_pay_is_refused_at_plan_time(tmp_path: Path) -> None:
    data = opened(events(), tmp_path)
    with pytest.raises(hc.BudgetError, match="this release needs 3"):
        data.count_users(by="group", spend=hc.Budget(epsilon=3))
    data.count_users(by="group", spend="1").release()
    with pytest.raises(hc.BudgetError):
        data.count_users(by="group", spend=hc.Budget(epsilon="0.1"))


def test_the_budget_survives_the_process_and_the_object(tmp_path: Path) -> None:
    opened(events(), tmp_path).count_users(by="group", spend="1").release()
    again = opened(events(), tmp_path)
    assert float(again.account.epsilon_spent) > 0.999


def test_a_bound_that_is_given_is_used(tmp_path: Path) -> None:
    data = opened(events(), tmp_path)
    plan = data.count_users(by="group", bound=1, spend="1")
    assert "fully in up to 1 groups" in plan.explain()
    with pytest.raises(hc.UsageError):
        data.count_users(by="group", bound=0, spend="1")


def test_times_and_several_columns(tmp_path: Path) -> None:
    start = datetime.datetime(2026, 1, 1)
    table = events(4000, 1)
    days = [start + datetime.timedelta(days=i % 90) for i in range(4000)]
    table = table.append_column("time", pa.array(days, pa.timestamp("us")))
    rows = (
        opened(table, tmp_path)
        .count_users(by=["group", hc.truncate("time", "month")], bound=1, spend="1")
        .release()
        .to_arrow()
    )
    assert rows.column_names == ["group", "time", "count", "low", "high", "sd"]
    assert rows.num_rows == 21
    assert rows.column("time").to_pylist()[0] == datetime.date(2026, 1, 1)


@pytest.mark.parametrize(
    ("by", "message"),
    [("nothing", "no column"), ("user", "list them"), ([], "by must be a list of 1")],
)
def test_columns_that_cannot_be_counted_by(by: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(hc.UsageError, match=message):
        opened(events(), tmp_path).count_users(by=by, spend="1")


def test_a_frame_needs_a_name_and_an_account_a_budget(tmp_path: Path) -> None:
    with pytest.raises(hc.UsageError, match="account='web-events'"):
        hc.open(events(), user="user", ledger=tmp_path / "ledger.db")
    with pytest.raises(hc.NoAccountError, match="budget="):
        hc.open(events(), user="user", account="a", ledger=tmp_path / "ledger.db")


def test_releases_convert_and_write(tmp_path: Path) -> None:
    release = opened(events(), tmp_path).count_users(by="group", spend="1").release()
    assert list(release.to_pandas().columns) == release.to_arrow().column_names
    assert release.to_polars().columns == release.to_arrow().column_names
    written = pq.read_table(release.write_parquet(tmp_path / "rows.parquet"))
    assert written.equals(release.to_arrow())
    assert (release.write(tmp_path / "rows.csv")).read_text().startswith('"group","count"')
    with pytest.raises(hc.UsageError, match=r"\.parquet or \.csv"):
        release.write(tmp_path / "rows.xlsx")
    assert "epsilon 1 at delta 1e-06" in repr(release)
    assert len(repr(release).splitlines()) == 1


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_laplace_threshold_for_users_in_one_group(neighbours: str, tmp_path: Path) -> None:
    user = np.arange(4000)
    table = pa.table({"user": user, "group": np.where(user < 3900, user % 3, 77).astype(str)})
    data = opened(table, tmp_path, neighbours=neighbours)
    plan = data.count_users(by="group", method="laplace", top=3, spend="1")
    assert "Laplace" in plan.method
    rows = plan.release().to_arrow().to_pylist()
    assert [row["group"] for row in rows] == ["0", "1", "2"]
    assert all(abs(row["count"] - 1300) < 8 * row["sd"] for row in rows)
    assert 0 <= data.account.spent.rho - plan.spend.rho < 1e-11
    with pytest.raises(hc.UsageError, match="finds groups itself"):
        data.count_users(by="group", groups=["0"], method="laplace", spend="1")
