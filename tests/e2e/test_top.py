"""The largest groups: found one by one, and measured with all that is left."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import headcount as hc

DATA = os.environ.get("HEADCOUNT_DATA")


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="HEADCOUNT_DATA is not set")
def test_the_ten_largest_films(tmp_path: Path) -> None:
    """Aim: found 95 % of the time, within 1 %; 95 % of the bars hold the truth."""
    source = Path(DATA or "") / "movielens_1m.parquet"
    truth = dict(
        duckdb.sql(f"select item, count(distinct user) from '{source}' group by 1").fetchall()
    )
    largest = set(sorted(truth, key=lambda item: -truth[item])[:10])
    data = hc.open(source, user="user", budget=hc.Budget(rho=10), ledger=tmp_path / "l.db")
    found, errors, covered = [], [], []
    for _ in range(6):
        plan = data.count_users("item", top=10, spend=hc.Budget(rho="0.1", delta=1e-8))
        assert "the 10 largest are released" in plan.explain()
        rows = plan.release(fresh=True).to_arrow().to_pylist()
        found += [row["item"] in largest for row in rows]
        errors += [abs(row["count"] / truth[row["item"]] - 1) for row in rows]
        covered += [row["low"] <= truth[row["item"]] <= row["high"] for row in rows]
    assert len(found) == 60
    assert np.mean(found) >= 0.95
    assert np.mean(errors) <= 0.01
    assert np.mean(covered) >= 0.88


def test_more_than_a_hundred_are_counted_together(demo_file: Path, tmp_path: Path) -> None:
    data = hc.open(demo_file, user="user_id", budget=hc.Budget(rho=1), ledger=tmp_path / "l.db")
    many = data.count_users("page", top=101, spend="1/10").explain()
    assert "the 101 largest that the budget can measure" in many
    assert "within 0.1" in data.count_users("page", top=10, within=0.1, spend="1/10").explain()
    assert "one by one" not in data.count_users("page", top=10, bound=2, spend="1/10").explain()


def test_fewer_than_were_asked_for_are_not_passed_over_in_silence(tmp_path: Path) -> None:
    users = [(user, group) for group, n in (("a", 4000), ("b", 3)) for user in range(n)]
    table = pa.table({"u": [user for user, _ in users], "g": [group for _, group in users]})
    data = hc.open(
        table, user="u", account="few", budget=hc.Budget(rho=2), ledger=tmp_path / "l.db"
    )
    few, all_of_them = (
        data.count_users("g", top=top, spend=hc.Budget(rho="0.5", delta=1e-8)).release()
        for top in (2, 1)
    )
    assert few.to_arrow()["g"].to_pylist() == ["a"]
    assert few.facts.notes[0].startswith("1 of the 2 groups asked for stood out from the noise")
    assert not any("asked for" in note for note in all_of_them.facts.notes)


def test_how_many_groups_there_are_is_not_told_by_the_noise_of_others(tmp_path: Path) -> None:
    """Adding one user who is alone in a fourth group moved the published sd by two thirds."""
    sds: list[set[float]] = []
    for victims in ([], [(3000, "clinic")]):
        rows = [(user, "abc"[user % 3]) for user in range(3000)] + victims
        table = pa.table({"u": [user for user, _ in rows], "g": [group for _, group in rows]})
        data = hc.open(
            table,
            user="u",
            account="one",
            budget=hc.Budget(rho=9),
            ledger=tmp_path / f"{len(rows)}.db",
        )
        plan = data.count_users("g", top=10, spend=hc.Budget(epsilon=1, delta=1e-7))
        released = [plan.release(fresh=True).to_arrow() for _ in range(3)]
        sds.append({sd for one in released for sd in one["sd"].to_pylist()})
    assert max(max(sds[0]), max(sds[1])) < 1.05 * min(min(sds[0]), min(sds[1]))
