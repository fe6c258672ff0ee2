"""From a folder of daily files to counts of each day, in a shell: every day pays for itself."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

N_USERS = 400


def day_of_events(folder: Path, day: str) -> None:
    start = datetime.fromisoformat(day).replace(tzinfo=UTC)
    times = [start + timedelta(seconds=37 * i % 86_400) for i in range(3 * N_USERS)]
    place = folder / f"events/day={day}"
    place.mkdir(parents=True)
    rows = {
        "user_id": [i % N_USERS for i in range(3 * N_USERS)],
        "page": ["/home" if i % 3 else "/about" for i in range(3 * N_USERS)],
        "time": pa.array(times, pa.timestamp("us", "UTC")),
    }
    pq.write_table(pa.table(rows), place / "rows.parquet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for day in range(1, 4):
        day_of_events(tmp_path, f"2026-03-0{day}")
    (tmp_path / "pages.txt").write_text("/home\n/about\n")
    return tmp_path


def headcount(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    places = {"HEADCOUNT_LEDGER": str(folder / "l.db"), "HEADCOUNT_HEADS": str(folder / "heads")}
    return subprocess.run(
        [sys.executable, "-m", "headcount", *words],
        cwd=folder, env={**os.environ, **places}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def count(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    listed = ("--groups", "pages.txt", *(() if "--epsilon" in words else ("--epsilon", "0.4")))
    return headcount(folder, "count-users", "events/day=*/rows.parquet", "--user", "user_id",
                     "--by", "page", *listed, *words)  # fmt: skip


def test_a_budget_for_each_day(folder: Path) -> None:
    opening = ("--window", "time:day", "--budget-per-window", "0.8", "--account", "web")
    first = count(folder, *opening, "--during", "2026-03-01", "--out", "first.parquet")
    assert first.returncode == 0, first.stderr
    assert "each user within one day (UTC)" in first.stdout + first.stderr
    assert "the days together" in first.stdout + first.stderr
    counts = pq.read_table(folder / "first.parquet").to_pylist()
    assert [row["page"] for row in counts] == ["/about", "/home"]

    # A day that is not over when it is asked for, a day later, and the first one again.
    day_of_events(folder, "2026-03-04")
    assert count(folder, "--during", "2026-03-04", "--quiet").returncode == 0
    again = count(folder, "--during", "2026-03-01", "--out", "again.parquet")
    assert again.returncode == 0, again.stderr
    assert pq.read_table(folder / "again.parquet").to_pylist() == counts
    shown = headcount(folder, "ledger", "show", "web", "--windows", "2026-03").stdout
    assert shown.count("epsilon") >= 2
    assert "2026-03-01" in shown
    assert "2026-03-04" in shown
    assert "2026-03-02" not in shown.replace("day=2026-03-02", "")

    # Three days pay once each, and the first has no more than that left.
    several = count(folder, "--during", "2026-03-01..2026-03-03", "--quiet")
    assert several.returncode == 0, several.stderr
    refused = count(folder, "--during", "2026-03-01", "--fresh", "--epsilon", "0.7")
    assert refused.returncode == 3
    assert "The day 2026-03-01 of account 'web' has epsilon" in refused.stderr
    verified = headcount(folder, "ledger", "verify")
    assert verified.returncode == 0, verified.stderr

    forgotten = count(folder)
    assert forgotten.returncode == 2
    assert "--during 2026-03-01" in forgotten.stderr
    receipt = headcount(folder, "receipt", "--out", "receipt.json")
    assert receipt.returncode == 0, receipt.stderr
    checked = headcount(folder, "verify", "receipt.json")
    assert checked.returncode == 0, checked.stderr
    assert "within one day (UTC)" in checked.stdout
