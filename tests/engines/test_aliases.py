"""D4 on PostgreSQL: one table, one account, whatever address, search path or view leads there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
import pytest

import headcount as hc
from headcount.errors import LedgerError, UsageError
from headcount.ledger.ledger import Ledger

pytestmark = pytest.mark.postgres
BUDGET = hc.Budget(rho=1000, delta=1e-3)
SETUP = """
create schema if not exists aliases;
create table aliases.ev as
    select 'u' || i as "user", 'a' as "group" from generate_series(1, 300) i;
create view aliases.v as select "user", "group" from aliases.ev;
create view aliases.w as select * from aliases.v where "group" = 'a';
create table aliases.parent ("user" text, "group" text) partition by list ("group");
create table aliases.child_a partition of aliases.parent for values in ('a');
create table aliases.child_b partition of aliases.parent for values in ('b');
insert into aliases.parent select 'u' || i, 'a' from generate_series(1, 500) i;
insert into aliases.parent select 'v' || i, 'b' from generate_series(1, 90) i;
create function aliases.f() returns table ("user" text, "group" text) language sql stable
    as 'select "user", "group" from aliases.ev';
create view aliases.by_function as select * from aliases.f();
create extension if not exists file_fdw;
create server elsewhere foreign data wrapper file_fdw;
create foreign table aliases.far ("user" text, "group" text) server elsewhere
    options (filename '/dev/null', format 'csv');
create role alias_reader login;
grant usage on schema aliases to alias_reader;
grant select on all tables in schema aliases to alias_reader;
"""


@pytest.fixture(scope="module")
def server(postgres_address: str) -> str:
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute(SETUP)
    return postgres_address


def spellings(address: str) -> Iterator[str]:
    parts = urlsplit(address)
    port, name = parts.port, parts.path.lstrip("/")
    hosts = ("127.0.0.1", "localhost", "LOCALHOST", "127.1")
    path = quote("-csearch_path=aliases")
    for scheme in ("postgres", "postgresql"):
        for host in hosts:
            for user in ("postgres", "alias_reader", "postgres:anything"):
                yield f"{scheme}://{user}@{host}:{port}/{name}?table=aliases.ev"
        yield f"{scheme}://postgres@localhost:{port}/{name}?table=ev&options={path}"
        yield f"{scheme}:///{name}?host=127.0.0.1&port={port}&user=postgres&table=aliases.ev"
        yield f"{scheme}:///{name}?host=localhost&port={port}&user=postgres&table=aliases.ev"
        yield f"{scheme}://localhost/{name}?port={port}&user=alias_reader&table=aliases.ev"
        yield f"{scheme}://postgres@127.0.0.1:{port}/{name}?connect_timeout=5&table=aliases.ev"
        for view in ("v", "w"):
            yield f"{scheme}://postgres@localhost:{port}/{name}?table=aliases.{view}"
            yield f"{scheme}://postgres@127.0.0.1:{port}/{name}?table={view}&options={path}"


def ask(source: str, ledger: Path, account: str | None) -> str:
    data = hc.open(source, user="user", budget=BUDGET, ledger=ledger, account=account)
    data.count_users("group", groups=["a"], bound=1, spend=hc.Budget(rho=1)).release()
    return data.account_name


def test_forty_spellings_of_a_table_are_one_account(server: str, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    every = list(dict.fromkeys(spellings(server)))
    assert len(every) >= 40
    ask(every[0], ledger, "web")
    assert {ask(source, ledger, None) for source in every} == {"web"}
    for source in every:
        with pytest.raises(LedgerError, match="belongs to account 'web'"):
            ask(source, ledger, "another budget")
    assert [account.name for account in Ledger(ledger).accounts()] == ["web"]


def test_partitions_belong_to_their_family(server: str, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    ask(f"{server}?table=aliases.child_a", ledger, "family")
    for name in ("parent", "child_b"):
        assert ask(f"{server}?table=aliases.{name}", ledger, None) == "family"


def test_a_table_that_is_made_again_under_its_name_keeps_its_account(
    server: str, tmp_path: Path
) -> None:
    ledger = tmp_path / "ledger.db"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("create table aliases.daily as select * from aliases.ev")
        ask(f"{server}?table=aliases.daily", ledger, "daily")
        connection.execute("drop table aliases.daily")
        connection.execute("create table aliases.daily as select * from aliases.ev")
    assert ask(f"{server}?table=aliases.daily", ledger, None) == "daily"


def test_another_table_is_another_account(server: str, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    ask(f"{server}?table=aliases.ev", ledger, "web")
    ask(f"{server}?table=aliases.parent", ledger, "other")
    assert len(Ledger(ledger).accounts()) == 2


def test_a_partition_its_sibling_and_its_parent_are_three_questions(
    server: str, tmp_path: Path
) -> None:
    def counted(name: str) -> tuple[list[int], bool]:
        data = hc.open(
            f"{server}?table=aliases.{name}",
            user="user",
            budget=BUDGET,
            ledger=tmp_path / "ledger.db",
            account="family",
        )
        plan = data.count_users("group", groups=["a", "b"], bound=1, spend=hc.Budget(rho=100))
        release = plan.release()
        counts = release.to_arrow()["count"].to_pylist()
        return [round(count, -1) for count in counts], release.again is not None

    assert counted("child_a") == ([500, 0], False)
    assert counted("child_b") == ([0, 90], False)
    assert counted("parent") == ([500, 90], False)
    assert counted("child_a") == ([500, 0], True)


@pytest.mark.parametrize("name", ["far", "by_function"])
def test_what_leads_elsewhere_opens_no_account(server: str, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="so that nobody can say whether they have an account"):
        hc.open(
            f"{server}?table=aliases.{name}",
            user="user",
            budget=BUDGET,
            ledger=tmp_path / "ledger.db",
            account="new",
            trusted_view="the owner of the tables",
        )
    assert Ledger(tmp_path / "ledger.db").accounts() == []
