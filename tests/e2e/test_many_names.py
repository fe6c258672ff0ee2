"""One file of many names is one question; one question has one answer; another table has none."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.errors import HeadcountError, LedgerError
from headcount.ledger.ledger import Ledger

BUDGET, ONE = hc.Budget(rho=100, delta=1e-3), hc.Budget(rho=1)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def table(group: str = "group", n_users: int = 500) -> pa.Table:
    return pa.table({"user": list(range(n_users)), group: ["a"] * n_users})


def write_parquet(path: str, rows: pa.Table) -> None:
    pq.write_table(rows, path)


def write_csv(path: str, rows: pa.Table) -> None:
    lines = [rows.column_names, *zip(*rows.to_pydict().values(), strict=True)]
    Path(path).write_text("".join(f"{one},{other}\n" for one, other in lines))


def write_duckdb(path: str, rows: pa.Table) -> None:
    with duckdb.connect(path) as connection:
        connection.register("incoming", rows)
        connection.execute("create table t as from incoming")


WRITE: dict[str, Callable[[str, pa.Table], None]] = {
    ".parquet": write_parquet,
    ".csv": write_csv,
    ".duckdb": write_duckdb,
}


def opened(path: str, account: str | None = None) -> hc.Dataset:
    source = f"duckdb://{path}?table=t" if path.endswith(".duckdb") else path
    if account is None and path.endswith(".duckdb") and not Path("l.db").exists():
        account = "web"
    return hc.open(source, user="user", budget=BUDGET, ledger="l.db", account=account)


def ask(path: str, group: str = "a") -> hc.Release:
    return opened(path).count_users("group", groups=[group], bound=1, spend=ONE).release()


def spent() -> list[int]:
    return [int(account.spent.rho) for account in Ledger("l.db").accounts()]


@pytest.mark.parametrize("ending", WRITE)
def test_a_hard_link_is_no_way_to_a_second_draw(here: Path, ending: str) -> None:
    a, b, c = (f"{name}{ending}" for name in "abc")
    WRITE[ending](b, table())
    first = ask(b)
    os.link(b, a)
    os.link(b, c)
    assert ask(a).to_arrow() == first.to_arrow()
    assert spent() == [1]
    # A new question by the second name, and then by the others.
    second = ask(a, "other")
    for name in (c, b, a):
        assert ask(name, "other").to_arrow() == second.to_arrow()
        assert ask(name).again is not None
    assert spent() == [2]


def test_both_names_in_one_pattern_are_other_rows_than_one(here: Path) -> None:
    write_parquet("a.parquet", table())
    ask("a.parquet")
    os.link("a.parquet", "b.parquet")
    assert ask("*.parquet").again is None
    assert ask("*.parquet").again is not None
    assert spent() == [2]


@pytest.mark.parametrize("ending", WRITE)
def test_a_file_written_anew_and_then_linked_keeps_its_account(here: Path, ending: str) -> None:
    path, other = f"events{ending}", f"other{ending}"
    WRITE[ending](path, table())
    first = ask(path)
    WRITE[ending](f"new{ending}", table(n_users=700))
    os.replace(f"new{ending}", path)
    os.link(path, other)
    with pytest.raises(LedgerError, match="belongs to account"):
        opened(other, "another budget")
    # The answer of this question; whoever wants one of the new rows says so.
    assert ask(other).to_arrow() == first.to_arrow()
    assert spent() == [1]
    assert ask(path).again is not None


def test_a_link_made_while_the_table_is_open(here: Path) -> None:
    """Nobody had a second name when it was opened."""
    write_parquet("a.parquet", table())
    data = opened("a.parquet")
    first = data.count_users("group", groups=["a"], bound=1, spend=ONE).release()
    os.link("a.parquet", "0.parquet")
    assert ask("0.parquet").to_arrow() == first.to_arrow()
    again = data.count_users("group", groups=["a"], bound=1, spend=ONE).release()
    assert again.to_arrow() == first.to_arrow()
    assert spent() == [1]


@pytest.mark.parametrize("asked", [{}, {"within": 0.1}, {"top": 200}], ids=str)
def test_a_profile_leaves_answered_questions_answered(here: Path, asked: dict[str, Any]) -> None:
    write_parquet("a.parquet", table())
    data = opened("a.parquet")

    def count() -> hc.Release:
        return data.count_users("group", spend=ONE, **asked).release()

    first = count()
    data.profile("group", spend=ONE).release()
    assert count().to_arrow() == first.to_arrow()
    data.profile("group", spend=ONE).release(fresh=True)
    assert count().to_arrow() == first.to_arrow()
    assert spent() == [3]
    rest = hc.Budget(rho=97)
    data.count_users("group", groups=["a"], spend=rest).release()
    assert count().again is not None
    assert opened("a.parquet").count_users("group", spend=ONE, **asked).release().again is not None


OTHER_TABLES = {
    "another column": table("price"),
    "another type": pa.table({"user": list(range(500)), "group": list(range(500))}),
    "users of another type": pa.table(
        {"user": [f"u{i}" for i in range(500)], "group": ["a"] * 500}
    ),
}


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
@pytest.mark.parametrize("how", OTHER_TABLES)
def test_a_table_with_other_columns_is_not_charged(here: Path, how: str, ending: str) -> None:
    """Exchanged between the plan and the release."""
    if ending == ".csv" and "type" in how:
        pytest.skip("all columns of a CSV file are texts")
    path = f"events{ending}"
    WRITE[ending](path, table())
    data = opened(path)
    ask(path, "before")
    plans = [
        data.count_users("group", groups=["a"], spend=ONE),
        data.count_users("group", spend=ONE),
        data.profile("group", spend=ONE),
    ]
    WRITE[ending](path, OTHER_TABLES[how])
    for plan in plans:
        with pytest.raises(HeadcountError, match="nothing was charged"):
            plan.release()
    assert spent() == [1]
    WRITE[ending](path, table())
    plans[0].release()
    assert spent() == [2]


def test_columns_that_are_added_or_moved_do_no_harm(here: Path) -> None:
    write_parquet("a.parquet", table())
    plan = opened("a.parquet").count_users("group", groups=["a"], bound=1, spend=ONE)
    rows = pa.table({"group": ["a"] * 300, "more": [1] * 300, "user": list(range(300))})
    write_parquet("a.parquet", rows)
    assert plan.release().to_arrow()["count"].to_pylist() == pytest.approx([300], abs=10)


def test_one_release_says_that_the_ledger_is_new(
    here: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_parquet("a.parquet", table())
    data = opened("a.parquet")
    plans = [data.count_users("group", groups=[str(n)], bound=1, spend=ONE) for n in range(8)]
    with caplog.at_level(logging.WARNING, "headcount"):
        threads = [threading.Thread(target=plan.release) for plan in plans]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert caplog.text.count("first in the new ledger") == 1
    assert spent() == [8]
