"""Lists of more groups than noise around half of the users is made for: all rows, true bars."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount.releases.choices import UsersMethod

DATA = Path(os.environ.get("HEADCOUNT_DATA", "/nowhere"))


def opened(source: Any, folder: Path, **more: Any) -> hc.Dataset:
    budget = hc.Budget(rho=10, delta=1e-6)
    return hc.open(
        source, user="user", account="a", budget=budget, ledger=folder / "ledger.db", **more
    )


def events(n_groups: int, n_users: int = 4000, each: int = 6, seed: int = 5) -> pa.Table:
    """Users in some groups each, the first groups in more of them; 60 users in all groups."""
    chooser = random.Random(seed)
    weights = [1 / (group + 5) for group in range(n_groups)]
    rows = {
        (user, group)
        for user in range(n_users)
        for group in chooser.choices(range(n_groups), weights, k=each)
    }
    rows |= {(user, group) for user in range(60) for group in range(n_groups)}
    return pa.table({"user": [u for u, _ in rows], "item": [f"g{g}" for _, g in rows]})


def truth_of(table: pa.Table) -> dict[str, int]:
    count = "select item, count(distinct user) from rows group by 1"
    with duckdb.connect() as engine:
        engine.register("rows", table)
        return dict(engine.execute(count).fetchall())


def covered(rows: list[dict[str, Any]], truth: dict[Any, int]) -> tuple[float, int]:
    """The share of bars that hold, and how many rows are within a tenth."""
    held = [row["low"] <= truth.get(row["item"], 0) <= row["high"] for row in rows]
    near = [abs(row["count"] - (n := truth.get(row["item"], 0))) <= 0.1 * n for row in rows]
    return float(np.mean(held)), sum(near)


@pytest.mark.parametrize("n_groups", [64, 300])
def test_every_listed_group_has_a_row_and_bars_hold(n_groups: int, tmp_path: Path) -> None:
    table = events(n_groups)
    listed = [f"g{group}" for group in range(n_groups)] + [f"nobody {i}" for i in range(20)]
    plan = opened(table, tmp_path).count_users("item", groups=listed, spend=hc.Budget(rho=1))
    assert f"{len(listed)} known groups, all released" in plan.explain()
    assert "noise only" not in plan.explain()
    release = plan.release()
    rows = release.to_arrow().to_pylist()
    assert sorted(row["item"] for row in rows) == sorted(listed)
    held, _ = covered(rows, truth_of(table))
    assert held > 0.88
    nobody = [row for row in rows if row["item"].startswith("nobody")]
    assert sum(row["low"] <= 0 <= row["high"] for row in nobody) >= 16
    assert release.facts.bars != "noise only"


@pytest.mark.parametrize("method", ["auto", "equal"])
def test_five_thousand_groups_and_a_few_users(method: UsersMethod, tmp_path: Path) -> None:
    table = pa.table({"user": [1, 1, 2, 3], "item": ["g1", "g2", "g1", "g77"]})
    listed = [f"g{group}" for group in range(5000)]
    plan = opened(table, tmp_path).count_users(
        "item", groups=listed, method=method, spend=hc.Budget(rho="0.1")
    )
    rows = plan.release().to_arrow().to_pylist()
    assert len(rows) == 5000
    assert covered(rows, truth_of(table))[0] > 0.9


def test_a_list_costs_no_delta(tmp_path: Path) -> None:
    data = opened(events(70, 500), tmp_path)
    plan = data.count_users("item", groups=[f"g{i}" for i in range(70)], spend=hc.Budget(rho=1))
    assert plan.spend.delta == 0
    plan.release()
    (entry,) = data.ledger.entries("a")
    assert entry.spend.rho == 1
    assert entry.spend.delta == 0
    assert plan.release().again is not None


def test_a_group_that_is_listed_twice_is_refused(tmp_path: Path) -> None:
    listed = [*(f"g{i}" for i in range(70)), "g3"]
    with pytest.raises(hc.UsageError, match="twice"):
        opened(events(70, 50), tmp_path).count_users("item", groups=listed, spend="1/10")


def test_rows_that_miss_a_target_are_withheld_and_none_is_forgotten(tmp_path: Path) -> None:
    table = events(100)
    listed = [f"g{group}" for group in range(100)]
    plan = opened(table, tmp_path).count_users(
        "item", groups=listed, within=0.10, spend=hc.Budget(rho="0.1")
    )
    assert "100 known groups, those that can keep the promise are released" in plan.explain()
    release = plan.release()
    assert release.withheld is not None
    names = [*release.to_arrow()["item"].to_pylist(), *release.withheld["item"].to_pylist()]
    assert sorted(names) == sorted(listed)
    assert any("measured rows are withheld" in note for note in release.facts.notes)


def test_the_largest_of_a_list(tmp_path: Path) -> None:
    listed = [f"g{group}" for group in range(100)]
    plan = opened(events(100), tmp_path).count_users("item", groups=listed, top=5, spend="1/10")
    rows = plan.release().to_arrow().to_pylist()
    assert len(rows) == 5
    assert all(int(row["item"][1:]) < 15 for row in rows)


def test_a_bound_that_is_asked_for_is_kept(tmp_path: Path) -> None:
    listed = [f"g{group}" for group in range(70)]
    plan = opened(events(70, 200), tmp_path).count_users(
        "item", groups=listed, bound=20, spend="1/10"
    )
    assert "fully in up to 20 groups" in plan.explain()
    assert plan.release().facts.bars == "noise only"


def test_every_stage_of_a_list_is_told(tmp_path: Path) -> None:
    listed = [f"g{group}" for group in range(70)]
    ways: list[tuple[int, UsersMethod]] = [(5, "auto"), (2000, "equal")]
    for users, method in ways:
        stages: list[str] = []
        folder = tmp_path / method
        folder.mkdir()
        plan = opened(events(70, users), folder).count_users(
            "item", groups=listed, method=method, spend="1/10"
        )
        plan.release(progress=stages.append)
        assert stages[2:] == [
            "collecting who is in which group",
            "profiling users",
            "guessing how large groups are",
            "choosing how much noise the groups need",
            "measuring, first round",
            "measuring, second round",
            "measuring what clipping left out",
            "the result is stored",
        ]


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="HEADCOUNT_DATA does not point to the datasets")
@pytest.mark.parametrize(
    ("name", "n_listed", "rho"),
    [("movielens_1m", 500, "0.1"), ("msweb_vroots", 285, "0.1"), ("gowalla_10core", 500, "0.1")],
)
def test_bars_of_long_lists_hold_on_real_tables(
    name: str, n_listed: int, rho: str, tmp_path: Path
) -> None:
    path = DATA / f"{name}.parquet"
    sizes = f"select item, count(distinct user) n from '{path}' group by 1 order by n desc, 1"
    truth = dict(duckdb.sql(f"{sizes} limit {n_listed}").fetchall())
    data = opened(path, tmp_path)
    near: dict[Any, list[int]] = {}
    held = []
    for bound in (None, 20):
        for _ in range(3):
            plan = data.count_users(
                "item", groups=list(truth), bound=bound, spend=hc.Budget(rho=rho)
            )
            rows = plan.release(fresh=True).to_arrow().to_pylist()
            assert len(rows) == n_listed
            share, within = covered(rows, truth)
            near.setdefault(bound, []).append(within)
            if bound is None:
                held.append(share)
    assert np.mean(held) >= 0.9  # .958 on msweb_vroots, and one release in ten below .92
    assert np.mean(near[None]) > 1.1 * np.mean(near[20])


@pytest.mark.skipif(not DATA.exists(), reason="HEADCOUNT_DATA does not point to the datasets")
def test_a_list_that_nearly_all_was_left_out_of_has_no_rows_and_says_why(tmp_path: Path) -> None:
    """A few maintainers have most of the pairs: at this cost 98 % of a count is left out."""
    path = DATA / "git_sklearn_author_files.parquet"
    sizes = f"select item from '{path}' group by 1 order by count(distinct user) desc limit 300"
    listed = [item for (item,) in duckdb.sql(sizes).fetchall()]
    release = (
        opened(path, tmp_path)
        .count_users("item", groups=listed, spend=hc.Budget(rho="0.01"))
        .release()
    )
    assert release.to_arrow().num_rows == 0
    assert "noise exceeds signal" in release.facts.notes[0]
    assert "No row is shown: too much of every count was left out." in str(release)
    assert "stood out" not in str(release)
