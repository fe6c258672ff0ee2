"""Two questions are one only if they count the same groups of the same rows."""

from __future__ import annotations

from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc

TENTH = "1/10"
N_USERS = 2000


def opened(tmp_path: Path, **columns: Any) -> hc.Dataset:
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"user": range(N_USERS), **columns}), path)
    return hc.open(path, user="user", budget=hc.Budget(rho=9), ledger=tmp_path / "ledger.db")


def rows(release: hc.Release) -> list[tuple[Any, int]]:
    table = release.to_arrow()
    return list(zip(table.column(0).to_pylist(), table["count"].to_pylist(), strict=True))


def pages(**texts: str) -> Any:
    return Enum("Page", texts, type=str)


def test_groups_are_asked_for_as_they_are_counted(tmp_path: Path) -> None:
    """A list is its groups, whatever types they came in and whatever these print."""
    first, second = (pages(HOME=text).HOME for text in "ab")
    assert str(first) == str(second)
    data = opened(tmp_path, group=["a"] * N_USERS)
    found: dict[str, set[int]] = {}
    for page in (first, second, "a", "b"):
        release = data.count_users("group", groups=[page], spend=TENTH).release()
        ((group, count),) = rows(release)
        assert group == page.value if isinstance(page, Enum) else group == page
        assert abs(count - (N_USERS if group == "a" else 0)) < 50
        found.setdefault(group, set()).add(release.entry)
    assert [len(entries) for entries in found.values()] == [1, 1]


class Shouting(str):
    """A text that answers what it is not."""

    def __str__(self) -> str:
        return "same"

    def __contains__(self, _part: object) -> bool:
        return False

    def encode(self, *_: Any) -> bytes:
        return b"same"


VERBS: dict[str, Any] = {
    "count_users": {},
    "count_users sample": {"method": "sample"},
    "count_users equal": {"method": "equal"},
    "count_users peel": {"method": "peel"},
    "count_events": {},
    "count_events equal": {"method": "equal"},
    "count_events debiased": {"debias": True, "bound": 2},
    "distribution": {},
    "frequencies": {},
}


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_spells_the_groups_that_it_counts(name: str, tmp_path: Path) -> None:
    data = opened(tmp_path, group=["a"] * N_USERS, day=pa.array([date(2026, 1, 1)] * N_USERS))
    ask = getattr(data, name.split()[0])

    def question(by: str, *groups: Any) -> str:
        plan = ask(by, groups=list(groups), spend=TENTH, **VERBS[name])
        return str(plan.work.request.hash)

    assert question("group", Shouting("a")) != question("group", Shouting("b"))
    assert question("group", Shouting("a"), "b") == question("group", "b", "a")
    assert question("group", "e\u0301") == question("group", "\u00e9")
    # Engines leave a text with a zero character as it is: these are two groups.
    assert question("group", "e\u0301\0") != question("group", "\u00e9\0")
    assert question("group", None) != question("group", "None")
    assert question("day", "2026-01-01") == question("day", date(2026, 1, 1))


def warehouse(tmp_path: Path) -> Any:
    connection = ibis.duckdb.connect(tmp_path / "w.duckdb")
    connection.con.execute(
        f'create table ev as select i as "user", i % 2 as code from range({N_USERS}) t(i)'
    )
    return connection.table("ev")


def of_join(tmp_path: Path, events: Any, names: Any) -> hc.Release:
    data = hc.open(
        events.join(hc.public(names), "code").select("user", "page"),
        user="user",
        account="web",
        budget=hc.Budget(rho=9),
        ledger=tmp_path / "ledger.db",
    )
    return data.count_users("page", groups=["a", "b"], spend=TENTH).release()


def test_what_a_public_table_in_memory_says_is_part_of_the_question(tmp_path: Path) -> None:
    events = warehouse(tmp_path)
    entries = []
    for pages in (["a", "a"], ["b", "b"], ["a", "a"], ["a", None]):
        names = ibis.memtable(pa.table({"code": [0, 1], "page": pa.array(pages, pa.string())}))
        release = of_join(tmp_path, events, names)
        for group, count in rows(release):
            assert abs(count - pages.count(group) * N_USERS / 2) < 50, pages
        entries.append(release.entry)
    assert entries[0] == entries[2]
    assert len(set(entries)) == 3


