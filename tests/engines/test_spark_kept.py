"""Rows that a release keeps on Spark: few tasks, nothing left behind, and lost ones made again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.engines.test_equal_error import BOUNDS, N_GROUPS, answers, events, everything
from tests.engines.test_faults import children

import headcount as hc
from headcount.contributions import read
from headcount.contributions.pairs import Pairs
from headcount.contributions.store import Store
from headcount.errors import EngineError
from headcount.tables import open_table
from headcount.tables.spark import SparkEngine
from headcount.tables.spark_tables import SparkTables

pytestmark = pytest.mark.spark
MOST_TASKS = 100
LISTED = [f"straße {group:02d}" for group in range(0, N_GROUPS, 2)]
LONG = os.environ.get("HEADCOUNT_LONG") == "1"


@pytest.mark.data
def test_a_small_table_takes_few_tasks_and_the_session_stays_as_it_was(tmp_path: Path) -> None:
    data = os.environ.get("HEADCOUNT_DATA")
    if data is None:
        pytest.skip("HEADCOUNT_DATA is not set")
    verbs = ["top", "within", *(["equal"] if LONG else [])]
    child = Path(__file__).with_name("spark_child.py")
    run = subprocess.run(
        [sys.executable, child, Path(data) / "msweb_vroots.parquet", tmp_path, *verbs],
        stdout=subprocess.PIPE,
        check=True,
        timeout=900,
    )
    found = json.loads(run.stdout.splitlines()[-1])
    print(found)
    for verb in verbs:
        assert 0 < found[verb]["tasks"] <= MOST_TASKS, found
        assert found[verb]["left"], found
    assert found["settings kept"]
    assert found["few"] < 15
    assert found["few, cached"] > MOST_TASKS, "what should be seen is not"
    assert found["files"] > 0 == found["files left"]


def kill_all_workers(cluster: Any) -> None:
    """With their executors, and all that these hold; others take their place."""
    for worker in cluster.workers:
        for victim in (worker.pid, *children(worker.pid)):
            os.kill(victim, signal.SIGKILL)
        worker.wait()
    cluster.workers = [cluster.start_worker() for _ in cluster.workers]


def lose_kept_rows(tables: SparkTables) -> None:
    """What executors hold goes, as with the executor."""
    for one in tables._kept.values():
        one.rows._jdf.queryExecution().analyzed().rdd().unpersist(True)


Strike = Callable[[SparkTables], None]


@pytest.fixture
def strike(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], bool], Strike], list[int]]:
    """Does something after those keeps of a test that it says, and counts what is made again."""

    def prepared(when: Callable[[int], bool], what: Strike) -> list[int]:
        seen = [0, 0]
        keep, again = SparkEngine.keep, SparkTables._make_again

        def kept(engine: SparkEngine, expr: Any, name: str) -> None:
            keep(engine, expr, name)
            seen[0] += 1
            if when(seen[0]):
                what(engine._here)

        def made(tables: SparkTables) -> None:
            seen[1] += 1
            again(tables)

        monkeypatch.setattr(SparkEngine, "keep", kept)
        monkeypatch.setattr(SparkTables, "_make_again", made)
        return seen

    return prepared


def stages(table: Any, key: bytes) -> list[list[int]]:
    """Enough of a release that each kept table is read after the next was made."""
    if LONG:
        return answers(table, key)
    every = np.arange(N_GROUPS)
    with table.engine.session(), Store(table.engine) as store:
        pairs = Pairs(table, "item", store, key=key)
        found = [pairs.users_per_cell().ask(), pairs.discover(BOUNDS, everything)]
        known = pairs.known(every)
        weights = 1_234_567 // (every + 3)
        found.append(known.class_totals(weights, every * 4 // N_GROUPS, 700_000).ask())
        clip = int((weights.astype(float) ** 2).sum()) // 9
        found.append(known.clipped(every, weights, clip).totals(7).ask())
    return [part.tolist() for part in found]


@pytest.fixture
def small(loader_of: Any) -> Any:
    return loader_of("spark").source(events(), "kept")


@pytest.fixture
def want(duckdb_loader: Any, key: bytes) -> list[list[int]]:
    return stages(duckdb_loader.open(events(), "kept", user="user"), key)


def held(cluster: Any) -> int:
    return int(cluster.session.sparkContext._jsc.getPersistentRDDs().size())


def test_rows_that_are_lost_are_made_again(
    small: Any, want: Any, key: bytes, strike: Any, spark_cluster: Any
) -> None:
    seen = strike(lambda _: True, lose_kept_rows)
    before = held(spark_cluster)
    assert stages(open_table(small, user="user"), key) == want
    assert seen[1] >= 4
    assert held(spark_cluster) == before


def test_a_worker_killed_between_two_kept_tables_changes_no_tally(
    small: Any, want: Any, key: bytes, strike: Any, spark_cluster: Any
) -> None:
    seen = strike(lambda n: n == 3, lambda _: kill_all_workers(spark_cluster))
    assert stages(open_table(small, user="user"), key) == want
    assert seen[1] >= 1


def test_a_release_that_loses_what_it_kept_is_charged_once(
    small: Any, strike: Any, tmp_path: Path
) -> None:
    seen = strike(lambda _: True, lose_kept_rows)
    budget, ledger = hc.Budget(epsilon=60, delta=1e-6), tmp_path / "ledger.db"
    data = hc.open(small, user="user", account="kept", budget=budget, ledger=ledger)
    within: dict[str, Any] = {"within": 0.3, "method": "equal"} if LONG else {"groups": LISTED}
    spend = hc.Budget(epsilon=40, delta=1e-7)
    release = data.count_users(by="item", spend=spend, **within).release()
    assert len(release) > 0
    assert seen[1] >= 1
    assert len(data.ledger.entries("kept")) == 1


def only_half(tables: SparkTables) -> None:
    for name, one in tuple(tables._kept.items()):
        rows = f"select *, row_number() over (order by 1) as hc_half from ({one.query})"
        columns = ", ".join(one.rows.columns)
        tables._make(name, f"select {columns} from ({rows}) where hc_half % 2 = 0")


def newest_first(tables: SparkTables) -> None:
    for name, one in reversed(tuple(tables._kept.items())):
        tables._make(name, one.query)


@pytest.mark.parametrize("wrong", [only_half, newest_first])
def test_a_table_made_again_wrongly_is_seen(
    wrong: Any, small: Any, want: Any, key: bytes, strike: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkTables, "_make_again", wrong)
    strike(lambda n: n == 2, lose_kept_rows)
    try:
        got = stages(open_table(small, user="user"), key)
    except Exception:
        return
    assert got != want


def test_rows_of_files_that_changed_are_not_made_again(
    spark_cluster: Any, tmp_path: Path, strike: Any
) -> None:
    """Two answers of one release would be of different rows."""
    path = tmp_path / "events.parquet"
    pq.write_table(events(), path)
    table = open_table(spark_cluster.session.read.parquet(str(path)), user="user")
    engine: Any = table.engine
    with engine.session(), Store(engine) as store:
        kept = store.keep(table.expr.select("user"))
        counted = kept.agg(n=kept.count())
        before = read.one_row(engine, counted)
        lose_kept_rows(engine._here)
        assert read.one_row(engine, counted) == before
        pq.write_table(events().slice(1), path)
        lose_kept_rows(engine._here)
        with pytest.raises(EngineError):
            read.one_row(engine, counted)
