"""D1: many threads on one Dataset. Every result is that of its own plan, and none is lost.

At a spend this large noise is next to nothing, and no two questions have the same true answer: a
result that took rows from another's query, or lost some, is seen at once.
"""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headcount as hc
from headcount.releases.plan import Plan
from headcount.results.release import Release

THREADS = 8
N_COLUMNS = 8
N_USERS = 400
LONG = os.environ.get("HEADCOUNT_LONG") == "1"
SPEND = hc.Budget(rho=1_000)
STEP = 40
NEAR = STEP // 2
"""Tallies of two columns are a step apart, so that what is nearer than this is one's own."""
WITH_TARGET = 3


def events() -> pa.Table:
    """Column k puts users into two groups, by whether their number is below STEP k + 10."""
    rows = {"who": [f"u{user}" for user in range(N_USERS) for _ in range(2)]}
    for k in range(N_COLUMNS):
        side = ["low" if user < STEP * k + 10 else "high" for user in range(N_USERS)]
        rows[f"c{k}"] = [f"{where}-{k}" for where in side for _ in range(2)]
    return pa.table(rows)


def truth(k: int, rows: int) -> dict[str, int]:
    low = STEP * k + 10
    return {f"high-{k}": rows * (N_USERS - low), f"low-{k}": rows * low}


def planned(data: hc.Dataset, number: int) -> tuple[Plan, dict[str, int]]:
    """One of several verbs about one of the columns, and what the answer must be."""
    k, kind = number % N_COLUMNS, number % 5
    column, groups = f"c{k}", [f"low-{k}", f"high-{k}"]
    if kind == 0:
        return data.count_users(column, groups=groups, spend=SPEND), truth(k, 1)
    if kind == 1:
        return data.count_users(column, bound=1, method="threshold", spend=SPEND), truth(k, 1)
    if kind == 2:
        return data.count_events(column, groups=groups, bound=2, spend=SPEND), truth(k, 2)
    if kind == WITH_TARGET:
        return data.count_users(column, within=0.1, method="equal", spend=SPEND), truth(k, 1)
    return data.count_users(column, bound=1, method="laplace", spend=SPEND), truth(k, 1)


def rows_of(release: Release) -> dict[str, float]:
    """All that was measured: whether a row keeps its target is chance."""
    found: dict[str, float] = {}
    for rows in (release.to_arrow(), release.withheld):
        if rows is not None:
            group, count, *_ = rows.columns
            found |= dict(zip(group.to_pylist(), count.to_pylist(), strict=True))
    return found


def errors(number: int, found: dict[str, float], wanted: dict[str, int]) -> list[float]:
    """How far rows are off; one with a target may be off by a fifth, however much is spent."""
    slack = 0.2 if number % 5 == WITH_TARGET else 0
    return [abs(found[group] - wanted[group]) - slack * wanted[group] for group in wanted]


def test_every_thread_gets_the_answer_to_its_own_question(loader: Any, tmp_path: Path) -> None:
    loader.open(events(), "threads", user="who")
    data = hc.open(
        loader.loaded["threads"],
        user="who",
        account="threads",
        budget=hc.Budget(rho=8 * 10**6, delta=0.01),
        ledger=tmp_path / "ledger.db",
    )
    n_releases = loader.n_releases * (5 if LONG else 1)

    def ask(number: int) -> tuple[Fraction, list[float]]:
        plan, wanted = planned(data, number)
        found = rows_of(plan.release(fresh=True))
        assert found.keys() == wanted.keys(), (number, found)
        return plan.spend.rho, errors(number, found, wanted)

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(ask, range(n_releases)))
    assert max(error for _, errors in answers for error in errors) < NEAR
    entries = data.ledger.entries("threads")
    assert len(entries) == n_releases
    assert all(entry.has_result for entry in entries)
    assert data.account.spent.rho == sum(entry.spend.rho for entry in entries)
    assert sum(entry.spend.rho for entry in entries) >= sum(rho for rho, _ in answers)
    data.ledger.verify()


@pytest.mark.parametrize("shape", ["own table", "temporary table"])
def test_threads_on_a_connection_of_the_users_own(shape: str, tmp_path: Path) -> None:
    """A cursor cannot see temporary tables: there releases wait in turn."""
    import ibis

    connection = ibis.duckdb.connect(tmp_path / "own.duckdb")
    connection.con.register("incoming", events())
    kind = "temporary table" if shape == "temporary table" else "table"
    connection.con.execute(f"create {kind} events as from incoming")
    data = hc.open(
        connection.table("events"),
        user="who",
        account="own",
        budget=hc.Budget(rho=8 * 10**6, delta=0.01),
        ledger=tmp_path / "ledger.db",
    )

    def ask(number: int) -> float:
        plan, wanted = planned(data, number)
        found = rows_of(plan.release(fresh=True))
        return max(errors(number, found, wanted))

    async def all_at_once() -> list[float]:
        return await asyncio.gather(*(asyncio.to_thread(ask, number) for number in range(24)))

    assert max(asyncio.run(all_at_once())) < NEAR
    left = connection.con.execute("select table_name from duckdb_tables()").fetchall()
    assert left == [("events",)], "nothing of ours stays on the user's connection"
