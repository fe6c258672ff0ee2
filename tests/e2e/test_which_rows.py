"""Which rows a source has, and whose budget they take: two questions, and neither is the other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.errors import HeadcountError, LedgerError, UsageError
from headcount.ledger.ledger import Ledger

BUDGET = hc.Budget(rho=100, delta=1e-3)
NEARLY_NO_NOISE = hc.Budget(rho=10)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: str, group: str, n: int) -> None:
    table = pa.table({"user": [f"u{i}" for i in range(n)], "group": [group] * n})
    pq.write_table(table, path)


def opened(source: Any, account: str | None = None, **more: Any) -> hc.Dataset:
    return hc.open(source, user="user", budget=BUDGET, ledger="l.db", account=account, **more)


def counted(data: hc.Dataset, by: str = "group", groups: tuple[str, ...] = ("a", "b")) -> Any:
    plan = data.count_users(by, groups=list(groups), bound=1, spend=NEARLY_NO_NOISE)
    release = plan.release()
    return [
        round(n, -1) for n in release.to_arrow()["count"].to_pylist()
    ], release.again is not None


def accounts() -> list[str]:
    return [account.name for account in Ledger("l.db").accounts()]


def test_hard_links_that_are_opened_before_either_is_charged(here: Path) -> None:
    write("a.parquet", "a", 500)
    os.link("a.parquet", "b.parquet")
    first, second = opened("a.parquet"), opened("b.parquet")
    counted(first)
    with pytest.raises(LedgerError, match="belongs to account"):
        counted(second)
    assert len(accounts()) == 1


def test_a_file_that_was_rotated_keeps_its_account(here: Path) -> None:
    write("log.parquet", "a", 500)
    counted(opened("log.parquet"))
    os.rename("log.parquet", "log.1.parquet")
    write("log.parquet", "b", 90)
    assert opened("log.1.parquet").account_name == str(here / "log.parquet")
    counted(opened("log.1.parquet"))
    assert len(accounts()) == 1


def test_a_link_that_leads_elsewhere_later_is_another_source(here: Path) -> None:
    write("x.parquet", "a", 500)
    write("y.parquet", "b", 90)
    os.symlink("x.parquet", "current.parquet")
    data = opened("current.parquet", "x")
    os.unlink("current.parquet")
    os.symlink("y.parquet", "current.parquet")
    assert counted(data) == ([500, 0], False)
    assert counted(opened("current.parquet", "y")) == ([0, 90], False)
    assert counted(opened("x.parquet", "x")) == ([500, 0], True)


def test_what_folders_say_is_part_of_the_question(here: Path) -> None:
    write("f.parquet", "a", 500)
    for day in "12":
        (here / f"day={day}").mkdir()
        os.symlink("../f.parquet", f"day={day}/f.parquet")
    assert counted(opened("day=1/f.parquet"), "day", ("1", "2")) == ([500, 0], False)
    assert counted(opened("day=2/f.parquet"), "day", ("1", "2")) == ([0, 500], False)
    assert len(accounts()) == 1


def test_a_file_that_a_pattern_finds_twice_is_another_question(here: Path) -> None:
    (here / "w").mkdir()
    write("w/a.parquet", "a", 500)

    def events() -> Any:
        data = opened("w/*.parquet")
        plan = data.count_events("group", groups=["a"], bound=4, spend=NEARLY_NO_NOISE)
        return plan.release().again

    assert events() is None
    assert events() is not None
    os.symlink("a.parquet", "w/b.parquet")
    assert events() is None
    assert len(accounts()) == 1


@pytest.fixture
def warehouse(here: Path) -> Path:
    with duckdb.connect("w.duckdb") as connection:
        for name, group, n in (("web", "a", 500), ("app", "b", 90)):
            connection.execute(
                f"create table {name} as "
                f"select 'u' || i as \"user\", '{group}' as \"group\" from range({n}) t(i)"
            )
        connection.execute("create view qualified as select * from w.web")
        connection.execute("create macro t() as table select * from web")
        connection.execute("create view by_macro as select * from t()")
        connection.execute("create view by_name as select * from query_table('web')")
        connection.execute("create view named as with app as (select * from web) select * from app")
    return here


def test_a_database_before_a_name_is_no_other_table(warehouse: Path) -> None:
    counted(opened("duckdb://w.duckdb?table=web", "web"))
    for name in ("w.web", "w.main.web", "main.web", "qualified"):
        with pytest.raises(LedgerError, match="belongs to account 'web'"):
            opened(f"duckdb://w.duckdb?table={name}", "another")
    assert accounts() == ["web"]


def test_two_tables_of_one_account_are_two_questions(warehouse: Path) -> None:
    assert counted(opened("duckdb://w.duckdb?table=w.web", "all")) == ([500, 0], False)
    assert counted(opened("duckdb://w.duckdb?table=w.app", "all")) == ([0, 90], False)
    assert counted(opened("duckdb://w.duckdb?table=main.web", "all")) == ([500, 0], True)


@pytest.mark.parametrize("name", ["by_macro", "by_name"])
def test_what_cannot_be_traced_opens_no_account(warehouse: Path, name: str) -> None:
    source = f"duckdb://w.duckdb?table={name}"
    with pytest.raises(HeadcountError, match="so that nobody can say whether they have an account"):
        opened(source, "new", trusted_view="the owner of the tables")
    assert accounts() == []
    Ledger("l.db").open_account("web", BUDGET)
    data = hc.open(source, user="user", ledger="l.db", account="web", trusted_view="their owner")
    assert counted(data) == ([500, 0], False)


def test_a_name_that_a_view_gives_itself_hides_no_table(warehouse: Path) -> None:
    counted(opened("duckdb://w.duckdb?table=web", "web"))
    counted(opened("duckdb://w.duckdb?table=app", "app"))
    with pytest.raises(LedgerError, match="belongs to account"):
        opened("duckdb://w.duckdb?table=named", "another", trusted_view="their owner")


def test_a_file_is_no_table_of_a_database(warehouse: Path) -> None:
    write("events.parquet", "a", 500)
    with pytest.raises(UsageError, match="no stored table"):
        opened("duckdb://w.duckdb?table=events.parquet", "new", trusted_view="its owner")
