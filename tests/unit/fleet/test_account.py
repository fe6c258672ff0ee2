"""Rows of a table and answers of devices under one account: one limit, one statement."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.unit.fleet.devices import WRITTEN
from typer.testing import CliRunner

import headcount as hc
from headcount.cli.commands import app
from headcount.errors import BudgetError, LedgerError, UsageError
from headcount.fleet.plan import mechanism_of, planned
from headcount.fleet.task_file import read_task
from headcount.ledger.ledger import Ledger
from headcount.ledger.statement.statement import statement

SHORT = {**WRITTEN, "rounds": {"every": "1d", "keep_open": "18h", "n": 2}}


def run(*words: str, fails: type[Exception] | None = None) -> str:
    ran = CliRunner().invoke(app, ["ledger", *words])
    if fails is None:
        assert ran.exit_code == 0, ran.output
    else:
        assert isinstance(ran.exception, fails), ran.output
    return ran.output + str(ran.exception or "")


@pytest.fixture
def events(tmp_path: Path) -> Path:
    file = tmp_path / "events.parquet"
    pq.write_table(pa.table({"user": list(range(900)), "app": ["mail"] * 900}), file)
    return file


def test_one_account_pays_for_a_table_and_for_devices(events: Path, tmp_path: Path) -> None:
    where = ("--ledger", str(tmp_path / "l.db"))
    covers = ("--covers", str(events), "--covers", "fleet:phones")
    run("open", "app-users", "--budget", "1.2", "--neighbours", "replace", *covers, *where)
    assert "covers fleet:phones" in run("show", *where)

    ledger = Ledger(tmp_path / "l.db")
    task = planned(read_task(SHORT), ledger.account("app-users"), date(2027, 1, 1))
    done = mechanism_of(task)

    def charge(key: str) -> int:
        return ledger.charge(
            ledger.opening("app-users"),
            key=key,
            request_hash=key,
            verb="fleet",
            event=done.event,
            neighbours=task.terms.neighbours,
            about={"task": task.file.task, "population": task.file.population, "rounds": "2"},
        ).sequence

    data = hc.open(events, user="user", ledger=tmp_path / "l.db", neighbours="replace")
    data.count_users(by="app", groups=["mail"], bound=1, spend="1/10").release()
    charge("fleet/top_app/1")
    text = statement(ledger, "app-users")
    for words in ("count_users by app", "Answers collected from devices", "column user", "phones"):
        assert words in text, words
    with pytest.raises(BudgetError, match="Nothing was read and nothing was charged"):
        charge("fleet/top_app/2")
    with pytest.raises(BudgetError):
        data.count_users(by="app", groups=["mail"], bound=1, spend="6/10")


def test_a_second_budget_for_the_same_devices_is_refused(tmp_path: Path) -> None:
    where = ("--ledger", str(tmp_path / "l.db"))
    run(
        "open",
        "one",
        "--budget",
        "1",
        "--neighbours",
        "replace",
        "--covers",
        "fleet:phones",
        *where,
    )
    more = ("open", "two", "--budget", "1", "--neighbours", "replace", *where)
    said = run(*more, "--covers", "fleet:phones", fails=LedgerError)
    assert "one" in said
    run(*more, "--covers", "fleet:tablets")
    for odd in ("fleet:", "fleet:Phones", "fleet://phones", "fleets:phones"):
        run("open", "three", "--budget", "1", "--covers", odd, *where, fails=UsageError)
