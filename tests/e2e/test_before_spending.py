"""Before spending: what to expect, over a range of spends, and what a released profile adds."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.tables.demo import write_demo

Run = Callable[..., subprocess.CompletedProcess[str]]
COUNT = (
    "count-users", "events.parquet", "--user", "user_id", "--by", "page", "--epsilon", "1",
    "--budget", "3",
)  # fmt: skip
PAGES = ["/home/0000", "/news/0000", "/shop/0000"]


@pytest.fixture
def run(headcount_command: str, tmp_path: Path, demo_file: Path) -> Run:
    shutil.copy(demo_file, tmp_path / "events.parquet")

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [headcount_command, *words, "--ledger", "ledger.db"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    return command


def opened(folder: Path) -> Any:
    return hc.open(
        folder / "events.parquet",
        user="user_id",
        account="web",
        budget=hc.Budget(epsilon=3),
        ledger=folder / "ledger.db",
    )


def test_what_to_expect_needs_no_rows(tmp_path: Path, demo_file: Path) -> None:
    """The file is gone: what would ask it now would fail."""
    shutil.copy(demo_file, tmp_path / "events.parquet")
    data = opened(tmp_path)
    plan = data.count_users("page", spend=hc.Budget(epsilon=1))
    before = str(plan.expected()), str(plan.sweep())
    (tmp_path / "events.parquet").unlink()
    assert (str(plan.expected()), str(plan.sweep())) == before
    assert list(tmp_path.iterdir()) == []


def test_a_released_profile_and_frequencies_tell_rows_of_any_table(
    tmp_path: Path, demo_file: Path
) -> None:
    shutil.copy(demo_file, tmp_path / "events.parquet")
    data = opened(tmp_path)
    plan = data.count_users("page", spend=hc.Budget(epsilon=1))
    (first, *others) = plan.expected()
    assert others
    assert first["rows"] is None
    data.profile("page", spend=hc.Budget(epsilon="0.3")).release()
    data.frequencies("page", spend=hc.Budget(epsilon="0.3")).release()
    entries = data.ledger.entries("web")
    again = data.count_users("page", spend=hc.Budget(epsilon=1))
    (only,) = again.expected()
    assert "by the sizes in entry" in str(again.expected())
    rows = [row["rows"] for row in again.sweep() if row["rows"] is not None]
    assert rows == sorted(rows)
    told = str(again.sweep())
    # Other people in the same place: what was released is public, and they are not asked.
    write_demo(tmp_path / "events.parquet", n_users=300, n_pages=20)
    other = opened(tmp_path).count_users("page", spend=hc.Budget(epsilon=1))
    assert str(other.sweep()) == told
    assert data.ledger.entries("web") == entries
    shutil.copy(demo_file, tmp_path / "events.parquet")
    released = opened(tmp_path).count_users("page", spend=hc.Budget(epsilon=1)).release()
    assert len(released) / 2 < only["rows"] < 2 * len(released)


@pytest.mark.parametrize("verb", ["count_users", "count_events"])
def test_a_sweep_of_found_groups_tells_what_less_budget_takes(
    verb: str, tmp_path: Path, demo_file: Path
) -> None:
    """An error that stays as it is hides that fewer groups are shown: their size is told."""
    shutil.copy(demo_file, tmp_path / "events.parquet")
    plan = getattr(opened(tmp_path), verb)("page", spend=hc.Budget(epsilon=1))
    swept = list(plan.sweep())
    for case in {row["case"] for row in swept}:
        least = [row["smallest"] for row in swept if row["case"] == case]
        assert all(more > 1.3 * less for more, less in pairwise(least))
    told = str(plan.sweep())
    assert "a smaller epsilon shows fewer" in told
    assert ("which case is yours" in told) == (verb == "count_users")
    few = [row["below"] for row in swept if row["below"] is not None]
    assert few == sorted(few, reverse=True)
    assert bool(few) == (verb == "count_users")
    (expected, *_) = plan.expected()
    release = plan.release()
    shown = release.to_arrow().column("count").to_pylist()
    assert min(shown) / 3 < expected["smallest"] < 3 * min(shown)
    (only,) = getattr(opened(tmp_path), verb)("page", spend=hc.Budget(epsilon=1)).expected()
    assert f"such a count at epsilon 1: {len(shown)} rows" in only["note"]
    assert len(shown) / 2 < only["rows"] <= len(shown)
    # One number for how exact it was, of the release and of whoever plans the next.
    (said,) = re.findall(
        r"Nine in ten rows are expected within (\d+)%", " ".join(release.facts.notes)
    )
    assert f"nine in ten expected within {said}% of the true count" in only["note"]
    assert only["error"] == pytest.approx(max(int(said) / 100, 0.087), abs=0.006)
    again = getattr(opened(tmp_path), verb)("page", spend=hc.Budget(epsilon=1)).sweep()
    errors = [row["error"] for row in again]
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 2 * errors[-1]


def test_few_users_are_told_how_large_groups_must_be(tmp_path: Path) -> None:
    """Ten groups of that size, of one user each: most of them are shown."""
    plan = _few(tmp_path, 10)
    (*_, few) = plan.expected()
    n_each = int(few["smallest"] * 1.2)
    plan = _few(tmp_path, n_each)
    (*_, again) = plan.expected()
    assert again == few
    assert 10 * n_each < 10 * few["below"]
    assert len(_few(tmp_path, n_each, method="peel").release()) >= 6


def _few(folder: Path, n_each: int, **asked: Any) -> Any:
    rows = [f"{page}-{user},{page}" for page in range(10) for user in range(n_each)]
    (folder / "few.csv").write_text("\n".join(["user_id,page", *rows]))
    data = hc.open(
        folder / "few.csv", user="user_id", budget=hc.Budget(epsilon=3), ledger=folder / "few.db"
    )
    return data.count_users("page", spend=hc.Budget(epsilon=1), **asked)


@pytest.mark.parametrize(
    "asked", [{"groups": PAGES}, {"bound": 5}, {"top": 5}], ids=["listed", "bound", "top"]
)
def test_the_error_is_that_of_the_noise(
    asked: dict[str, Any], tmp_path: Path, demo_file: Path
) -> None:
    shutil.copy(demo_file, tmp_path / "events.parquet")
    plan = opened(tmp_path).count_users("page", spend=hc.Budget(epsilon=1), **asked)
    (expected,) = plan.expected()
    assert expected["unit"] == "users"
    release = plan.release()
    if "bound" not in asked:
        assert expected["rows"] == len(release)
    sds = release.to_arrow().column("sd").to_pylist()
    assert expected["error"] / 1.645 == pytest.approx(sum(sds) / len(sds), rel=0.25)


def test_more_budget_less_error_and_what_cannot_be_paid_is_said(
    tmp_path: Path, demo_file: Path
) -> None:
    shutil.copy(demo_file, tmp_path / "events.parquet")
    plan = opened(tmp_path).count_users("page", groups=PAGES, spend="1/10")
    expected = list(plan.expected([0.5, 1, hc.Budget(epsilon=2), "1/2", 9]))
    errors = [row["error"] for row in expected[:3]]
    assert all(more > less for more, less in pairwise(errors))
    assert expected[3]["share"] == pytest.approx(0.5)
    assert expected[4]["error"] is None
    assert "this release needs 9" in expected[4]["note"]
    for odd in ([], "1", [True], [None], [-1], object()):
        with pytest.raises(hc.UsageError, match=r"Nothing was charged|Write "):
            plan.expected(odd)


def test_a_sweep_in_a_shell_spends_nothing(run: Run, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    done = run(*COUNT, "--sweep")
    assert done.returncode == 0, done.stderr
    assert "nine rows in ten" in done.stdout
    assert "####" in done.stdout
    assert "nothing was charged" in done.stdout
    assert sorted(tmp_path.iterdir()) == before
    read = list(csv.DictReader(io.StringIO(run(*COUNT, "--sweep", "--csv").stdout)))
    said = json.loads(run(*COUNT, "--sweep", "--json").stdout)["expected"]
    assert [float(row["epsilon"]) for row in read] == [row["epsilon"] for row in said]
    assert len({row["epsilon"] for row in said}) >= 5
    drawn = run(*COUNT, "--plan", "--sweep", "--plot", "sweep.svg")
    assert "Plan: count users by page" in drawn.stdout
    assert (tmp_path / "sweep.svg").read_text().startswith("<svg")
    refused = run(*COUNT, "--sweep", "--out", "rows.csv")
    assert refused.returncode == 2
    assert "Nothing was charged" in refused.stderr
    assert sorted(tmp_path.iterdir()) == sorted([*before, tmp_path / "sweep.svg"])
