"""Which expressions and views pass, which are refused, and what the refusal names."""

from __future__ import annotations

from typing import Any

import duckdb
import ibis
import pytest
from ibis import _

from headcount.errors import UsageError
from headcount.tables import open_table
from headcount.tables.public import public
from headcount.tables.source import Options
from headcount.tables.view_columns import EVERY
from headcount.tables.view_sql import check_view

VOUCHED = Options(trusted_view="Ann Lee: checked by hand")


@pytest.fixture(scope="module")
def tables() -> Any:
    connection = ibis.duckdb.connect()
    events = connection.create_table(
        "events", schema=ibis.schema({"who": "string", "word": "string", "n": "int64"})
    )
    words = connection.create_table("words", schema=ibis.schema({"word": "string", "de": "string"}))
    return connection, events, words


FINE: dict[str, Any] = {
    "table": lambda t, w: t,
    "filter": lambda t, w: t.filter(t.n > 1),
    "mutate": lambda t, w: t.mutate(word=t.word.upper()),
    "public join": lambda t, w: t.join(public(w), "word"),
    "public left join": lambda t, w: t.left_join(public(w), "word"),
    "public first": lambda t, w: public(w).join(t, "word"),
    "public aggregate": lambda t, w: t.join(public(w).group_by("word").agg(n2=_.count()), "word"),
    "in a public list": lambda t, w: t.filter(t.word.isin(public(w).word)),
    "union": lambda t, w: t.union(t),
    "order": lambda t, w: t.order_by("n"),
    "unnest": lambda t, w: t.mutate(a=ibis.array([1, 2])).unnest("a"),
    "number as text": lambda t, w: t.mutate(who=t.n.cast("string")),
    "fill another": lambda t, w: t.fill_null({"word": "x"}),
    "drop": lambda t, w: t.drop("n"),
}
MIXING: dict[str, tuple[Any, str]] = {
    "join": (lambda t, w: t.join(w, "word"), "not declared public"),
    "self join": (lambda t, w: t.join(t.view(), "word"), "not declared public"),
    "right join": (lambda t, w: t.right_join(public(w), "word"), "right join"),
    "outer join": (lambda t, w: t.outer_join(public(w), "word"), "outer join"),
    "window": (lambda t, w: t.mutate(r=ibis.row_number().over(group_by="who")), "window"),
    "aggregate": (lambda t, w: t.group_by("who").agg(word=_.word.max()), "aggregate"),
    "distinct": (lambda t, w: t.distinct(), "distinct"),
    "union distinct": (lambda t, w: t.union(t, distinct=True), "union"),
    "subquery": (lambda t, w: t.filter(t.n > t.n.mean()), "aggregate|subquery"),
    "private list": (lambda t, w: t.filter(t.word.isin(w.word)), "subquery"),
    "SQL": (lambda t, w: t.sql("select * from events"), "SQL"),
    "lower": (lambda t, w: t.mutate(who=t.who.lower()), "two users one value"),
    "narrow": (lambda t, w: t.mutate(who=t.n.cast("int32")), "two users one value"),
    "public user": (lambda t, w: t.drop("who").join(public(w).rename(who="de"), "word"), "public"),
    "public alone": (lambda t, w: public(t), "public"),
    "row number": (lambda t, w: t.mutate(word=t.rowid().cast("string")), "row ID"),
    "unnested": (lambda t, w: t.mutate(who=ibis.array([t.who])).unnest("who"), "unnest"),
}
FLEETING: dict[str, tuple[Any, str]] = {
    "limit": (lambda t, w: t.limit(5), "limit"),
    "sample": (lambda t, w: t.sample(0.5), "sample"),
    "random": (lambda t, w: t.filter(ibis.random() < 0.5), "random"),
    "now": (lambda t, w: t.filter(ibis.now() > ibis.timestamp("2020-01-01")), "now"),
    "limit inside": (lambda t, w: t.limit(5).filter(_.n > 1), "limit"),
}


@pytest.mark.parametrize("name", FINE)
def test_row_by_row_passes(name: str, tables: Any) -> None:
    open_table(FINE[name](*tables[1:]), user="who")


@pytest.mark.parametrize("name", MIXING)
def test_what_mixes_users_is_refused_unless_somebody_vouches(
    name: str, tables: Any, request: pytest.FixtureRequest
) -> None:
    if name == "SQL" and duckdb.__version__.startswith("2."):
        why = "Ibis 12 cannot make a table of SQL on DuckDB 2"
        request.applymarker(pytest.mark.xfail(raises=AttributeError, reason=why))
    make, said = MIXING[name]
    with pytest.raises(UsageError, match=said):
        open_table(make(*tables[1:]), user="who")
    table = open_table(make(*tables[1:]), user="who", options=VOUCHED)
    assert any("Ann Lee" in rule for rule in table.rules)


