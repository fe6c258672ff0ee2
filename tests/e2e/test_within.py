"""``count_users`` within a target error, as people call it."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.releases.choices import UsersMethod
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
    method: UsersMethod, demo_file: Path, tmp_path: Path
) -> None:
    plan = opened(demo_file, tmp_path).count_users(by="page", within=0.10, method=method, spend="1")
    assert "about nine in ten rows within 10% of the true count" in plan.explain()
    release = plan.release()
    rows, truth = release.to_arrow().to_pylist(), truth_of(demo_file)
    assert len(rows) > 30
    good = [abs(row["count"] / truth[row["page"]] - 1) <= 0.105 for row in rows]
    covered = [row["low"] <= truth[row["page"]] <= row["high"] for row in rows]
    notes = [note for note in release.facts.notes if "are withheld" not in note]
    method_note, expected_note = notes[:2]
    assert "Method 'equal'" in method_note
    expected = float(re.findall(r"true count: ([0-9.]+)%", expected_note)[0]) / 100
    assert expected > 0.66
    assert ("less than nine in ten" in expected_note) == (expected < 0.9)
    # What clipping leaves out moves rows together, so one release may be off by more than chance.
    assert sum(good) / len(good) > expected - 0.2
    assert sum(covered) / len(covered) > 0.8


def test_users_in_one_group_take_one_pass(tmp_path: Path) -> None:
    source = tmp_path / "one.parquet"
    user = list(range(30_000))
    pq.write_table(pa.table({"user_id": user, "page": [f"p{u % 20}" for u in user]}), source)
    release = opened(source, tmp_path).count_users(by="page", within=0.10, spend="1").release()
    assert any("Method 'single'" in note for note in release.facts.notes)
    rows = release.to_arrow().to_pylist()
    assert len(rows) == 20
    assert all(abs(row["count"] - 1500) < 150 for row in rows)


def test_few_users_are_measured_one_group_at_a_time(tmp_path: Path) -> None:
    source = tmp_path / "few.parquet"
    pairs = [(user, f"p{page}") for user in range(110) for page in range(8)]
    pq.write_table(
        pa.table({"user_id": [u for u, _ in pairs], "page": [p for _, p in pairs]}), source
    )
    release = opened(source, tmp_path).count_users(by="page", within=0.10, spend="1").release()
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
    text = opened(demo_file, tmp_path).count_users(by="page", within=0.10, spend="1").explain()
    for words in ("if single", "if peel", "if equal", "2% of the budget", "nothing was charged"):
        assert words in text


def test_a_release_without_rows_says_what_to_do(tmp_path: Path) -> None:
    source = tmp_path / "rare.parquet"
    user = list(range(400))
    pq.write_table(pa.table({"user_id": user, "page": [f"p{u % 200}" for u in user]}), source)
    release = (
        opened(source, tmp_path, rho="0.01")
        .count_users(by="page", within=0.10, spend="1")
        .release()
    )
    assert len(release) == 0
    assert any("spend more, or aim lower" in note for note in release.facts.notes)


def test_missing_values_are_a_group_like_any_other(tmp_path: Path) -> None:
    source = tmp_path / "gaps.parquet"
    pages = [None, "a", "b", "c"]
    pairs = [(user, page) for user in range(20_000) for page in pages]
    pq.write_table(
        pa.table({"user_id": [u for u, _ in pairs], "page": [p for _, p in pairs]}), source
    )
    plan = opened(source, tmp_path).count_users(by="page", within=0.10, method="equal", spend="1")
    rows = plan.release().to_arrow().to_pylist()
    assert {row["page"] for row in rows} == set(pages)
    assert all(abs(row["count"] / 20_000 - 1) < 0.1 for row in rows)


def test_top_releases_the_largest_alone(demo_file: Path, tmp_path: Path) -> None:
    truth = truth_of(demo_file)
    for method in ("auto", "peel"):
        plan = opened(demo_file, tmp_path).count_users(
            by="page", top=10, method=method, spend=hc.Budget(rho="0.3")
        )
        assert "10 largest" in plan.explain()
        rows = plan.release().to_arrow().to_pylist()
        assert 8 <= len(rows) <= 10
        tenth = sorted(truth.values(), reverse=True)[9]
        assert all(truth[row["page"]] > 0.7 * tenth for row in rows)


def test_top_of_a_bounded_count_is_a_choice_among_noisy_rows(
    demo_file: Path, tmp_path: Path
) -> None:
    data = opened(demo_file, tmp_path, rho=10)
    whole = data.count_users(by="page", bound=5, top=7, spend=hc.Budget(rho=5)).release()
    assert len(whole) == 7
    pages = sorted(truth_of(demo_file))[:20]
    assert len(data.count_users(by="page", groups=pages, top=3, spend="1/4").release()) == 3


def test_listed_groups_can_have_a_target(demo_file: Path, tmp_path: Path) -> None:
    truth = truth_of(demo_file)
    pages = sorted(truth, key=lambda page: -truth[page])[:30]
    data = opened(demo_file, tmp_path, rho=2)
    plan = data.count_users(by="page", groups=[*pages, "not/there"], within=0.10, spend="1")
    assert "31 listed" in plan.explain()
    rows = plan.release().to_arrow().to_pylist()
    assert {row["page"] for row in rows} <= set(pages)
    assert len(rows) > 20
    assert sum(abs(row["count"] / truth[row["page"]] - 1) <= 0.105 for row in rows) > 15


def test_a_profile_that_was_released_is_not_paid_for_again(demo_file: Path, tmp_path: Path) -> None:
    data = opened(demo_file, tmp_path, rho=2)
    before = data.count_users(by="page", within=0.10, spend=hc.Budget(rho=1)).explain()
    assert "2% of the budget" in before
    profile = data.profile(by="page", spend=hc.Budget(rho="0.05")).release()
    plan = data.count_users(by="page", within=0.10, spend=hc.Budget(rho=1))
    assert f"of entry {profile.entry}, released before" in plan.explain()
    assert plan.method.startswith("equal relative error")
    assert "if single" not in plan.explain()
    release = plan.release()
    assert release.facts.method == plan.method
    assert len(release) > 30
    other = hc.open(
        demo_file, user="user_id", ledger=tmp_path / "ledger.db", where="page <> 'a'"
    ).count_users(by="page", within=0.10, spend=hc.Budget(rho="0.1"))
    assert "released before" not in other.explain(), "a profile of other rows is another profile"


def test_every_stage_is_told(demo_file: Path, tmp_path: Path) -> None:
    stages: list[str] = []
    plan = opened(demo_file, tmp_path).count_users(by="page", within=0.10, spend="1")
    plan.release(progress=stages.append)
    assert stages == [
        "charging the ledger",
        "reading the table",
        "collecting who is in which group",
        "profiling users",
        "finding groups",
        "choosing how many groups the budget carries",
        "measuring, first round",
        "measuring, second round",
        "measuring what clipping left out",
        "the result is stored",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"top": 0}, "top must be a whole number from 1"),
        ({"within": 0.1, "bound": 3}, "has no bound"),
        ({"within": 0.7}, "within must be"),
        ({"within": 0.1, "method": "threshold"}, "has no target"),
        ({"within": 0.1, "spend": hc.Budget(rho="0.000001")}, "needs at least about epsilon 0.0"),
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: dict[str, object], message: str, demo_file: Path, tmp_path: Path
) -> None:
    with pytest.raises(hc.UsageError, match=message):
        opened(demo_file, tmp_path).count_users(by="page", **{"spend": "1", **arguments})  # type: ignore[arg-type]
