"""A Spark session in this process, as anyone starts one: what releases cost it, and leave in it.

Usage: spark_child.py TABLE FOLDER [VERB ...]; the last line is JSON.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import headcount as hc
from headcount.contributions.pairs import Pairs
from headcount.contributions.store import Store
from headcount.tables import open_table, spark_tables

VERBS: dict[str, dict[str, Any]] = {
    "top": {"top": 5},
    "within": {"within": 0.1},
    "equal": {"top": 5, "method": "equal"},
}


def session_of(folder: Path) -> Any:
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def tasks(spark: Any) -> int:
    """How many this session has run, by Spark's own book."""
    jobs = spark.sparkContext._jsc.sc().statusStore().jobsList(None)
    return sum(jobs.apply(i).numCompletedTasks() for i in range(jobs.size()))


def cpu_seconds() -> float:
    """Of this process and of those it started, which still run."""
    ticks = os.sysconf("SC_CLK_TCK")
    parents, used = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        number = int(stat.parent.name)
        parents[number], used[number] = int(fields[1]), (int(fields[11]) + int(fields[12])) / ticks
    ours = {os.getpid()}
    while more := {one for one, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(used[one] for one in ours)


def left(spark: Any) -> dict[str, int]:
    """What stands in the session: views, and rows that executors hold."""
    held = spark.sparkContext._jsc.getPersistentRDDs().size()
    return {"views": len(spark.catalog.listTables()), "held": held}


def counted(spark: Any, frame: Any, folder: Path, name: str) -> dict[str, Any]:
    data = hc.open(
        frame,
        user="user",
        account=name,
        budget=hc.Budget(epsilon=100, delta=1e-6),
        ledger=folder / f"{name}.db",
    )
    spend = hc.Budget(epsilon=3, delta=1e-7)
    before, cpu, settings, stood = tasks(spark), cpu_seconds(), spark.conf.getAll, left(spark)
    plan = data.count_users(by="item", spend=spend, **VERBS[name])
    n_rows = len(plan.release())
    return {
        "rows": n_rows,
        "tasks": tasks(spark) - before,
        "cpu": round(cpu_seconds() - cpu, 1),
        "left": left(spark) == stood and spark.conf.getAll == settings,
    }


def a_few_stages(spark: Any, frame: Any, folder: Path | None = None) -> int:
    """The tasks of the first questions of a release, or how many files they have in a folder."""
    table, before = open_table(frame, user="user"), tasks(spark)
    with Store(table.engine) as store:
        pairs = Pairs(table, "item", store, key=bytes(32))
        pairs.users_per_cell().ask()
        if folder is not None:
            return sum(path.is_file() for path in folder.rglob("part-*"))
    return tasks(spark) - before


def main(table: str, place: str, *verbs: str) -> None:
    folder = Path(place)
    spark = session_of(folder)
    first = spark.conf.getAll
    frame = spark.read.parquet(table)
    found: dict[str, Any] = {name: counted(spark, frame, folder, name) for name in verbs}
    found["settings kept"] = spark.conf.getAll == first
    found["few"] = a_few_stages(spark, frame)
    cut, spark_tables._checkpoint = spark_tables._checkpoint, lambda rows: rows.cache()
    found["few, cached"] = a_few_stages(spark, frame)
    spark_tables._checkpoint = cut
    checkpoints = folder / "checkpoints"
    spark.sparkContext.setCheckpointDir(str(checkpoints))
    found["files"] = a_few_stages(spark, frame, checkpoints)
    found["files left"] = sum(path.is_file() for path in checkpoints.rglob("*part-*"))
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
