"""A few users with very many rows, or in very many groups: seen, or said not to be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount.results.release import Release

OTHERS = [f"page {number:02d}" for number in range(15)]


def opened(folder: Path, pairs: list[tuple[str, str]], epsilon: int) -> Any:
    table = pa.table({"user": [u for u, _ in pairs], "page": [g for _, g in pairs]})
    budget = hc.Budget(epsilon=4 * epsilon)
    return hc.open(table, user="user", account="r", budget=budget, ledger=folder / "l.db")


@pytest.fixture(scope="module")
def robots() -> list[tuple[str, str]]:
    """50 users of 2,000 rows each in one group, and 4,000 of three rows in 15 others."""
    rng = np.random.default_rng(3)
    people = [(f"u{u}", str(page)) for u in range(4_000) for page in rng.choice(OTHERS, 3)]
    return people + [(f"r{robot}", "robots") for robot in range(50)] * 2_000


@pytest.fixture(scope="module")
def staff() -> list[tuple[str, str]]:
    """300 users in 1,000 groups of their own and one of all, which is the largest of the table."""
    rng = np.random.default_rng(4)
    people = [
        (f"u{u}", f"page {page:02d}")
        for u in range(3_000)
        for page in rng.choice(40, 3, replace=False)
    ]
    own = [(f"s{user}", f"{user} {number}") for user in range(300) for number in range(1_000)]
    return people + own + [(f"s{user}", "robots") for user in range(300)]


def excluded(release: Release, truth: int) -> bool:
    """Whether the row of robots is printed at less than half, with a bar that says otherwise."""
    rows = {row["page"]: row for row in release.to_arrow().to_pylist()}
    return "robots" in rows and rows["robots"]["high"] < truth


@pytest.mark.parametrize("epsilon", [1, 5])
def test_a_listed_group_of_robots_is_not_shown_and_named(
    epsilon: int, robots: list[tuple[str, str]], tmp_path: Path
) -> None:
    """At epsilon 1 one release in ten misses them, all three of them one in a thousand."""
    plan = opened(tmp_path, robots, epsilon).count_events(
        "page", groups=[*OTHERS, "robots"], spend=hc.Budget(epsilon=epsilon)
    )
    assert "which are named" in plan.explain()
    releases = [plan.release(fresh=True) for _ in range(3)]
    assert sum(excluded(release, 100_000) for release in releases) <= 2 * (epsilon == 1)
    named = [note for one in releases for note in one.facts.notes if "Not shown: " in note]
    assert any("'robots'" in note for note in named)
    for release in releases:
        assert len(release) >= 12


def test_the_largest_group_is_found_though_its_users_are_in_a_thousand_groups(
    staff: list[tuple[str, str]], tmp_path: Path
) -> None:
    plan = opened(tmp_path, staff, 5).count_users("page", spend=hc.Budget(epsilon=5))
    for _ in range(3):
        release = plan.release(fresh=True)
        counts = {row["page"]: row["count"] for row in release.to_arrow().to_pylist()}
        assert abs(counts["robots"] / 300 - 1) < 0.3
        assert any("may be missing" in note for note in release.facts.notes)


@pytest.mark.parametrize("top", [None, 10])
def test_a_group_of_robots_is_found_to_be_large(
    top: int | None, robots: list[tuple[str, str]], tmp_path: Path
) -> None:
    """Its users are fifty: what they have there says that it is the largest of all."""
    plan = opened(tmp_path, robots, 5).count_events("page", top=top, spend=hc.Budget(epsilon=5))
    for _ in range(3):
        release = plan.release(fresh=True)
        assert not excluded(release, 100_000)
        shown = release.to_arrow().column("page").to_pylist()
        assert "robots" in shown or any("'robots'" in note for note in release.facts.notes)
