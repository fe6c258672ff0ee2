"""What the default prints: bars that hold the truth, on data that people have, as they call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.results.release import Release

DATA = os.environ.get("HEADCOUNT_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="HEADCOUNT_DATA is not set")


def held(rows: list[dict[str, Any]], truth: dict[Any, int], by: str) -> float:
    return sum(row["low"] <= truth[row[by]] <= row["high"] for row in rows) / len(rows)


def truth_of(path: Path, user: str, by: str) -> dict[Any, int]:
    count = f'select "{by}", count(distinct "{user}") from \'{path}\' group by 1'
    return dict(duckdb.sql(count).fetchall())


def released(folder: Path, source: Path, user: str, by: str, **asked: Any) -> Release:
    budget = hc.Budget(epsilon=1, delta="1e-6")
    opened = hc.open(source, user=user, account="one", budget=budget, ledger=folder / "ledger.db")
    return opened.count_users(by, spend=budget, **asked).release()


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_rows"), [("movielens_1m", 100), ("msweb_vroots", 50), ("ubuntu_irc_words", 200)]
)
def test_bars_hold_on_real_data(name: str, n_rows: int, tmp_path: Path) -> None:
    """A release has about 95 in 100; one in 2,000 or fewer have less than these."""
    source = Path(DATA or "") / f"{name}.parquet"
    truth = truth_of(source, "user", "item")
    release = released(tmp_path, source, "user", "item")
    rows = release.to_arrow().to_pylist()
    assert len(rows) >= n_rows
    assert held(rows, truth, "item") >= 0.8
    largest = sorted(rows, key=lambda row: -truth[row["item"]])[: len(rows) // 10]
    assert held(largest, truth, "item") >= 0.6
    assert any("Counting heavy users for less left out" in note for note in release.facts.notes)
    assert release.facts.bars == ""


@pytest.fixture(scope="module")
def as_events(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A dataset that says how often, a row each time."""
    folder = tmp_path_factory.mktemp("events")

    def written(name: str) -> Path:
        path = folder / f"{name}.parquet"
        if not path.exists():
            rows = f"select user, item from '{DATA}/{name}.parquet', range(count)"
            duckdb.sql(f"copy ({rows}) to '{path}' (format parquet)")
        return path

    return written


def events_of(folder: Path, source: Path, rho: str, **asked: Any) -> list[dict[str, Any]]:
    budget = hc.Budget(rho=rho, delta="1e-6")
    ledger = folder / f"{rho}{len(asked)}.db"
    opened = hc.open(source, user="user", account="one", budget=budget, ledger=ledger)
    rows = opened.count_events("item", spend=budget, **asked).release().to_arrow().to_pylist()
    return list(rows)


def rows_in(path: Path) -> dict[Any, int]:
    return dict(duckdb.sql(f"select item, count(*) from '{path}' group by 1").fetchall())


@needs_data
@pytest.mark.slow
def test_bars_of_events_hold_on_heavy_tails(
    as_events: Callable[[str], Path], tmp_path: Path
) -> None:
    source = as_events("ubuntu_irc_words")
    truth = rows_in(source)
    largest = sorted(truth, key=lambda word: -truth[word])[:60]
    for asked, n_rows in (({}, 150), ({"groups": largest}, 60)):
        shares = []
        for attempt in range(3):
            folder = tmp_path / f"{n_rows} {attempt}"
            folder.mkdir()
            rows = events_of(folder, source, "0.1", **asked)
            assert len(rows) >= n_rows
            shares.append(held(rows, truth, "item"))
        # About 94 in 100; rows share a part of their error, so that one release may have far fewer.
        assert sum(shares) / 3 >= 0.75


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("n_listed", [0, 60])
def test_no_events_are_better_than_a_third_of_them(
    n_listed: int, as_events: Callable[[str], Path], tmp_path: Path
) -> None:
    """A few people wrote most of it: what they lose cannot be measured at this cost."""
    source = as_events("git_sklearn_author_files")
    truth = rows_in(source)
    largest = sorted(truth, key=lambda file: -truth[file])[:n_listed]
    absurd = 0
    for attempt in range(6):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        for row in events_of(folder, source, "0.1", **({"groups": largest} if largest else {})):
            absurd += row["count"] < truth[row["item"]] / 2 and row["high"] < truth[row["item"]]
    assert absurd <= 1


