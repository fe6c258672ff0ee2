"""A simulated fleet: each report counted once, and nothing to be seen of one odd answer."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.service.shells import Shell
from tests.service.test_fleet_commands import written

from headcount.cli.examples import EXAMPLES
from headcount.fleet.control import Control
from headcount.fleet.control_metrics import metrics_of
from headcount.fleet.simulate import check
from headcount.fleet.simulate_answers import MadeUp
from headcount.fleet.simulate_fleet import SimulatedFleet
from headcount.fleet.task_file import read_file

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

OF_THE_CLOCK = ["applied", "closes", "leased_until", "finished"]
OF_CHANCE = ["descriptor", "proof"]
"""Keys, and what follows from them."""
TABLES = ("task", "round", "ordered", "job", "version")
ODD, ODD_ANSWER = 77, "odd-one-out"


@pytest.fixture
def drafts() -> Iterator[Path]:
    """A folder for drafts that no other test has, with a name short enough for sockets."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o711)  # root's database is another user's
        yield Path(folder)


@pytest.fixture
def shell(tmp_path: Path, drafts: Path) -> Shell:
    return Shell(tmp_path, HEADCOUNT_HEADS=str(tmp_path / "heads"), TMPDIR=str(drafts))


def test_each_report_of_five_thousand_devices_is_counted_once(
    shell: Shell, drafts: Path, long: bool
) -> None:
    """By the command as its help shows it, and with nothing left of it but what was asked for."""
    n = 100_000 if long else 5_000
    written(shell.folder)
    (example,) = EXAMPLES["fleet simulate"]
    words = example.removeprefix("headcount ").split()
    words[words.index("--devices") + 1] = str(n)
    said = shell(*words, "--out", "apps.csv")
    lines = dict(re.findall(r"^(\w+) {2,}(.+)$", said, re.MULTILINE))
    assert lines["reports"].startswith(f"{n:,} acknowledged")
    assert "all equal to what was sampled" in lines["counts"]
    least = int(re.findall(r"(\d+) sampled devices", lines["threshold"])[0])
    assert f"none of fewer than {least} " in lines["counts"]
    assert lines["promise"].startswith("epsilon 1 at delta 1e-06 for one device of 'phones'")
    assert "for all 30 rounds: rho " in lines["entry"]
    rows = (shell.folder / "apps.csv").read_text().splitlines()
    assert len(rows) > 3
    assert (shell.folder / "apps.svg").exists()
    # No ledger of the user's was asked, and nothing of the fleet is left.
    assert not (shell.folder / "heads").exists()
    assert not list(drafts.iterdir())


def test_what_a_simulation_cannot_do_is_refused_before_it_starts(shell: Shell) -> None:
    written(shell.folder, expires="2020-01-01")
    assert "Nothing was charged" in shell("fleet", "simulate", "task.yaml", code=2)
    asked = ("fleet", "simulate", "task.yaml", "--devices", "10000001")
    assert "Nothing was started" in shell(*asked, code=2)
    assert "--out" in shell(*asked, "--out", "/nowhere/apps.csv", code=2)


def kept(fleet: SimulatedFleet) -> dict[str, Any]:
    """All that the database has, but for ciphertext, and what is of chance or of the clock."""
    found: dict[str, Any] = {}
    with psycopg.connect(fleet.database) as connection:
        for name in TABLES:
            asked = f"SELECT to_jsonb(t) - %s::text[] FROM fleet.{name} t ORDER BY 1"
            found[name] = connection.execute(asked, [OF_THE_CLOCK + OF_CHANCE]).fetchall()
        posts = connection.execute("SELECT round, body FROM fleet.posted").fetchall()
    # How reports were cut into posts is the relay's own chance, and the clock's.
    names = {bytes(body)[i : i + 16] for _, body in posts for i in range(0, len(body), 320)}
    found["posted"] = [{round_ for round_, _ in posts}, len(names)]
    return found


def seen(folder: Path, key: bytes, said: dict[int, str | None]) -> tuple[Any, Any]:
    """All that anybody but the core sees of a fleet; and the release."""
    population = MadeUp(key, 400, 20, said)
    looks: list[Any] = []
    with SimulatedFleet(read_file(folder / "task.yaml"), population) as fleet:
        task = fleet.apply()
        control = Control(fleet.store, fleet.folder / "ledger.db", 1)

        def look() -> None:
            shown = control.rounds(control.applied(task.id.hex()))
            times = {"opens_at", "closes_at", "shown_at"}
            answers = [one.model_dump(exclude=times) for one in shown]
            said = json.dumps(answers), metrics_of(control)
            looks.append((kept(fleet), fleet.programs.printed(), *said))

        told = fleet.answer()
        look()
        release = fleet.released()
        look()
        assert "core.printed" in {one.name for one in fleet.folder.iterdir()}
    check(task, told, release)
    assert told.counted[ODD_ANSWER] == (1 if said.get(ODD) else 0)
    return looks, release.to_arrow().to_pylist()


def test_nothing_is_to_be_seen_of_one_odd_answer(tmp_path: Path) -> None:
    """The same devices with the same coins, of which one has something to say that no other has."""
    written(tmp_path, n=1, epsilon=8)
    # Of a file, so that both have the same: one in which the odd device is sampled.
    key = tmp_path / "key"
    key.write_bytes(bytes(range(32)))
    without, shown = seen(tmp_path, key.read_bytes(), {ODD: None})
    with_it, shown_too = seen(tmp_path, key.read_bytes(), {ODD: ODD_ANSWER})
    assert with_it == without
    assert shown == shown_too
    assert len(shown) >= 2, "nothing to compare"