@pytest.mark.parametrize("name", FLEETING)
def test_what_changes_from_reading_to_reading_is_refused_in_any_case(
    name: str, tables: Any
) -> None:
    make, said = FLEETING[name]
    for options in (Options(), VOUCHED):
        with pytest.raises(UsageError, match=f"{said}.*each time it is read"):
            open_table(make(*tables[1:]), user="who", options=options)


def test_a_user_column_may_not_be_filled(tables: Any) -> None:
    with pytest.raises(UsageError, match="filling missing values"):
        open_table(tables[1].fill_null({"who": "x"}), user="who")


def test_views_of_a_connection_are_looked_into(tables: Any) -> None:
    connection = tables[0]
    connection.con.execute(
        "create view best as select who, max(word) as word from events group by who"
    )
    connection.con.execute("create view of_best as select * from best")
    with pytest.raises(UsageError, match="GROUP BY"):
        open_table(connection.table("of_best"), user="who")
    connection.con.execute("create view made as select 'a' as who, 'b' as word")
    with pytest.raises(UsageError):
        open_table(connection.table("made"), user="who")


def test_only_tables_can_be_declared_public() -> None:
    with pytest.raises(UsageError, match=r"hc\.public takes"):
        public([1, 2])


VIEWS = {"w": "create view w as select * from t where n > 3;", "unknown": ""}

SQL_FINE = [
    "select * from t",
    "create view v as select u, lower(g) as g from w where n between 1 and 2 order by 1",
    "select a as u, case when n > 3 then 'a' end as g, coalesce(g, 'x') from t",
    "select u from (select * from t) q",
    "select u from t union all select u from s",
    "select u::text as u from t",
    "select *, upper(g) as h from t",
    "select u, g from t union all by name select g, u from s order by g",
    "select a as u, lower(g) as g from t union all (select b, trim(g) from s)",
    "select * from t union all select u, g from s",
]
SQL_MIXING = [
    "select u from t join c using (g)", "select u from t, s", "values (1)",
    "select u from t semi join s using (g)",
    "select u, count(*) from t group by u", "select u, rank() over (order by n) from t",
    "select distinct u from t", "select u from t union select u from s",
    "with x as (select * from t) select u from x", "select u, (select max(n) from s) from t",
    "select u from t where n in (select n from s)", "select u, myudf(g) as g from t",
    "select u from read_csv('x.csv')", "select u from unknown", "pivot t on g using sum(n)",
    "select u from t qualify row_number() over () = 1", "select max(u) as u from t",
    "not sql at all (", "select * replace (lower(u) as u) from t",
    "select lower(u) as u from t", "select u::int as u from t",
    "select u collate nocase as u from t", "select * exclude (g) from t",
    "select s.u as u from (select *, {'u': lower(u)} as s from t) q", "select s.* from t q",
    "select x.s.u as u from (select *, {'s': {'u': lower(u)}} as x from t) s",
    "select u, lower(u) as u from t", "select *, lower(u) from t", "select *, * from t",
    "select g from t", "select * from t union all select lower(u), g from s",
    "select user as u from t", "select u, g from t union all by name select g from s",
]  # fmt: skip
SQL_FLEETING = [
    "select u from t limit 5", "select u from t using sample 10%", "select u, random() from t",
    "select u, current_date from t", "select u from w tablesample 5%",
    "select u from t union all select u from s limit 5",
    "select u from t union all select u from s order by random()",
]  # fmt: skip


class Named:
    """Views by their names; all else is a table, with every column stored."""

    def __init__(self, views: dict[str, str]) -> None:
        self.views = views

    def texts_of(self, table: Any) -> list[str | None]:
        return [self.views.get(table.name)]

    def check_table(self, table: Any, user: Any) -> None:
        assert user is None or isinstance(user, str) or user == EVERY


def check(text: str, *, trusted: bool = False) -> None:
    check_view(text, "duckdb", "u", Named(VIEWS), trusted=trusted)


@pytest.mark.parametrize("text", SQL_FINE)
def test_a_view_over_one_table_passes(text: str) -> None:
    check(text)


@pytest.mark.parametrize("text", SQL_MIXING)
def test_a_view_that_mixes_users_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        check(text)
    check(text, trusted=True)


@pytest.mark.parametrize("text", SQL_FLEETING)
def test_a_view_that_changes_is_refused(text: str) -> None:
    for trusted in (False, True):
        with pytest.raises(UsageError, match="each time it is read"):
            check(text, trusted=trusted)


def test_a_view_of_itself_ends() -> None:
    itself = Named({"t": "select * from t"})
    with pytest.raises(UsageError):
        check_view("select * from t", "duckdb", "u", itself, trusted=False)
    check_view("select * from t", "duckdb", "u", itself, trusted=True)
