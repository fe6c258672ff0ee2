"""A pipeline day by day, as sites run it: three releases, and all that goes wrong.

Each simulated morning brings the rows of a day, or does not; a run starts, or two; some are killed,
some find the disk full, some days are late by up to two weeks, some files are lost. In the long
mode there are 400 days and 20,000 people.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from tests.service.series_world import FILE, START, World, killed, new_runner


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    runner = new_runner()
    made = World(tmp_path, runner)
    made.write(FILE.replace("lag: 1 day", "lag: 0 days"))
    yield made
    assert runner.stdin is not None
    assert runner.stdout is not None
    runner.stdin.close()
    runner.wait(60)
    runner.stdout.close()


def test_every_window_of_a_year_is_released_once(world: World, long: bool) -> None:
    n_days, n_users = (400, 20_000) if long else (8, 600)
    dice, people = random.Random(3), np.random.default_rng(3)
    habit = people.beta(0.5, 6, n_users)  # a few come nearly every day, most come rarely
    late: dict[int, int] = {}
    met = Counter[str]()
    for number in range(n_days):
        until = f"--until={START + timedelta(days=number)}"
        is_late = dice.random() < 0.1
        world.day(number, np.flatnonzero(people.random(n_users) < habit), sign=not is_late)
        if is_late:
            late[number] = number + dice.randint(1, 14)
        for one in [one for one, comes in late.items() if comes <= number]:
            world.sign(one)
            del late[one]
        what = dice.choice(["killed at a step", "killed", "two at once", "full", "lost", "well"])
        met[what] += 1
        if what == "killed at a step":
            world.run(until, step=dice.randint(1, 9))
        elif what == "killed":
            run = world.start(until)
            time.sleep(dice.random())
            killed(run)
            world.wait(run)
        elif what == "full":
            assert world.run(until, full=str(world.folder / "out/total")) in (1, 7)
        elif what == "lost" and (world.folder / "out/total").exists():
            for path in (world.folder / "out/total").rglob("rows.parquet"):
                path.unlink()
        runs = [world.start(until) for _ in range(1 + (what == "two at once"))]
        for run in runs:
            assert world.wait(run) == (7 if late else 0), world.said
    for one in late:
        world.sign(one)
    assert world.run(until) == 0
    n_keys, n_weeks = 2 * n_days + n_days // 7, n_days // 7
    assert {*world.kinds("charge").values(), *world.kinds("result").values()} == {1}
    assert len(world.kinds("charge")) == len(world.kinds("result")) == n_keys
    assert sum(path.endswith("rows.parquet") for path in world.files()) == n_keys
    assert not [path for path in world.files() if path.endswith(".part")]
    assert len(world.manifest()) == n_keys
    paid = world.balances(n_days)
    assert sum(paid.values()) == n_days
    assert sum(n for rho, n in paid.items() if rho > 0.0149) == 7 * n_weeks
    world.ledger().verify()
    before, entries = world.files(), len(world.ledger().journal())
    world.forget_files()
    began = time.monotonic()
    assert world.run(until) == 0
    assert (world.files(), len(world.ledger().journal())) == (before, entries)
    if long:
        print(f"{dict(met)}; {n_keys} files made again in {time.monotonic() - began:.1f} s")
