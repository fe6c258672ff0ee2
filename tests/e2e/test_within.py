"""``count_users`` within a target error, as people call it."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.releases.dataset import Dataset


def opened(source: Path, folder: Path, rho: object = 1) -> Dataset:
    budget = hc.Budget(rho=rho, delta=1e-6)  # type: ignore[arg-type]
    return hc.open(source, user="user_id", budget=budget, ledger=folder / "ledger.db")


def truth_of(source: Path) -> dict[str, int]:
    table = pq.read_table(source).group_by("page").aggregate([("user_id", "count_distinct")])
    return dict(
        zip(table["page"].to_pylist(), table["user_id_count_distinct"].to_pylist(), strict=True)
    )


@pytest.mark.parametrize("method", ["auto", "equal"])
def test_nine_rows_in_ten_are_within_the_target(
    method: str, demo_file: Path, tmp_path: Path
) -> None:
    plan = opened(demo_file, tmp_path).count_users(by="page", within=0.10, method=method)
    assert "about nine in ten rows within 0.1" in str(plan)
    release = plan.release()
    rows, truth = release.to_arrow().to_pylist(), truth_of(demo_file)
    assert len(rows) > 60
    good = [abs(row["count"] / truth[row["page"]] - 1) <= 0.105 for row in rows]
    covered = [row["low"] <= truth[row["page"]] <= row["high"] for row in rows]
    method_note, expected_note = release.facts.notes[:2]
    assert "Method 'equal'" in method_note
    expected = float(re.findall(r"truth: ([0-9.]+)%", expected_note)[0]) / 100
    assert expected > 0.66
    assert ("less than nine in ten" in expected_note) == (expected < 0.9)
    assert sum(good) / len(good) > expected - 0.08
    assert sum(covered) / len(covered) > 0.88


def test_users_in_one_group_take_one_pass(tmp_path: Path) -> None:
    source = tmp_path / "one.parquet"
    user = list(range(30_000))
    pq.write_table(pa.table({"user_id": user, "page": [f"p{u % 20}" for u in user]}), source)
    release = opened(source, tmp_path).count_users(by="page", within=0.10).release()
    assert any("Method 'single'" in note for note in release.facts.notes)
    rows = release.to_arrow().to_pylist()
    assert len(rows) == 20
    assert all(abs(row["count"] - 1500) < 150 for row in rows)


def test_few_users_are_measured_one_group_at_a_time(tmp_path: Path) -> None:
    source = tmp_path / "few.parquet"
    pairs = [(user, f"p{page}") for user in range(150) for page in range(8)]
    pq.write_table(
        pa.table({"user_id": [u for u, _ in pairs], "page": [p for _, p in pairs]}), source
    )
    release = opened(source, tmp_path).count_users(by="page", within=0.10).release()
    assert any("Method 'peel'" in note for note in release.facts.notes)


def test_the_whole_spend_is_charged_in_advance(demo_file: Path, tmp_path: Path) -> None:
    data = opened(demo_file, tmp_path)
    plan = data.count_users(by="page", within=0.10, spend=hc.Budget(rho="0.25"))
    plan.release()
    assert data.account.spent == plan.spend
    assert float(plan.spend.rho) == 0.25


def test_the_plan_shows_the_branches_and_the_price_of_the_profile(
    demo_file: Path, tmp_path: Path
) -> None:
    text = str(opened(demo_file, tmp_path).count_users(by="page", within=0.10))
    for words in ("if single", "if peel", "if equal", "2% of the budget", "nothing was charged"):
        assert words in text


def test_missing_values_are_a_group_like_any_other(tmp_path: Path) -> None:
    source = tmp_path / "gaps.parquet"
    pages = [None, "a", "b", "c"]
    pairs = [(user, page) for user in range(20_000) for page in pages]
    pq.write_table(
        pa.table({"user_id": [u for u, _ in pairs], "page": [p for _, p in pairs]}), source
    )
    plan = opened(source, tmp_path).count_users(by="page", within=0.10, method="equal")
    rows = plan.release().to_arrow().to_pylist()
    assert {row["page"] for row in rows} == set(pages)
    assert all(abs(row["count"] / 20_000 - 1) < 0.1 for row in rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"within": 0.1, "groups": ["/home/0000"]}, "finds groups itself"),
        ({"within": 0.1, "bound": 3}, "has no bound"),
        ({"within": 0.7}, "within must be"),
        ({"within": 0.1, "method": "threshold"}, "has no target"),
        ({"within": 0.1, "spend": hc.Budget(rho="0.000001")}, "needs a rho of at least"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: dict[str, object], message: str, demo_file: Path, tmp_path: Path
) -> None:
    with pytest.raises(hc.UsageError, match=message):
        opened(demo_file, tmp_path).count_users(by="page", **arguments)  # type: ignore[arg-type]
