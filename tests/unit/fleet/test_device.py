"""A device: asks before it answers, answers a round once, and says no more than it must."""

from __future__ import annotations

import itertools
import json
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.unit.fleet.devices import KEY, round_of
from tests.unit.fleet.lines import (
    NOW,
    OWNER,
    PURPOSE,
    Clock,
    Line,
    asked,
    device,
    opened,
    said,
    with_secret,
)

from headcount.errors import FleetError, UsageError
from headcount.fleet import Device, Policy, device_answers
from headcount.fleet.answering import kept
from headcount.fleet.device_answers import answers_of, selecting
from headcount.fleet.device_policy import DAY
from headcount.fleet.seal import new_private_key, public_key_of

TASK = asked()
ROUND = round_of(TASK)
CANARY = "canary-0123456789"


def test_importing_a_device_loads_no_engine_no_server_and_no_numpy() -> None:
    code = (
        "import sys, json; import headcount.fleet.device; from headcount.fleet import Policy; "
        "print(json.dumps(sorted(sys.modules)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(json.loads(ran.stdout))
    heavy = {"ibis", "duckdb", "pyarrow", "pandas", "polars", "sqlalchemy", "psycopg", "numpy"}
    heavy |= {"scipy", "alembic", "uvicorn", "fastapi", "yaml"}
    assert not heavy & {name.split(".")[0] for name in loaded}
    ours = {"headcount.releases", "headcount.ledger", "headcount.tables", "headcount.fleet.store"}
    assert not (ours | {"headcount.fleet.core", "headcount.fleet.door"}) & loaded


def test_a_device_sends_its_answer_or_an_abstention_of_one_length(tmp_path: Path) -> None:
    for falls in (True, False):
        folder = with_secret(tmp_path, lambda one: kept(TASK, 0, one) == [falls])  # noqa: B023
        line = Line(folder, (TASK, ROUND))
        assert said(device(folder, line).run_once()) == ["sent"]
        assert [len(one) for one in line.sent()] == [320]
        assert opened(ROUND, line.sent()[0]) == ("mail" if falls else None)


def test_nothing_is_worked_out_and_nothing_is_sent_before_somebody_agrees(tmp_path: Path) -> None:
    line = Line(tmp_path, (TASK, ROUND))
    called: list[int] = []
    one = device(tmp_path, line, lambda: called.append(1), agreed=False)
    polled = line.descriptors
    line.descriptors = None  # type: ignore[method-assign, assignment]
    assert "nobody agreed to anything" in said(one.run_once())[0]
    line.descriptors = polled  # type: ignore[method-assign]
    for purpose in ("", "Which app is used most", PURPOSE.upper()):
        one.consent(purpose)
        assert "nobody agreed" in said(one.run_once())[0]
    assert (called, line.sent()) == ([], [])
    assert not (tmp_path / "device" / "secret").exists()
    one.consent(PURPOSE)
    assert said(one.run_once()) == ["sent"]
    assert (len(called), len(line.sent())) == (1, 1)


def test_what_waits_is_not_sent_once_consent_is_withdrawn(tmp_path: Path) -> None:
    line = Line(tmp_path, (TASK, ROUND))
    line.fails = OSError()
    one = device(tmp_path, line)
    assert said(one.run_once()) == ["sealed, and will be sent again"]
    one.consent(PURPOSE, False)
    assert "withdrawn" in said(one.run_once())[0]
    one.consent(PURPOSE)
    # The round was answered once, and is not answered anew.
    assert one.run_once() == []
    assert len(line.sent()) == 1


def test_a_round_is_answered_once_however_often_the_device_runs(tmp_path: Path) -> None:
    line = Line(tmp_path, (TASK, ROUND))
    numbers = itertools.count()
    for _ in range(5):
        device(tmp_path, line, lambda: f"say-{next(numbers)}").run_once()
    assert len(line.sent()) == 1
    assert next(numbers) == 1
    line.offers.append((TASK, round_of(TASK, 1)))
    device(tmp_path, line).run_once()
    assert (len(line.sent()), len(line.sent(1))) == (1, 1)


def test_a_report_is_sent_again_byte_for_byte_until_it_is_taken(tmp_path: Path) -> None:
    line = Line(tmp_path, (TASK, ROUND))
    line.fails = TimeoutError()
    numbers = itertools.count()
    for _ in range(3):
        device(tmp_path, line, lambda: f"say-{next(numbers)}").run_once()
    line.fails = None
    assert said(device(tmp_path, line).run_once()) == ["sent"]
    assert said(device(tmp_path, line).run_once()) == []
    # The second of each run finds it kept: once before the poll, and not once more after it.
    assert len(line.sent()) == 4
    assert len(set(line.sent())) == 1
    assert next(numbers) == 1


def test_what_was_not_taken_is_dropped_when_the_round_is_over(tmp_path: Path) -> None:
    line, clock = Line(tmp_path, (TASK, ROUND)), Clock()
    line.fails = OSError()
    one = device(tmp_path, line, clock=clock)
    one.run_once()
    line.offers = []
    clock.now = ROUND.closes + DAY
    assert said(one.run_once()) == ["the round is over"]
    assert one.run_once() == []
    assert len(line.sent()) == 2


def test_a_round_that_is_offered_with_another_key_is_not_answered_again(tmp_path: Path) -> None:
    line = Line(tmp_path, (TASK, ROUND))
    one = device(tmp_path, line)
    one.run_once()
    for other in (
        round_of(TASK, 0, new_private_key()),
        replace(ROUND, opens=ROUND.opens + 1),
    ):
        line.offers = [(TASK, other)]
        assert one.run_once() == []
    assert len(line.sent()) == 1


def test_several_answers_are_several_reports_and_a_value_is_sent_once(tmp_path: Path) -> None:
    task = asked(answers=3, rho=Fraction(9, 100))
    for falls, expected in (
        ([True, True, True], ["mail", None, "maps"]),
        # The first one's coin decides about the value.
        ([False, True, True], [None, None, "maps"]),
    ):
        folder = with_secret(tmp_path, lambda one: kept(task, 0, one) == falls)  # noqa: B023
        line = Line(folder, (task, round_of(task)))
        device(folder, line, lambda: ["mail", "mail", "maps", "beyond"]).run_once()
        assert [len(one) for one in line.sent()] == [320] * 3
        assert [opened(round_of(task), one) for one in line.sent()] == expected


def broken() -> str:
    raise RuntimeError(CANARY)


@pytest.mark.parametrize(
    "say",
    [
        lambda: None,
        broken,
        lambda: 7,
        lambda: "NOT ALLOWED",
        lambda: "",
        lambda: "x" * 300,
        object,
        lambda: itertools.repeat(7),
        lambda: "\ud800",
    ],
    ids=["none", "raises", "number", "pattern", "empty", "long", "object", "endless", "half"],
)
def test_what_is_no_answer_is_an_abstention_that_is_sent(tmp_path: Path, say: Any) -> None:
    line = Line(tmp_path, (TASK, ROUND))
    assert said(device(tmp_path, line, say).run_once()) == ["sent"]
    (report,) = line.sent()
    assert (len(report), opened(ROUND, report)) == (320, None)


def test_the_same_is_said_whatever_the_answer_is_and_however_the_coin_falls(tmp_path: Path) -> None:
    found = set()
    coins = set()
    uncovered = asked(cover=False)
    policy = Policy(OWNER, max_epsilon=4, needs_cover=False)
    for falls, say in itertools.product((True, False), ("mail", None)):
        folder = with_secret(
            tmp_path,
            lambda one: kept(TASK, 0, one) + kept(uncovered, 0, one) == [falls] * 2,  # noqa: B023
        )
        line = Line(folder, (uncovered, round_of(uncovered)), (TASK, ROUND))
        one = device(folder, line, lambda: say, policy)  # noqa: B023
        ran = one.run_once()
        found.add((tuple(ran), one.explain(), *one.run_once()))
        coins.add(len(line.sent()))
    assert len(found) == 1
    # Without cover who looks at the line can tell; that is why a policy refuses it.
    assert coins == {1, 2}


def test_no_answer_is_on_disk_and_the_secret_is_not_sent(tmp_path: Path) -> None:
    line = Line(tmp_path, (TASK, ROUND))
    line.fails = OSError()
    one = device(tmp_path, line, lambda: CANARY)
    one.run_once()
    everything = b"".join(p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert CANARY.encode() not in everything
    secret = (tmp_path / "device" / "secret").read_bytes()
    assert everything.count(secret) == 1
    assert (tmp_path / "device").stat().st_mode & 0o077 == 0


def test_a_folder_that_others_can_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "device").mkdir(mode=0o755)
    with pytest.raises(UsageError, match="chmod 700"):
        device(tmp_path, Line(tmp_path))


def test_explain_says_who_asks_what_was_sent_and_what_it_costs(tmp_path: Path) -> None:
    line = Line(tmp_path, (TASK, ROUND))
    one = device(tmp_path, line, agreed=False)
    assert "cost epsilon 0 of 2" in one.explain()
    one.consent("something else")
    one.run_once()
    assert "nobody agreed" in one.explain("top_app")
    one.consent(PURPOSE)
    one.run_once()
    text = one.explain("top_app")
    for expected in (OWNER, PURPOSE, "2027-03-01", "chance 0.25", "at least 14", "Round 0"):
        assert expected in text
    assert "sent and taken" in text
    assert "It would say now: 'mail'" in text
    assert "cost epsilon 0 of 2" not in text
    assert "top_app" not in one.explain("another")
    line.offers = []
    one.run_once()
    assert OWNER in one.explain(), "what was answered is told after it is no longer offered"


# The task's own SELECT


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return made_database(tmp_path)


def made_database(folder: Path) -> Path:
    place = folder / "app ü?.db"
    with sqlite3.connect(place) as made:
        made.execute("CREATE TABLE usage (app TEXT, secs INTEGER)")
        made.executemany("INSERT INTO usage VALUES (?, ?)", [("mail", 9), ("maps", 5), (None, 1)])
    return place


def test_the_tasks_select_answers_over_sqlite(
    tmp_path: Path, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = "SELECT app FROM usage ORDER BY secs DESC"
    source = selecting(database)
    assert answers_of(source, asked(question={"sql": sql})) == ["mail"]
    assert answers_of(source, asked(answers=5, question={"sql": sql})) == ["mail", "maps", None]
    counted = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
    # Long enough for a query to go wrong, were it let.
    monkeypatch.setattr(device_answers, "SECONDS", 1.0)
    for odd in (
        "",
        "SELECT secs FROM usage",
        "SELECT app, secs FROM usage",
        "SELECT nothing FROM usage",
        "SELECT load_extension('x')",
        "SELECT name FROM pragma_table_info('usage')",
        f"SELECT max(i) FROM ({counted} i FROM n)",
    ):
        assert not any(answers_of(source, asked(question={"sql": odd}))), odd
    before = database.read_bytes()
    for writing in ("DELETE FROM usage", "ATTACH 'x.db' AS x", "PRAGMA user_version = 3"):
        task = asked()
        object.__setattr__(task.file.question, "sql", writing)
        assert answers_of(source, task) == []
    assert database.read_bytes() == before
    assert answers_of(selecting(tmp_path / "none.db"), asked(question={"sql": sql})) == []
    assert not (tmp_path / "none.db").exists()


MANY_A = "replace(hex(zeroblob({})), '0', 'a')"
SLOW = f"instr({MANY_A.format(5_000_000)}, {MANY_A.format(2_500_000)} || 'b')"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT app FROM usage",
        "SELECT nothing",
        f"SELECT CASE WHEN {SLOW} THEN app ELSE 'maps' END FROM usage",
        "SELECT hex(zeroblob(400000000))",
    ],
    ids=["an answer", "a fault", "a slow step", "a large one"],
)
def test_a_query_takes_the_same_time_whatever_it_finds(
    database: Path, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One step of a query cannot be stopped from inside, and tells by its time what it found."""
    monkeypatch.setattr(device_answers, "SECONDS", 2.0)
    task = asked()
    object.__setattr__(task.file.question, "sql", sql)
    begun = time.monotonic()
    answers_of(selecting(database), task)
    assert 2.0 <= time.monotonic() - begun < 30


def test_a_device_answers_by_sql(tmp_path: Path, database: Path) -> None:
    task = asked(question={"sql": "SELECT app FROM usage ORDER BY secs DESC LIMIT 1"})
    line = Line(tmp_path, (task, round_of(task)))
    one = Device(line, tmp_path / "device", Policy(OWNER), clock=lambda: NOW)
    one.answers_from("top_app", database)
    with pytest.raises(UsageError, match="twice"):
        one.answers("top_app")(lambda: "mail")
    one.consent(PURPOSE)
    assert said(one.run_once()) == ["sent"]
    assert "SELECT app FROM usage" in one.explain("top_app")
    assert public_key_of(KEY) == round_of(task).public_key
    assert opened(round_of(task), line.sent()[0]) in ("mail", None)


# A folder that fails


def test_a_folder_that_cannot_be_written_sends_nothing_and_says_so(tmp_path: Path) -> None:
    line = Line(tmp_path, (TASK, ROUND))
    one = device(tmp_path, line)
    place = tmp_path / "device" / "device.db"
    saved = place.read_bytes()
    place.write_bytes(b"not a database" * 100)
    with pytest.raises(FleetError, match="running again is safe") as raised:
        one.run_once()
    assert raised.value.__context__ is None
    assert line.sent() == []
    place.write_bytes(saved)
    assert said(one.run_once()) == ["sent"]
