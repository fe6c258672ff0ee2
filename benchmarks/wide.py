"""What a release into files costs beside writing the bare tally, on Spark with real executors.

CPU time of the whole process tree, driver and executors, smallest of the repeats of each. *bare*
writes ``count(distinct user) group by item`` to Parquet; *tally* writes the bounded tally of the
release, without noise; *wide* is everything a user calls: open, plan, charge, count, draw, write,
read back, store. The driver has a heap of 1 GiB; its peak memory, of Java and of Python, is that of
the whole run.

``--quick``: 1e5 groups. Full: 1e7, three users a group, each in one, and nearly all are
released. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

import headcount as hc
from engine import smallest  # type: ignore[import-not-found]
from headcount.contributions import Tally, bound
from headcount.privacy.bounds import Bounds
from headcount.tables import open_table

BUDGET = hc.Budget(epsilon=100_000, delta=1e-3)
SPEND = hc.Budget(epsilon=1000)
BOUND, N_FILES = 1, 16


def session(folder: Path) -> Any:
    """A driver of 1 GiB and two executors, each a process of its own."""
    import pyspark
    from pyspark.sql import SparkSession

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_SCALA_VERSION", "2.13")
    found = (
        SparkSession.builder.master("local-cluster[2,1,1400]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "1g")
        .config("spark.executor.memory", "1400m")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", str(N_FILES))
        .config("spark.local.dir", str(folder / "local"))
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .getOrCreate()
    )
    found.sparkContext.setLogLevel("ERROR")
    return found


def peak_mb(spark: Any) -> dict[str, int]:
    """The most memory that the driver had, of Python and of Java."""
    java = Path(f"/proc/{spark.sparkContext._gateway.proc.pid}/status").read_text()
    peak = next(line for line in java.splitlines() if line.startswith("VmHWM"))
    python = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {"driver python MB": python, "driver java MB": int(peak.split()[1]) // 1024}


def main() -> None:
    """Run, and print one JSON line last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--groups", type=float, default=1e7)
    parser.add_argument("--repeats", type=int, default=1)
    arguments = parser.parse_args()
    n_groups = 100_000 if arguments.quick else int(arguments.groups)
    released: list[hc.WideRelease] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["HEADCOUNT_HEADS"] = str(folder / "heads")
        spark = session(folder)
        rows = spark.range(0, 3 * n_groups, numPartitions=N_FILES).selectExpr(
            f"concat('item ', id % {n_groups}) as item", "id as user_id"
        )
        rows.write.parquet(str(folder / "events"))
        frame = spark.read.parquet(str(folder / "events"))
        places = iter(range(1000))

        def place() -> str:
            return str(folder / f"out {next(places)}")

        def bare() -> None:
            from pyspark.sql import functions

            counted = frame.distinct().groupBy("item").agg(functions.count("user_id").alias("n"))
            counted.write.option("compression", "zstd").parquet(place())

        def tally() -> None:
            table = open_table(frame, user="user_id")
            counted = Tally(bound(table, "item", Bounds(BOUND, BOUND), key=bytes(range(32))))
            query: Any = table.engine
            written = query._query(counted.query(ordered=False)).write
            written.option("compression", "zstd").parquet(place())

        def wide() -> None:
            data = hc.open(
                frame, user="user_id", account="bench", budget=BUDGET, ledger=folder / "ledger.db"
            )
            plan = data.count_users("item", method="laplace", bound=BOUND, spend=SPEND)
            released.append(plan.release(to=place(), files=N_FILES, fresh=True))

        least = smallest({"bare": bare, "tally": tally, "wide": wide}, arguments.repeats)
        found = {
            "groups": n_groups,
            "released": released[-1].rows,
            "MB": round(sum(file.bytes for file in released[-1].files) / 1e6, 1),
            "of bare": round(least["wide"] / least["bare"], 2),
            "of tally": round(least["wide"] / least["tally"], 2),
            **peak_mb(spark),
        }
        spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
