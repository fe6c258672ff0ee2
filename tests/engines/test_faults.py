"""A worker dies in the middle of a tally, and the tally does not change."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.contributions import Tally, bound
from headcount.contributions.group_totals import GroupTotals
from headcount.privacy.bounds import Bounds
from headcount.results.release import Release
from headcount.tables import open_table

pytestmark = pytest.mark.spark


def children(parent: int) -> list[int]:
    """The processes a process has started, with what they started themselves."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(after_name[1]) == parent:
            found += [int(stat.parent.name), *children(int(stat.parent.name))]
    return found


def write_files(folder: Path) -> None:
    numbers = np.random.default_rng(7)
    for index in range(6):
        users = numbers.integers(0, 20_000, 150_000)
        items = numbers.zipf(1.3, 150_000) % 50_000
        table = pa.table({"user": users, "item": pa.array(items).cast(pa.string())})
        pq.write_table(table, folder / f"{index}.parquet")


def running_tasks(session: Any) -> int:
    tracker = session.sparkContext.statusTracker()
    stages = (tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds())
    return sum(stage.numActiveTasks for stage in stages if stage is not None)


def kill_a_worker_while(runner: threading.Thread, cluster: Any) -> None:
    """Start the runner, wait for its first tasks, then kill a worker with its executor."""
    runner.start()
    while runner.is_alive() and running_tasks(cluster.session) == 0:
        time.sleep(0.02)
    time.sleep(1)
    worker = cluster.workers.pop(0)
    victims = [worker.pid, *children(worker.pid)]
    was_running = runner.is_alive()
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    worker.wait()
    cluster.workers.append(cluster.start_worker())
    runner.join(timeout=540)
    assert was_running, "the work was over before the worker died; make the table larger"
    assert len(victims) >= 2, "the worker had no executor"


def test_killing_a_worker_changes_nothing(
    spark_cluster: Any, tmp_path: Any, key: Any, tally_of: Any, digest_of: Any
) -> None:
    write_files(tmp_path)
    bounds = Bounds(20, 5, 10)
    whole = open_table(str(tmp_path / "*.parquet"), user="user")
    want = digest_of(tally_of(bound(whole, "item", bounds, key=key)))

    table = open_table(spark_cluster.session.read.parquet(str(tmp_path)), user="user")
    contributions = bound(table, "item", bounds, key=key)
    tallies: list[pa.Table] = []
    runner = threading.Thread(target=lambda: tallies.append(tally_of(contributions)))
    kill_a_worker_while(runner, spark_cluster)
    assert digest_of(tallies[0]) == want


def test_a_release_that_loses_a_worker_is_charged_once_and_right(
    spark_cluster: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole way a user takes it, with the totals that reach the noise looked at in passing."""
    folder = tmp_path / "events"
    folder.mkdir()
    write_files(folder)
    seen: list[dict[str, int]] = []
    original = Tally.parts

    def parts(self: Tally, *, ordered: bool = False) -> Iterator[GroupTotals]:
        totals: dict[str, int] = {}
        for part in original(self, ordered=ordered):
            (names,) = part.every_name().columns
            totals.update(zip(names.to_pylist(), part.query.ask().tolist(), strict=True))
            yield part
        seen.append(totals)

    monkeypatch.setattr(Tally, "parts", parts)
    budget = hc.Budget(epsilon=8, delta=1e-6)
    here = {"user": "user", "account": "events", "ledger": tmp_path / "ledger.db"}
    spend = hc.Budget(epsilon=1)
    frame = spark_cluster.session.read.parquet(str(folder))
    data = hc.open(frame, budget=budget, **here)
    plan = data.count_users(by="item", spend=spend)
    releases: list[Release] = []
    kill_a_worker_while(
        threading.Thread(target=lambda: releases.append(plan.release())), spark_cluster
    )
    assert len(releases[0]) > 0
    assert len(data.ledger.entries("events")) == 1
    hc.open(pq.read_table(folder), **here).count_users(by="item", spend=spend).release()
    assert seen[0] == seen[1]
