"""What is charged for is what was opened: databases, views and tables exchanged meanwhile."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pytest
from tests.e2e.exchanges import ROWS, opened, planned, spent, write

from headcount.errors import HeadcountError, LedgerError, UsageError
from headcount.ledger.ledger import Ledger
from headcount.tables.sessions import lock_of


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def connection(here: Path) -> Any:
    connection = ibis.duckdb.connect("w.duckdb")
    connection.raw_sql(f"create table events as {ROWS}")
    connection.raw_sql("create table decoy as select * from events limit 9")
    connection.raw_sql("create table swapped as select * from decoy")
    connection.raw_sql("create view v as select * from decoy")
    duckdb.connect("other.duckdb").execute("create table far as select 'x' user_id, 'p0' page")
    connection.raw_sql("attach 'other.duckdb' as zz (read_only)")
    planned(opened(connection.table("events"), "web")).release()
    return connection


MIXED = "select user_id, 'p' || sum(n) over () as page from decoy"


EXCHANGES = {
    "a view of another table": ("v", "create or replace view v as select * from events"),
    "a view in the place of a table": (
        "swapped",
        "drop table swapped; create view swapped as select * from events",
    ),
    "a view that mixes people": ("v", f"create or replace view v as {MIXED}"),
    "a table in the place of another": (
        "swapped",
        "alter table swapped rename to old; create view swapped as select * from events",
    ),
}


@pytest.mark.parametrize("how", EXCHANGES)
def test_a_relation_that_is_another_by_now_is_refused(how: str, connection: Any) -> None:
    name, exchange = EXCHANGES[how]
    data = opened(connection.table(name), "other")
    plan = planned(data)
    connection.raw_sql(exchange)
    with pytest.raises(HeadcountError, match="nothing was charged"):
        plan.release()
    assert spent() == {"web": 1}


def test_a_relation_that_is_exchanged_while_it_is_read_is_not_shown(connection: Any) -> None:
    plan = planned(opened(connection.table("v"), "other"))

    def exchange(stage: str) -> None:
        if stage == "reading the table":
            connection.raw_sql("create or replace view v as select * from events")

    with pytest.raises(HeadcountError):
        plan.release(progress=exchange)
    (entry,) = Ledger("l.db").entries("other")
    assert not entry.has_result
    connection.raw_sql("create or replace view v as select * from decoy")
    plan.release()
    assert spent() == {"web": 1, "other": 1}


def test_a_database_under_the_name_of_another_is_refused(connection: Any) -> None:
    table = connection.table("far", database="zz.main")
    plan = planned(opened(table, "other"))
    duckdb.connect("third.duckdb").execute("create table far as select 'x' user_id, 'p0' page")
    connection.raw_sql("detach zz; attach 'third.duckdb' as zz (read_only)")
    with pytest.raises(UsageError, match="other tables or files"):
        plan.release()
    assert spent() == {"web": 1}


@pytest.mark.parametrize("how", ["moved", "another in its place", "garbage in its place"])
def test_a_database_that_was_moved_since_it_was_opened_is_refused(here: Path, how: str) -> None:
    """It is still read through its handle, and nobody would know it again."""
    for name in ("real", "other"):
        with duckdb.connect(f"{name}.duckdb") as made:
            made.execute(f"create table t as {ROWS}")
    plan = planned(opened("duckdb://real.duckdb?table=t", "web"))
    os.rename("real.duckdb", "moved.duckdb")
    if how == "another in its place":
        os.rename("other.duckdb", "real.duckdb")
    elif how == "garbage in its place":
        Path("real.duckdb").write_bytes(b"nothing")
    with pytest.raises(UsageError, match="other tables or files"):
        plan.release()
    assert spent() == {}


def test_tables_that_are_gone_are_refused_when_they_are_opened(connection: Any) -> None:
    table = connection.table("decoy")
    connection.raw_sql("drop view v; drop table decoy")
    with pytest.raises(HeadcountError, match=r"[Nn]othing was"):
        opened(table, "other")
    table = connection.table("swapped")
    connection.disconnect()
    with pytest.raises(HeadcountError, match=r"[Nn]othing was"):
        opened(table, "other")


def test_threads_open_tables_of_one_connection(connection: Any) -> None:
    tables = [connection.table(name) for name in ("events", "swapped")] * 8
    accounts = ["web", "other"] * 8
    found: list[Any] = []

    def open_one(place: int) -> None:
        try:
            found.append(opened(tables[place], accounts[place]).account_name)
        except Exception as error:
            found.append(error)

    threads = [threading.Thread(target=open_one, args=[place]) for place in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, found)) == sorted(accounts)


VOUCHED = {"trusted_view": "Ann: one row for each of theirs"}


def test_files_that_a_view_finds_later_are_refused(here: Path) -> None:
    for folder in ("d1", "d2"):
        Path(folder).mkdir()
    write("d1/e.parquet", f"{ROWS} limit 9")
    write("real.parquet")
    planned(opened("real.parquet", "web")).release()
    connection = ibis.duckdb.connect("v.duckdb")
    connection.raw_sql("create view v as select * from read_parquet('d*/e.parquet')")
    plan = planned(opened(connection.table("v"), "other", **VOUCHED))
    os.link("real.parquet", "d2/e.parquet")
    with pytest.raises(UsageError, match="other tables or files"):
        plan.release()
    assert spent() == {"web": 1}


def test_a_query_in_sql_opens_no_account(here: Path) -> None:
    write("e.parquet")
    planned(opened("e.parquet", "web")).release()
    connection = ibis.duckdb.connect()
    connection.raw_sql("create table z as select 'a' as user_id, 'p0' as page")
    text = "select user_id, page from 'e.parquet'"
    for table in (
        connection.table("z").alias("k").sql(text),
        connection.table("z").sql(text),
        connection.sql(text),
    ):
        with pytest.raises(HeadcountError, match=r"[Nn]othing was"):
            planned(opened(table, "second", **VOUCHED)).release()
    assert spent() == {"web": 1}


def test_files_behind_a_view_are_those_that_duckdb_finds(here: Path) -> None:
    Path("hid").mkdir()
    write("e.parquet")
    write("hid/d.parquet", f"{ROWS} limit 9")
    os.link("e.parquet", "hid/.e.parquet")
    planned(opened("e.parquet", "web")).release()
    connection = ibis.duckdb.connect("v.duckdb")
    connection.raw_sql("create view v as select * from read_parquet('hid/*.parquet')")
    with pytest.raises(LedgerError, match="belongs to account 'web'"):
        opened(connection.table("v"), "other", **VOUCHED)
    connection.raw_sql(f"set home_directory='{here}'")
    connection.raw_sql("create view home as select * from read_parquet('~/e.parquet')")
    with pytest.raises(LedgerError, match="belongs to account 'web'"):
        opened(connection.table("home"), "other", **VOUCHED)


def test_equal_connections_have_locks_of_their_own() -> None:
    one, other = ibis.duckdb.connect(), ibis.duckdb.connect()
    assert one == other
    lock = lock_of(other)
    assert lock_of(one) is not lock
    del one
    gc.collect()
    assert lock_of(other) is lock


def test_a_child_of_a_busy_process_opens_tables_of_its_own(here: Path) -> None:
    write("e.parquet")
    data = opened("e.parquet")
    lock = lock_of(data.table.engine.connection)
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            done.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(60)
    child = os.fork()
    if child == 0:
        import signal

        signal.alarm(50)
        os._exit(0 if planned(opened("e.parquet")).release().to_arrow().num_rows == 1 else 1)
    ended = os.waitpid(child, 0)[1]
    done.set()
    thread.join()
    assert ended == 0


def test_a_connection_that_was_closed_is_refused(connection: Any) -> None:
    plan = planned(opened(connection.table("decoy"), "other"))
    connection.con.close()
    with pytest.raises(HeadcountError, match="nothing was charged"):
        plan.release()


def test_another_file_under_the_path_of_an_open_database_is_refused(here: Path) -> None:
    """DuckDB hands the handle of whoever has the path open to the next one that asks."""
    for name, rows in (("real", ROWS), ("decoy", f"{ROWS} limit 9")):
        with duckdb.connect(f"{name}.duckdb") as made:
            made.execute(f"create table t as {rows}")
    planned(opened("duckdb://real.duckdb?table=t", "web")).release()
    gc.collect()
    held = duckdb.connect("real.duckdb", read_only=True)
    os.rename("real.duckdb", "moved.duckdb")
    os.rename("decoy.duckdb", "real.duckdb")
    with pytest.raises(UsageError, match="not the file that is there now"):
        opened("duckdb://real.duckdb?table=t", "web")
    held.close()
    assert opened("duckdb://real.duckdb?table=t", "web").account_name == "web"


HIDDEN = {
    "a part of a query with the file's name": (
        'create view v as select * from (with "e.parquet" as (select 1 as x) select * from '
        "\"e.parquet\") one, (select * from 'e.parquet') two"
    ),
    "a macro for a reader": (
        "create macro read_parquet(x) as table select * from 'e.parquet'; "
        "create view v as select * from read_parquet('decoy.parquet')"
    ),
    "a macro for a series": (
        "create macro range(x) as table select user_id, page from 'e.parquet'; "
        "create view v as select * from range(3)"
    ),
    "a macro of a value": (
        "create macro far(x) as (select count(*) from 'e.parquet' where page = x); "
        "create view v as select user_id, page || far(page) as page from 'decoy.parquet'"
    ),
}


@pytest.mark.parametrize("how", HIDDEN)
def test_files_that_are_hidden_in_a_view_open_no_second_account(here: Path, how: str) -> None:
    write("e.parquet")
    write("decoy.parquet", f"{ROWS} limit 9")
    planned(opened("e.parquet", "web")).release()
    connection = ibis.duckdb.connect("v.duckdb")
    for statement in HIDDEN[how].split("; "):
        connection.con.execute(statement)
    with pytest.raises(HeadcountError, match=r"[Nn]othing was"):
        planned(opened(connection.table("v"), "other", **VOUCHED)).release()
    assert spent() == {"web": 1}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="handles have no paths here")
def test_a_deleted_file_that_is_open_is_nowhere(here: Path) -> None:
    write("e.parquet")
    planned(opened("e.parquet", "web")).release()
    with Path("e.parquet").open("rb") as held:
        os.unlink("e.parquet")
        os.symlink(f"/proc/self/fd/{held.fileno()}", "x.parquet")
        with pytest.raises(UsageError, match="no file"):
            opened("x.parquet", "other")
        connection = ibis.duckdb.connect("v.duckdb")
        connection.raw_sql("create view v as select * from 'x.parquet'")
        with pytest.raises(HeadcountError, match=r"[Nn]othing was"):
            planned(opened(connection.table("v"), "other", **VOUCHED)).release()
    assert spent() == {"web": 1}
