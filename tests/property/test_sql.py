"""Whatever is written as a query is a plan, or refused in our words: never another exception."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp
from tests.unit.releases.sql.accepted import ACCEPTED
from tests.unit.releases.sql.refused import REFUSED
from tests.unit.releases.sql.table import COLUMNS, D, opened

import headcount as hc

EXAMPLES = int(os.environ.get("HEADCOUNT_EXAMPLES", "150"))
ALL = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
QUERIES = [query for query, *_ in ACCEPTED] + [query for query, _ in REFUSED]
WORDS = sorted({word for query in QUERIES for word in re.findall(r"\w+|[^\w\s]", query)})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> hc.Dataset:
    return opened(tmp_path_factory.mktemp("sql"))


def asked(data: hc.Dataset, query: str) -> hc.Plan | None:
    """The plan, or nothing where the query is refused; then with one that works."""
    try:
        return data.sql(query, spend="1/10")
    except hc.UsageError as error:
        said = str(error)
    assert "othing was" in said
    if "his works: " in said:
        works = said.partition("his works: ")[2]
        assert data.sql(works, spend="1/10").title.startswith("count "), works
    return None


columns = st.sampled_from([*COLUMNS, "nothing", "PAGE"]).map(
    lambda name: exp.column(exp.to_identifier(name, quoted=True))
)
constants = st.one_of(
    st.integers().map(exp.Literal.number),
    st.floats(allow_nan=False, allow_infinity=False).map(exp.Literal.number),
    st.text(max_size=5).map(exp.Literal.string),
    st.sampled_from([exp.null(), exp.true(), exp.Placeholder(), exp.Star(), exp.CurrentDate()]),
)


def grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Expressions around others."""
    pair = st.tuples(inner, inner)
    units = st.sampled_from(["day", "month", "hour", "century", ""])
    return st.one_of(
        inner.map(lambda x: exp.Count(this=x)),
        inner.map(lambda x: exp.Count(this=exp.Distinct(expressions=[x]))),
        inner.map(lambda x: exp.Floor(this=x)),
        inner.map(exp.paren),
        inner.map(lambda x: exp.Not(this=x)),
        inner.map(lambda x: exp.alias_(x, "count", quoted=True)),
        inner.map(lambda x: exp.Subquery(this=exp.select(x).from_("events"))),
        st.tuples(inner, units).map(
            lambda x: exp.DateTrunc(this=x[0], unit=exp.Literal.string(x[1]))
        ),
        st.tuples(st.sampled_from([exp.EQ, exp.LT, exp.And, exp.Or, exp.Div, exp.Is]), pair).map(
            lambda x: x[0](this=x[1][0], expression=x[1][1])
        ),
        pair.map(lambda x: exp.In(this=x[0], expressions=[x[1]])),
    )


expressions = st.recursive(columns | constants, grown, max_leaves=6)
several = st.lists(
    st.one_of(columns, st.just(sqlglot.parse_one(D)), st.just(sqlglot.parse_one("COUNT(*)")),
              expressions), min_size=1, max_size=4,
)  # fmt: skip


@st.composite
def trees(draw: st.DrawFn) -> Any:
    """A SELECT of anything, with some of the clauses that there are."""
    tree = exp.select(*draw(several)).from_(draw(st.sampled_from(["events", "events", "other"])))
    if draw(st.booleans()):
        tree = tree.where(draw(expressions))
    if draw(st.booleans()):
        tree = tree.group_by(*draw(several))
    if draw(st.booleans()):
        by = draw(expressions | st.integers(0, 4).map(exp.Literal.number))
        tree = tree.order_by(exp.Ordered(this=by, desc=draw(st.booleans())))
    if draw(st.booleans()):
        tree = tree.limit(draw(constants))
    if draw(st.integers(0, 9)) == 0:
        tree = tree.having(draw(expressions))
    return tree


@ALL
@given(query=st.text(max_size=60))
def test_any_text(data: hc.Dataset, query: str) -> None:
    asked(data, query)
    asked(data, f"SELECT {query}")
    asked(data, f"SELECT page, {D} FROM events WHERE {query} GROUP BY page")


@ALL
@given(words=st.lists(st.sampled_from(WORDS), max_size=20))
def test_any_words_of_queries(data: hc.Dataset, words: list[str]) -> None:
    asked(data, " ".join(["SELECT", *words]))
    asked(data, f"SELECT page, {D} FROM events {' '.join(words)}")


@ALL
@given(query=st.sampled_from(QUERIES), cut=st.integers(0, 200), put=st.sampled_from(WORDS))
def test_any_query_with_a_word_put_into_it(
    data: hc.Dataset, query: str, cut: int, put: str
) -> None:
    asked(data, f"{query[:cut]} {put} {query[cut:]}")
    asked(data, query[:cut] + query[cut + 1 :])


@ALL
@given(tree=trees())
def test_any_tree(data: hc.Dataset, tree: Any) -> None:
    try:
        query = tree.sql()
    except Exception:  # a tree that is no query at all
        return
    asked(data, query)


def test_the_ledger_was_charged_for_none_of_it(data: hc.Dataset) -> None:
    assert data.ledger.find_account(data.account_name) is None
    assert data.ledger.accounts() == []
