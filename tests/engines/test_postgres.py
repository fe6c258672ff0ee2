"""What only PostgreSQL can get wrong: collations, and tables that one connection cannot see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ibis
import psycopg
import pytest

import headcount as hc
from headcount.contributions import Tally, bound
from headcount.errors import HeadcountError, SchemaError, UsageError
from headcount.ledger.ledger import Ledger
from headcount.privacy.bounds import Bounds
from headcount.tables import Kind, open_table

pytestmark = pytest.mark.postgres


def test_text_that_folds_case_cannot_name_users_or_groups(
    postgres_address: str, key: bytes
) -> None:
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute(
            "create collation fold (provider=icu, locale='und-u-ks-level2', deterministic=false)"
        )
        connection.execute("create table folded (who text collate fold, word text, id uuid)")
    address = f"{postgres_address}?table=folded"
    with pytest.raises(SchemaError, match="treats different texts as equal"):
        open_table(address, user="who")
    table = open_table(address, user="id")
    assert table.columns["word"] is Kind.TEXT
    with pytest.raises(SchemaError, match="treats different texts as equal"):
        bound(table, "who", Bounds(5, 5), key=key)


@pytest.mark.parametrize("name", ['"fold,er"', '"fold""er"', '"a.fold"', '"Fold"'])
def test_collations_are_told_by_their_numbers(name: str, postgres_address: str) -> None:
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute(
            f"create collation {name} (provider=icu, locale='und-u-ks-level2', deterministic=false)"
        )
        connection.execute("drop table if exists oddly_folded")
        connection.execute(
            f'create table oddly_folded (who text collate {name}, own text collate "C", word text)'
        )
    address = f"{postgres_address}?table=oddly_folded"
    with pytest.raises(SchemaError, match="treats different texts as equal"):
        open_table(address, user="who")
    assert open_table(address, user="own").columns["word"] is Kind.TEXT


@pytest.mark.parametrize(
    "change",
    [
        "alter table changing drop column word",
        "alter table changing rename column word to other",
        "alter table changing alter column word type integer using 1",
        "drop table changing",
    ],
)
def test_a_table_that_changed_since_its_plan_is_not_charged(
    change: str, postgres_address: str, tmp_path: Path
) -> None:
    address = f"{postgres_address}?table=changing"
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("drop table if exists changing")
        connection.execute("create table changing (who text, word text)")
        connection.execute("insert into changing values ('a', 'x'), ('b', 'x')")
        budget = hc.Budget(epsilon=1, delta=1e-6)
        data = hc.open(address, user="who", account="c", budget=budget, ledger=tmp_path / "l.db")
        plan = data.count_users("word", groups=["x"], spend="1/2")
        connection.execute(change)
    with pytest.raises(HeadcountError, match="nothing was charged"):
        plan.release()
    assert not Ledger(tmp_path / "l.db").accounts()


PEOPLE = "create table {} as select 'u' || i as who, 'x' as word from generate_series(1, {}) i"
EXCHANGES = {
    "a view of another table": "create or replace view seen as select * from people",
    "a view that mixes people": "create or replace view seen as "
    "select who, (word || count(*) over ())::text as word from few",
    "tables that change names": "drop view seen; alter table people rename to gone; "
    "alter table few rename to people; create view seen as select * from gone",
}


@pytest.mark.parametrize("how", EXCHANGES)
def test_a_view_that_was_made_anew_since_its_plan_is_not_charged(
    how: str, postgres_address: str, tmp_path: Path
) -> None:
    ledger, budget = tmp_path / "l.db", hc.Budget(epsilon=1, delta=1e-6)
    schema = f"exchanged_{list(EXCHANGES).index(how)}"
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute(f"create schema {schema}; set search_path to {schema}")
        connection.execute(PEOPLE.format("people", 500))
        connection.execute(PEOPLE.format("few", 3))
        connection.execute("create view seen as select * from few")
        plans = [
            hc.open(
                f"{postgres_address}?table={schema}.{name}",
                user="who",
                account=account,
                budget=budget,
                ledger=ledger,
            ).count_users("word", groups=["x"], spend="1/2")
            for name, account in (("people", "web"), ("seen", "other"))
        ]
        plans[0].release()
        connection.execute(EXCHANGES[how])
    with pytest.raises(HeadcountError, match="nothing was charged"):
        plans[1].release()
    assert [account.name for account in Ledger(ledger).accounts()] == ["web"]


WITHIN = "with base as (select min(who) as who, max(page) as page from law.base group by page) "
FINE = [
    "select * from law.base",
    "select who, page from law.base where n > 3 order by page",
    "select b.who, upper(b.page) as page, trim(b.page) as short from law.base b",
    "select who, substring(page from 1 for 2) as page, extract(year from at) as y from law.base",
    "select who, n::text as page from law.base",
    "select who, page from law.base union all select who, page from law.more",
    "select page, id::text as who from law.base",
]
REFUSED = {
    "select who, page from (select lower(who), page from law.base) t(who, page)": "one value",
    "select who, page from law.base union all select lower(who), page from law.more": "one value",
    "select user as who, page from law.base": "one value",
    "select lowered as who, page from law.base": "generated column",
    "select * from law.base union all select * from law.more limit 2": "each time it is read",
    WITHIN + "select * from base union all select * from base": "WITH",
    "select who, ctid::text as page from law.base": "column ctid",
    "select who, page + page as page from law.base": "operator",
    "select who, page from (select who, law.upper(page) as page from law.base) q": "function",
    "select who, page from law.calling": "function",
}


@pytest.fixture(scope="module")
def law(postgres_address: str) -> Iterator[psycopg.Connection[Any]]:
    columns = 'who text, page text, n int, id int, at timestamp, "user" text'
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        for statement in (
            "create schema law",
            f"create table law.base ({columns}, "
            "lowered text generated always as (lower(who)) stored)",
            f"create table law.more ({columns}, lowered text)",
            "create function law.upper(text) returns text language sql "
            "as 'select max(who) from law.base'",
            "create function law.plus(text, text) returns text language sql "
            "as 'select max(who) from law.base'",
            "create operator + (leftarg=text, rightarg=text, function=law.plus)",
            "create view law.calling as select who, law.upper(page) as page from law.base",
        ):
            connection.execute(statement)
        yield connection
        connection.execute("drop operator + (text, text) cascade")


@pytest.mark.parametrize("query", [*FINE, *REFUSED])
def test_views_are_looked_into(query: str, law: Any, postgres_address: str) -> None:
    law.execute("drop view if exists law.v")
    law.execute(f"create view law.v as {query}")
    address = f"{postgres_address}?table=law.v"
    if query in FINE:
        open_table(address, user="who")
    else:
        with pytest.raises(UsageError, match=REFUSED[query]):
            open_table(address, user="who")


def test_a_generated_column_cannot_name_users(law: Any, postgres_address: str) -> None:
    address = f"{postgres_address}?table=law.base"
    with pytest.raises(UsageError, match="generated column"):
        open_table(address, user="lowered")
    open_table(address, user="who")


def test_an_ibis_table_is_read_through_a_connection_of_our_own(
    postgres_address: str, key: bytes
) -> None:
    with psycopg.connect(postgres_address, autocommit=True) as connection:
        connection.execute("create table seen as select 1 as who, 'x' as word")
        connection.execute("create temporary table unseen as select 1 as who, 'x' as word")
        backend = ibis.postgres.from_connection(connection)
        tally = Tally(
            bound(open_table(backend.table("seen"), user="who"), "word", Bounds(1, 1), key=key)
        )
        (part,) = tally.parts()
        assert part.every_name().to_pylist() == [{"word": "x"}]
        assert part.query.ask().tolist() == [1]
        with pytest.raises(UsageError, match="not visible"):
            open_table(backend.table("unseen"), user="who")


def test_a_missing_table_is_named_without_the_user(postgres_address: str) -> None:
    with pytest.raises(UsageError, match="no table to read") as raised:
        open_table(f"{postgres_address}?table=public.nothing", user="who")
    assert "postgres@" not in str(raised.value)