def test_the_first_command_of_the_readme_prints_bars_that_hold(tmp_path: Path) -> None:
    command = "count-users events.parquet --user user_id --by page --epsilon 1 --budget 3"
    headcount = [sys.executable, "-m", "headcount"]
    ledger = ["--ledger", str(tmp_path / "ledger.db")]
    subprocess.run([*headcount, "demo"], cwd=tmp_path, check=True, capture_output=True)
    shown = subprocess.run(
        [*headcount, *command.split(), "--out", "pages.parquet", *ledger],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    rows = pq.read_table(tmp_path / "pages.parquet").to_pylist()
    truth = truth_of(tmp_path / "events.parquet", "user_id", "page")
    assert len(rows) > 50
    # About 97 in 100; rows share a part of their error, so that one release may have fewer.
    assert held(rows, truth, "page") > 0.75
    printed = {row["page"] for row in rows}
    assert set(sorted(truth, key=lambda page: -truth[page])[:3]) <= printed
    assert "noise only" not in shown.stdout


def test_bars_of_a_bound_are_called_noise_only_wherever_they_go(tmp_path: Path) -> None:
    hc_demo = [sys.executable, "-m", "headcount", "demo"]
    subprocess.run(hc_demo, cwd=tmp_path, check=True, capture_output=True)
    source = tmp_path / "events.parquet"
    release = released(tmp_path, source, "user_id", "page", bound=20)
    assert release.facts.bars == "noise only"
    assert any("noise only" in note for note in release.facts.notes)
    release.write_csv(tmp_path / "pages.csv")
    beside = json.loads((tmp_path / "pages.csv-metadata.json").read_text("utf-8"))
    assert beside["error bars"] == "95% error bars (noise only)"
    assert beside["guarantee"] == release.guarantee
    release.plot(tmp_path / "pages.svg")
    assert "noise only" in (tmp_path / "pages.svg").read_text("utf-8")
    again = Release.from_bytes(release.to_bytes())
    assert again.facts.bars == "noise only"


def test_bars_of_a_short_list_leave_nothing_out(tmp_path: Path) -> None:
    source = tmp_path / "few.csv"
    source.write_text("u,page\n" + "\n".join(f"{n},{'ab'[n % 2]}" for n in range(50)))
    budget = hc.Budget(epsilon=1, delta="1e-6")
    opened = hc.open(source, user="u", account="one", budget=budget, ledger=tmp_path / "ledger.db")
    for asked in ({"groups": ["a", "b"], "bound": 20}, {"groups": ["a"]}):
        plan = opened.count_users("page", spend="1/4", **asked)
        assert "nothing is left out" in plan.explain()
        assert plan.release().facts.bars == ""
    shortened = opened.count_users("page", spend="1/4", groups=["a", "b"], bound=1)
    assert shortened.release().facts.bars == "noise only"


def test_facts_go_beside_a_csv_file_or_nothing_is_charged(tmp_path: Path) -> None:
    """The place of the facts is looked at before the charge, as that of the rows is."""
    source = tmp_path / "few.csv"
    source.write_text("u,page\n" + "\n".join(f"{n},{'ab'[n % 2]}" for n in range(50)))
    (tmp_path / "groups.txt").write_text("a\nb\n")
    command = "count-users few.csv --user u --by page --groups groups.txt --epsilon 1 --budget 3"
    headcount = [sys.executable, "-m", "headcount", *command.split()]
    headcount += ["--ledger", str(tmp_path / "l.db"), "--out"]
    beside = tmp_path / "a.csv-metadata.json"

    def run() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*headcount, "a.csv"], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    beside.mkdir()
    assert "is a folder" in run().stderr
    beside.rmdir()
    beside.write_text('{"mine": true}')
    assert "did not write" in run().stderr
    assert beside.read_text() == '{"mine": true}'
    assert not (tmp_path / "l.db").exists()
    beside.unlink()
    assert run().returncode == 0
    first = json.loads(beside.read_text("utf-8"))
    assert first["error bars"] == "95% error bars"
    assert run().returncode == 0
    assert json.loads(beside.read_text("utf-8")) == first