def test_the_same_public_rows_are_the_same_question_however_they_came(tmp_path: Path) -> None:
    import pandas as pd

    events = warehouse(tmp_path)
    columns = {"code": [0, 1, 2], "page": ["a", None, "b"]}
    arrow = pa.table(columns)
    of = [
        arrow,
        pa.concat_tables([arrow.slice(0, 1), arrow.slice(1)]),
        pa.concat_tables([arrow, arrow]).slice(3),
        arrow.replace_schema_metadata({"made": "today"}),
        pd.DataFrame(columns),
    ]
    entries = {of_join(tmp_path, events, ibis.memtable(each)).entry for each in of}
    assert len(entries) == 1


def test_private_rows_in_memory_are_not_part_of_the_question(tmp_path: Path) -> None:
    entries = []
    for page in ("a", "b"):
        rows = pa.table({"user": range(N_USERS), "page": [page] * N_USERS})
        expr = ibis.memtable(rows)
        data = hc.open(
            expr.filter(expr.user >= 0),
            user="user",
            account="web",
            budget=hc.Budget(rho=9),
            ledger=tmp_path / "ledger.db",
        )
        entries.append(data.count_users("page", groups=["a"], spend=TENTH).release().entry)
    assert entries[0] == entries[1]


def test_a_text_that_looks_like_a_table_in_memory_is_a_text(tmp_path: Path) -> None:
    events = warehouse(tmp_path)
    entries = set()
    for text in ("ibis_arrow_memtable_aaaa", "ibis_arrow_memtable_bbbb"):
        data = hc.open(
            events.mutate(page=ibis.cases((events.code == 0, text), else_="a")),
            user="user",
            account="web",
            budget=hc.Budget(rho=9),
            ledger=tmp_path / "ledger.db",
        )
        groups = ["ibis_arrow_memtable_aaaa", "a"]
        entries.add(data.count_users("page", groups=groups, spend=TENTH).release().entry)
    assert len(entries) == 2


ASKED: dict[str, tuple[str, dict[str, Any], dict[str, str], set[str]]] = {
    "nothing but groups": ("count_users", {"by": "group"}, {"by": "group"}, {"method"}),
    "the largest": ("count_users", {"by": "group", "top": 1}, {"top": "1"}, {"method", "within"}),
    "a way": ("count_users", {"by": "group", "method": "peel"}, {"method": "peel"}, {"within"}),
    "a bound": ("count_users", {"by": "group", "bound": 3}, {"bound": "3"}, {"bounds"}),
    "a target": ("count_users", {"by": "group", "within": 0.1}, {"within": "0.1"}, {"method"}),
    "ends": (
        "quantiles",
        {"of": None, "at": [0.5, 0.9], "bounds": (0, 1000)},
        {"at": "0.5, 0.9", "bounds": "0 to 1000"},
        {"cells", "method", "per_user"},
    ),
    "ranges": (
        "count_ranges",
        {"of": None, "ranges": [(1, 5), (5, None)]},
        {"ranges": "1 to 5, 5 to …"},
        {"method", "per_user"},
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_was_asked_is_told_from_what_the_plan_settled(name: str, tmp_path: Path) -> None:
    verb, arguments, asked, settled = ASKED[name]
    data = opened(tmp_path, group=["a"] * N_USERS)
    plan = getattr(data, verb)(**arguments, spend=TENTH)
    facts = plan.release().facts
    assert asked.items() <= facts.asked.items()
    assert facts.asked.keys() == {"user", *asked, *({"by"} & arguments.keys())}
    assert settled <= facts.settled.keys()
    assert not facts.settled.keys() & asked.keys()
    # The ledger has both.
    (entry,) = data.ledger.entries(data.account.name)
    assert facts.settled.items() <= entry.about.items()
    page = (plan.release().report(tmp_path / "page.html")).read_text()
    before, after = page.split("<h2>What the plan settled</h2>")
    for one in asked:
        assert f"<dt>{one}</dt>" in before.split("<h2>What was asked</h2>")[1]
    for one in facts.settled:
        assert f"<dt>{one}</dt>" in after
