"""A series of releases, as a machine runs it: killed, raced, late, out of disk, in another home."""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.series_world import FILE, World, killed, new_runner

DAYS = 8


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
    return made


def filled(world: World, days: int, *, without: int | None = None, users: int = 600) -> World:
    for number in range(days):
        world.day(number, range(number % 7, users, 2), sign=number != without)
    return world


def assert_each_once(world: World, days: int) -> None:
    """Every window was charged once, stored once, and has one file; and every balance is exact."""
    keys = 2 * days + days // 7
    charges, results = world.kinds("charge"), world.kinds("result")
    assert len(charges) == len(results) == keys
    assert {*charges.values(), *results.values()} == {1}
    files = [path for path in world.files() if path.endswith("rows.parquet")]
    assert len(files) == keys
    assert not [path for path in world.files() if path.endswith(".part")]
    assert len(world.manifest()) == keys
    whole = days // 7 * 7  # days of a week that is over pay for that too
    expected = {0.015: whole, 0.012: days - whole}
    assert world.balances(days) == {rho: n for rho, n in expected.items() if n}
    world.ledger().verify()


def test_killed_at_every_step_and_at_random_each_window_is_released_once(
    world: World, long: bool
) -> None:
    kills, dice, died, late = 200 if long else 40, random.Random(5), Counter[str](), 5
    days = 28 if long else DAYS
    filled(world, days, without=late)
    until = f"--until=2026-03-{days + 1:02}"
    n = 0
    while True:
        if n < kills:
            step = dice.randint(1, 9) if n % 2 else 0
            run = world.start(until, step=step)
            if not step:
                time.sleep(dice.random() * 1.5)
                killed(run)
            code = world.wait(run)
            if code < 0:
                n += 1
                died[world.died_at if step else "at random"] += 1
                continue
        else:
            code = world.run(until)
        assert code in (0, 7), world.said
        if code == 0 and n >= kills:
            break
        if code == 7:
            assert "not ready" in world.said
            world.sign(late)
        else:
            world.forget_files()  # so that there is something to be killed at
    assert died["at random"] > kills / 4
    assert {*died} >= {"before", "charged", "drawn", "stored", "written", "renamed"}, died
    assert_each_once(world, days)
    before = world.files()
    n_entries = len(world.ledger().journal())
    world.forget_files()
    assert world.run(until) == 0
    assert world.files() == before, "made again to the byte"
    assert len(world.ledger().journal()) == n_entries
    assert world.run(until) == 0
    assert "nothing is due" in world.said


def test_three_runs_at_once_release_each_window_once(world: World) -> None:
    filled(world, 8)
    for _ in range(3):
        runs = [world.start("--until=2026-03-09") for _ in range(3)]
        assert [world.wait(run) for run in runs] == [0, 0, 0]
        shutil.rmtree(world.folder / "out/pages")
    assert world.run("--until=2026-03-09") == 0
    assert_each_once(world, 8)


def test_a_disk_that_is_full_at_the_rename_loses_nothing(world: World) -> None:
    filled(world, 1)
    assert world.run("--until=2026-03-02", full=str(world.folder / "out/pages")) == 1
    assert "the disk is full" in world.said
    assert len(world.manifest()) == 2, "what is stored is listed"
    assert not [path for path in world.files() if "/pages/" in path]
    entries = len(world.ledger().journal())
    assert world.run("--until=2026-03-02") == 0
    assert len(world.ledger().journal()) == entries, "the rows were stored before"
    assert_each_once(world, 1)


def test_rows_that_come_late_and_an_edited_file_release_nothing_again(world: World) -> None:
    filled(world, 1)
    assert world.run("--until=2026-03-02") == 0
    before, entries = world.files(), len(world.ledger().journal())
    world.day(0, range(900))
    world.write(FILE.replace("rho: 0.010", "rho: 0.001").replace("bound: 10", "bound: 2"))
    assert world.run("--until=2026-03-02") == 0
    world.forget_files()
    assert world.run("--until=2026-03-02") == 0
    assert (world.files(), len(world.ledger().journal())) == (before, entries)


def test_another_home_with_another_ledger_pays_for_nothing_again(world: World) -> None:
    filled(world, 1)
    world.write(FILE.replace("ledger: ledger.db\n", ""))
    mine = {"HEADCOUNT_LEDGER": str(world.folder / "ledger.db")}
    assert world.run("--until=2026-03-02", environment=mine) == 0
    before = world.files()
    other = {"HEADCOUNT_LEDGER": str(world.folder / "other.db"), "HOME": str(world.folder)}
    assert world.run("--until=2026-03-02", environment=other) == 4
    assert "has no such entry" in world.said
    (world.folder / "out/manifest.jsonl").unlink()
    assert world.run("--until=2026-03-02", environment=other) == 4
    assert "Another ledger has" in world.said
    assert not (world.folder / "other.db").exists()
    assert world.run("--until=2026-03-02", environment=mine) == 0
    assert world.files() == before


def test_all_that_is_said_of_two_neighbours_is_the_same_but_for_the_rows(
    world: World, tmp_path: Path
) -> None:
    """A user more or less, on a day that is empty without them: words, files' names, entries."""
    said = []
    for name, last in (("with", [5]), ("without", [])):
        one = World(tmp_path / name, world.runner)
        one.folder.mkdir()
        one.write()
        for number in range(3):
            one.day(number, [*range(0, 400, 2), *last] if number != 1 else last)
        assert one.run("--until=2026-03-05") == 7, one.said  # the last has no sign
        entries = [(e["kind"], e["key"], e["event"]) for e in one.ledger().journal()]
        charged = [e for e in entries if e[0] == "charge"]
        assert len(charged) == 6, "the empty day is released as any other"
        dropped = ("hash", "result")
        lines = [{k: v for k, v in line.items() if k not in dropped} for line in one.manifest()]
        said.append((one.said.replace(str(one.folder), ""), charged, lines, [*one.files()]))
    assert said[0] == said[1]
