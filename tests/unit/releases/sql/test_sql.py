"""A query in SQL is the verb that means the same, or refused with one that works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.unit.releases.sql.accepted import ACCEPTED
from tests.unit.releases.sql.refused import REFUSED
from tests.unit.releases.sql.table import opened

import headcount as hc

SPEND = "1/10"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sql")


@pytest.fixture(scope="module")
def data(folder: Path) -> hc.Dataset:
    return opened(folder)


def same(one: Any, other: Any) -> None:
    """Two plans that nobody can tell apart."""
    assert one.work.request == other.work.request
    assert one.work.request.hash == other.work.request.hash
    assert (one.spend, one.epsilon, one.work.event) == (
        other.spend, other.epsilon, other.work.event,
    )  # fmt: skip
    assert (one.title, str(one), one.explain()) == (other.title, str(other), other.explain())


def test_there_are_enough() -> None:
    assert len({query for query, *_ in ACCEPTED}) >= 60
    assert len({query for query, _ in REFUSED}) >= 60


@pytest.mark.parametrize(("query", "where", "verb", "arguments"), ACCEPTED)
def test_a_query_has_the_plan_of_its_verb(
    query: str, where: str | None, verb: str, arguments: dict[str, Any], folder: Path,
    data: hc.Dataset,
) -> None:  # fmt: skip
    rows = data if where is None else opened(folder, where)
    same(data.sql(query, spend=SPEND), getattr(rows, verb)(**arguments, spend=SPEND))


@pytest.mark.parametrize(("query", "reason"), REFUSED)
def test_a_query_that_no_verb_answers_is_refused_with_one_that_works(
    query: str, reason: str, data: hc.Dataset
) -> None:
    with pytest.raises(hc.UsageError, match=reason) as caught:
        data.sql(query, spend=SPEND)
    said = str(caught.value)
    assert re.search(r"[Nn]othing was (read and nothing was )?charged", said)
    works = re.split("[Tt]his works: ", said)[-1]
    if query:
        assert data.sql(works, spend=SPEND).title.startswith("count ")
    assert data.ledger.find_account(data.account_name) is None
