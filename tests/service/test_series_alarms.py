"""What a series does where all is not well: each window for itself, and the exit code says it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.service.series_world import FILE, START, World, new_runner

import headcount as hc


@pytest.fixture(scope="module")
def runner() -> Iterator[subprocess.Popen[str]]:
    started = new_runner()
    yield started
    assert started.stdin is not None
    started.stdin.close()
    started.wait(60)
    assert started.stdout is not None
    started.stdout.close()


@pytest.fixture
def world(runner: subprocess.Popen[str], tmp_path: Path) -> World:
    made = World(tmp_path, runner)
    made.write()
    made.day(0, range(600))
    return made


DAY = "--until=2026-03-02"


def test_a_window_that_cannot_pay_and_an_engine_that_fails_keep_no_other_from_its_release(
    world: World,
) -> None:
    asked = "  dear: {count_users: {by: page, bound: 5}, spend: {rho: 0.004}}\n"
    world.write(f"{FILE}{asked}")
    assert world.run(DAY) == 3
    assert "failed dear/2026-03-02" in world.said
    assert [*world.kinds("charge")] == ["pages/2026-03-02", "total/2026-03-02"]
    world.day(1, range(600))
    rows = world.folder / "events/day=2026-03-03/rows.parquet"
    two = ("--until=2026-03-03", "--only=pages", "--only=total")
    assert world.run(*two, written_over=str(rows)) == 5
    assert "What it reported is withheld" in world.said
    charges = world.kinds("charge")
    assert charges["pages/2026-03-03"] == charges["total/2026-03-03"] == 1
    assert "pages/2026-03-03" not in world.kinds("result")
    assert world.run(*two) == 0
    assert world.kinds("charge") == charges, "drawn under the charge that there was"


def test_a_release_that_was_charged_and_edited_is_refused_until_it_is_put_back(
    world: World,
) -> None:
    assert world.run(DAY, step=2) == -9  # charged, not drawn
    assert world.died_at == "charged"
    world.write(FILE.replace("bound: 10", "bound: 9"))
    assert world.run(DAY) == 4
    assert "Put the release back as it was" in " ".join(world.said.split())
    assert [*world.kinds("result")] == ["total/2026-03-02"]
    world.write()
    assert world.run(DAY) == 0
    assert {*world.kinds("charge").values()} == {1}


def test_a_release_with_a_new_name_is_refused_until_it_may_pay_again(world: World) -> None:
    assert world.run(DAY) == 0
    world.write(FILE.replace("total:", "people:"))
    assert world.run(DAY) == 2
    assert "people has released nothing so far, and total" in world.said
    assert len(world.kinds("charge")) == 2
    assert world.run(DAY, "--backfill") == 0
    assert "people/2026-03-02" in world.kinds("charge")


def test_a_revision_pays_once_more_and_is_what_the_file_has(world: World) -> None:
    world.write(FILE.replace("rho: 0.010", "rho: 0.004"))
    assert world.run(DAY) == 0
    first = world.files()["out/pages/day=2026-03-02/rows.parquet"]
    world.day(0, range(900))
    assert world.run(DAY, "--revise=pages/2026-03-02", step=4) == -9
    assert world.died_at == "stored"
    assert world.run(DAY, "--revise=pages/2026-03-02") == 0, world.said
    revised = world.files()["out/pages/day=2026-03-02/rows.parquet"]
    assert revised != first
    assert {*world.kinds("charge")} == {
        *("pages/2026-03-02", "pages/2026-03-02/2", "total/2026-03-02")
    }, "what was begun was finished, and not charged once more"
    world.forget_files()
    assert world.run(DAY) == 0
    assert world.files()["out/pages/day=2026-03-02/rows.parquet"] == revised
    assert world.run(DAY, "--revise=pages/2026-03-03") == 2
    assert "nothing to revise" in world.said


def test_rows_that_will_be_deleted_are_an_alarm_and_rows_that_are_gone_are_not_released(
    world: World,
) -> None:
    yesterday = date.today() - timedelta(days=1)
    kept = (yesterday - START).days
    world.write(FILE.replace("ready:", f"keep: {kept + 5} days\nready:"))
    (world.folder / "events/day=2026-03-02/_SUCCESS").unlink()
    assert world.run(DAY) == 6
    assert "in danger pages/2026-03-02" in world.said
    world.write(FILE.replace("ready:", "keep: 3 days\nready:"))
    assert world.run(DAY) == 6
    assert "lost pages/2026-03-02" in world.said
    assert not world.ledger().is_there
    lost = ", ".join(str(START + timedelta(days=n)) for n in range(kept + 2))
    world.write(FILE.replace("ready:", f"keep: 3 days\nlost: [{lost}]\nready:"))
    assert world.run(DAY) == 0, world.said


def test_a_country_that_is_lost_is_found_the_next_day(world: World) -> None:
    groups = "expect: {country: [SE, US, DE]}"
    world.write(FILE.replace("bound: 1}, spend", f"bound: 1}}, {groups}, spend"))
    world.day(1, [user for user in range(600) if user % 3])
    assert world.run("--until=2026-03-03") == 0
    said = world.said.splitlines()
    assert "total/2026-03-02: 'DE' is not among the rows" in world.said
    assert any("total/2026-03-03: 'SE' is" in one and "standard dev" in one for one in said)
    assert not any("total/2026-03-03: 'US' is" in one for one in said)


def test_python_finds_what_a_shell_does(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADCOUNT_HEADS", str(world.folder / "heads"))
    series = hc.Series(world.folder / "releases.yaml")
    assert series.missing()[:2] == ["pages/2026-03-02", "total/2026-03-02"]
    told: list[str] = []
    ran = series.run(until=START, only=["total"], progress=told.append)
    assert told == ran.released == ["total/2026-03-02"]
    assert ran.exit_code == 0
    assert "total/2026-03-02" not in series.missing()
    assert series.run(until="2026-03-02", only=["total"]).released == []
    assert world.run(DAY) == 0
    with pytest.raises(hc.UsageError, match="no release 'page'"):
        series.run(only=["page"])


def test_a_file_of_another_day_is_read_only_for_the_rows_of_the_day(world: World) -> None:
    """Rows count in the day that they name, whatever the folder is called."""
    other = world.folder / "events/day=2026-03-09"
    other.mkdir()
    rows = pq.read_table(world.folder / "events/day=2026-03-02/rows.parquet")
    late = rows.set_column(0, "user_id", pa.array(range(10_000, 10_000 + len(rows)), pa.int64()))
    pq.write_table(late, other / "rows.parquet")
    assert world.run(DAY, "--only=total") == 0
    found = pq.read_table(world.folder / "out/total/day=2026-03-02/rows.parquet").to_pylist()
    assert sum(one["count"] for one in found) > 1_500
