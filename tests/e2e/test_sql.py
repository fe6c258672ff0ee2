"""A query from a shell: the rows of the verb, once; or a refusal with a query that works."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pandas as pd
import pytest

import headcount as hc

HEADCOUNT = str(Path(sys.executable).with_name("headcount"))
LARGEST = (
    "SELECT page, COUNT(DISTINCT user_id) FROM events WHERE page <> '/home/0000' "
    "GROUP BY page ORDER BY 2 DESC LIMIT 5"
)


@pytest.fixture
def folder(demo_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copy(demo_file, tmp_path / "events.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADCOUNT_LEDGER", str(tmp_path / "ledger.db"))
    return tmp_path


def ran(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HEADCOUNT, *words], capture_output=True, text=True, check=False)


def asked(query: str, *words: str) -> subprocess.CompletedProcess[str]:
    return ran("sql", "events.parquet", query, "--user", "user_id", *words)


def test_a_query_and_the_verb_are_one_question(folder: Path) -> None:
    paid = ("--epsilon", "1", "--budget", "3")
    first = asked(LARGEST, *paid, "--out", "one.csv")
    assert first.returncode == 0, first.stderr
    again = ran(
        "count-users", "events.parquet", "--user", "user_id", "--by", "page", "--top", "5",
        "--where", "page <> '/home/0000'", *paid, "--out", "two.csv",
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert "charged before" in again.stdout
    assert (folder / "one.csv").read_text("utf-8") == (folder / "two.csv").read_text("utf-8")
    rows = (folder / "one.csv").read_text("utf-8").splitlines()
    assert rows[0].split(",")[:2] == ['"page"', '"count"']
    assert len(rows) == 6
    account = hc.open("events.parquet", user="user_id").account_name
    entries = hc.open("events.parquet", user="user_id").ledger.entries(account)
    assert [entry.verb for entry in entries] == ["count_users"]


def test_a_refusal_charges_nothing_and_its_query_works(folder: Path) -> None:
    refused = asked(LARGEST.replace("ORDER", "HAVING COUNT(*) > 5 ORDER"), "--epsilon", "1",
                    "--budget", "3")  # fmt: skip
    assert refused.returncode == 2
    assert "HAVING" in refused.stderr
    assert "Nothing was read and nothing was charged" in refused.stderr
    assert not (folder / "ledger.db").exists()
    works = re.sub(r"\s+", " ", refused.stderr).partition("This works: ")[2].strip()
    assert "LIMIT 5" in works
    plan = asked(works, "--epsilon", "1", "--budget", "3", "--plan")
    assert plan.returncode == 0, plan.stderr
    assert "<> '/home/0000'" in plan.stdout
    assert not (folder / "ledger.db").exists()


@pytest.mark.usefixtures("folder")
def test_a_condition_is_said_once() -> None:
    refused = asked(LARGEST, "--where", "page <> 'x'", "--epsilon", "1", "--budget", "3")
    assert refused.returncode == 2
    assert "--where" in refused.stderr
    assert "(page <> " in refused.stderr
    assert "This works" not in refused.stderr
    assert "Without WHERE this works: SELECT page, COUNT(DISTINCT user_id)" in refused.stderr


def test_from_names_what_was_opened(folder: Path) -> None:
    frame = pd.DataFrame({"user_id": ["a", "b"], "page": ["x", "y"]})
    (folder / "d").mkdir()
    with duckdb.connect(str(folder / "web.duckdb")) as connection:
        connection.register("frame", frame)
        connection.execute("create table visits as select * from frame")
    for name in ("page views.csv", "d/one.csv", "d/two.csv", "logs.2026.CSV"):
        frame.to_csv(folder / name, index=False)
    shutil.copy(folder / "web.duckdb", folder / "other.duckdb")
    table = ibis.duckdb.connect(str(folder / "other.duckdb")).table("visits")
    names = [
        ("page views.csv", '"page views"'),
        ("logs.2026.CSV", '"logs.2026"'),
        ("d/*.csv", "events"),
        ("duckdb://web.duckdb?table=visits", "visits"),
        ("duckdb://web.duckdb?table=main.visits", "visits"),
        ("duckdb://web.duckdb?table=main.visits", "main.visits"),
        (frame, "events"),
        (table, "visits"),
        (table.filter(table.page != "x"), "events"),
    ]
    for number, (source, name) in enumerate(names):
        data = hc.open(
            source, user="user_id", budget=hc.Budget(rho=1), account=f"people {number}",
            ledger=folder / f"{number}.db",
        )  # fmt: skip
        query = "SELECT page, COUNT(*) FROM {} GROUP BY page"
        plan = data.sql(query.format(name), spend="1/10")
        assert plan.work.request == data.count_events("page", spend="1/10").work.request
        with pytest.raises(hc.UsageError, match="FROM names the table") as caught:
            data.sql(query.format("elsewhere"), spend="1/10")
        assert data.sql(str(caught.value).partition("This works: ")[2], spend="1/10").title


def test_what_sql_has_no_words_for_is_said_beside_it(folder: Path) -> None:
    data = hc.open(folder / "events.parquet", user="user_id", budget=hc.Budget(rho=1))
    users = "SELECT page, COUNT(DISTINCT user_id) FROM events GROUP BY page"
    rows = "SELECT page, COUNT(*) FROM events GROUP BY page"
    groups = ["/home/0000", "/news/0000"]
    said: dict[str, Any]
    for said in ({"within": 0.1}, {"groups": groups}, {"bound": 3}, {"method": "sample"}):
        one = data.sql(users, **said, spend="1/10")
        assert one.explain() == data.count_users("page", **said, spend="1/10").explain()
    for said in ({"within": 0.1}, {"groups": groups}, {"groups": groups, "bound": 2.5}):
        one = data.sql(rows, **said, spend="1/10")
        assert one.explain() == data.count_events("page", **said, spend="1/10").explain()
    everyone = "SELECT COUNT(DISTINCT user_id) FROM events"
    for said in ({"within": 0.1}, {"groups": groups}, {"bound": 3}):
        with pytest.raises(hc.UsageError, match="no GROUP BY"):
            data.sql(everyone, **said, spend="1/10")
    assert data.sql(everyone, spend="1/10").release().to_arrow().num_rows == 1
    with pytest.raises(hc.UsageError, match="Say what this release may cost"):
        data.sql(users)
