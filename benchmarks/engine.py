"""What a release costs beside the bare engine's ``count(distinct user) group by group``.

CPU time of the whole process tree, ours and the bare query interleaved in one run, smallest of the
repeats of each; a ratio, since machines differ and are noisy. Our side is everything a user calls:
open, plan, charge, read, draw, store. *known* names 1,000 public groups, *unknown* finds them,
*peel* measures the largest one by one (Private Count Release), *within* aims at 10 % by the method
that a private profile suggests. The last two on DuckDB alone. *events* counts rows in the 1,000
groups with a bound that is chosen, beside the bare ``count(*) group by item`` plus the bare
``count(*) group by user``.

``--quick``: 2e6 rows on DuckDB. Full: 2e7 rows, and Spark. ``--distribution``: shares of 1,000
groups beside the bare count of rows per user and group. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import headcount as hc

KNOWN = [f"item_{i}" for i in range(1000)]
ITEMS = 1_000_000
BUDGET = hc.Budget(epsilon=1000, delta=1e-3)
SPEND = hc.Budget(epsilon=1)


def write_events(path: Path, n_rows: int, n_users: int, n_items: int = ITEMS) -> None:
    """Zipf items, lognormal users, rows in random order."""
    rng = np.random.default_rng(1)
    weight = rng.lognormal(0, 1.2, n_users)
    n_each = rng.multinomial(n_rows - n_users, weight / weight.sum()) + 1
    user = np.repeat(np.arange(n_users), n_each)
    rng.shuffle(user)
    popularity = np.cumsum(1 / np.arange(1, n_items + 1) ** 1.1)
    names = pa.array([f"item_{i}" for i in range(n_items)])
    with pq.ParquetWriter(path, pa.schema({"user_id": pa.int64(), "item": pa.string()})) as out:
        for start in range(0, n_rows, 1_000_000):
            part = user[start : start + 1_000_000]
            item = np.searchsorted(popularity, rng.random(len(part)) * popularity[-1])
            out.write_table(pa.table({"user_id": part, "item": names.take(pa.array(item))}))


def cpu_seconds() -> float:
    """CPU time of this process and of everything it started that still runs, or has ended."""
    ticks = os.sysconf("SC_CLK_TCK")
    parents: dict[int, int] = {}
    used: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.name)] = int(fields[1])
        used[int(entry.name)] = sum(int(value) for value in fields[11:15]) / ticks
    family = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(used[pid] for pid in family)


def smallest(runs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """The least CPU time of each, taken in turns; one round first to warm up."""
    least = dict.fromkeys(runs, float("inf"))
    for repeat in range(repeats + 1):
        for name, run in runs.items():
            before, started = cpu_seconds(), time.perf_counter()
            run()
            taken = cpu_seconds() - before
            print(f"  {name:8} cpu {taken:7.2f} s  wall {time.perf_counter() - started:7.2f} s")
            if repeat:
                least[name] = min(least[name], taken)
    return least


def ratios(least: dict[str, float]) -> dict[str, float]:
    """Ours over the bare engine."""
    return {
        name: round(taken / least["bare"], 2) for name, taken in least.items() if name != "bare"
    }


def ours(source: Any, folder: Path, **asked: Any) -> Callable[[], object]:
    """One whole release as a user calls it."""

    def run() -> object:
        data = hc.open(
            source, user="user_id", account="bench", budget=BUDGET, ledger=folder / "ledger.db"
        )
        return data.count_users(by="item", spend=SPEND, **asked).release(fresh=True)

    return run


def on_duckdb(path: Path, folder: Path, repeats: int) -> dict[str, float]:
    """The same file on DuckDB."""
    import duckdb

    query = f"select item, count(distinct user_id) from '{path}' group by item"
    runs = {
        "bare": lambda: duckdb.connect().execute(query).to_arrow_table(),
        "known": ours(str(path), folder, groups=KNOWN),
        "unknown": ours(str(path), folder),
        "peel": ours(str(path), folder, method="peel"),
        "within": ours(str(path), folder, within=0.10),
    }
    return ratios(smallest(runs, repeats))


def events_on_duckdb(path: Path, folder: Path, repeats: int) -> float:
    """Counts of rows, their bound chosen, over the bare counts by item and by user."""
    import duckdb

    def ours_of_events() -> object:
        data = hc.open(
            str(path), user="user_id", account="bench", budget=BUDGET, ledger=folder / "ledger.db"
        )
        return data.count_events(by="item", groups=KNOWN, spend=SPEND).release(fresh=True)

    by_user = f"select max(n) from (select count(*) as n from '{path}' group by user_id)"
    by_item = f"select item, count(*) from '{path}' group by item"
    runs = {
        "by item": lambda: duckdb.connect().execute(by_item).to_arrow_table(),
        "by user": lambda: duckdb.connect().execute(by_user).fetchall(),
        "events": ours_of_events,
    }
    least = smallest(runs, repeats)
    return round(least["events"] / (least["by item"] + least["by user"]), 2)


def distribution_on_duckdb(path: Path, folder: Path, repeats: int) -> dict[str, float]:
    """Shares of all known groups, beside the bare count of rows per user and group."""
    import duckdb

    counted = f"select user_id, item, count(*) as n from '{path}' group by user_id, item"
    query = f"select count(*), sum(n) from ({counted})"

    def shares() -> object:
        data = hc.open(
            str(path), user="user_id", account="bench", budget=BUDGET, ledger=folder / "ledger.db"
        )
        return data.distribution(by="item", groups=KNOWN, spend=SPEND).release(fresh=True)

    runs = {"bare": lambda: duckdb.connect().execute(query).fetchall(), "shares": shares}
    least = smallest(runs, repeats)
    return {"distribution": round(least["shares"] / least["bare"], 2)}


def on_spark(path: Path, folder: Path, repeats: int) -> dict[str, float]:
    """The same file on a local Spark."""
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import count_distinct

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "6g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(str(path))
    runs = {
        "bare": lambda: frame.groupBy("item").agg(count_distinct("user_id")).toArrow(),
        "known": ours(frame, folder, groups=KNOWN),
        "unknown": ours(frame, folder),
    }
    try:
        return ratios(smallest(runs, repeats))
    finally:
        session.stop()


def main() -> None:
    """Run, and print one JSON line last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-spark", action="store_true", help="2e7 rows on DuckDB alone")
    parser.add_argument("--distribution", action="store_true", help="shares of groups instead")
    arguments = parser.parse_args()
    quick = arguments.quick
    n_rows, n_users = (2_000_000, 100_000) if quick else (20_000_000, 1_000_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["HEADCOUNT_HEADS"] = str(folder / "heads")
        path = folder / "events.parquet"
        if arguments.distribution:
            write_events(path, n_rows, n_users, len(KNOWN))
            print(json.dumps({"duckdb": distribution_on_duckdb(path, folder, repeats=2)}))
            return
        write_events(path, n_rows, n_users)
        found = {"duckdb": on_duckdb(path, folder, repeats=3 if quick else 2)}
        found["duckdb"]["events"] = events_on_duckdb(path, folder, repeats=3 if quick else 2)
        if not (quick or arguments.no_spark):
            found["spark"] = on_spark(path, folder, repeats=1)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
