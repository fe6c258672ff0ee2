"""``within`` under a limit of memory, beside the bare engine's distinct count under the same limit.

Each runs in a process of its own, and its CPU time is that of the whole process, start-up included.
The table has twenty rows a user and Zipf-like items. 2e7 rows under 400 MB have as many bytes a row
as 1e8 under 2 GB, which is ``--rows 1e8 --memory 2GB``. ``--quick``: 2e6 rows under 80 MB. The last
line is JSON: CPU ratio, the process's peak and what was spilled, in MB.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

BARE = "select item, count(distinct user_id) from '{path}' group by item"


def write_events(path: Path, n_rows: int) -> None:
    """Many users have few rows and a few have many."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("select setseed(0.5)").fetchall()
        connection.execute(
            f"""copy (select
                cast(floor({n_rows // 20} * pow(random(), 1.6)) as bigint) as user_id,
                cast(floor(pow({n_rows // 25}, random())) as bigint) as item
            from range({n_rows})) to '{path}' (row_group_size 1000000)"""
        )


def spilled(folder: Path) -> int:
    """Bytes of files below a folder, some of which go meanwhile."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total


def bare(path: str, memory: str, folder: Path) -> int:
    """How many groups there are."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute(f"set memory_limit = '{memory}'")
        connection.execute(f"set temp_directory = '{folder / 'scratch'}'")
        connection.execute(BARE.format(path=path))
        n_groups = 0
        while some := connection.fetchmany(65_536):
            n_groups += len(some)
        return n_groups


def within(path: str, memory: str, folder: Path) -> int:
    """How many groups are released."""
    import headcount as hc

    os.environ["HEADCOUNT_HEADS"] = str(folder / "heads")
    data = hc.open(
        path,
        user="user_id",
        account="memory",
        budget=hc.Budget(epsilon=100, delta=1e-5),
        ledger=folder / "ledger.db",
        memory=memory,
        scratch=folder / "scratch",
    )
    spend = hc.Budget(epsilon=1, delta=1e-7)
    return len(data.count_users("item", within=0.1, method="equal", spend=spend).release())


def child(name: str, path: str, memory: str, place: str) -> None:
    """Run one of the two, and say what it took."""
    folder, most, done = Path(place), [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.1):
            most[0] = max(most[0], spilled(folder / "scratch"))

    threading.Thread(target=watch, daemon=True).start()
    started, before = time.perf_counter(), time.process_time()
    n_rows = {"bare": bare, "within": within}[name](path, memory, folder)
    done.set()
    found = {
        "rows": n_rows,
        "cpu": round(time.process_time() - before, 1),
        "wall": round(time.perf_counter() - started, 1),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        "spilled": most[0] >> 20,
    }
    print(json.dumps(found))


def main() -> None:
    """Write the table, run both, compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=float, default=2e7)
    parser.add_argument("--memory", default="400MB")
    asked = parser.parse_args()
    n_rows, memory = (2_000_000, "80MB") if asked.quick else (int(asked.rows), asked.memory)
    found = {}
    with tempfile.TemporaryDirectory() as top:
        path = Path(top) / "events.parquet"
        write_events(path, n_rows)
        for name in ("bare", "within"):
            folder = Path(top) / name
            (folder / "scratch").mkdir(mode=0o700, parents=True)
            command = [sys.executable, __file__, "child", name, str(path), memory, str(folder)]
            run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found[name] = json.loads(run.stdout.splitlines()[-1])
            print(f"{name:>7} {found[name]}", flush=True)
    ratio = found["within"]["cpu"] / found["bare"]["cpu"]
    print(json.dumps({"rows": n_rows, "memory": memory, "ratio": round(ratio, 2), **found}))


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        child(*sys.argv[2:])
    else:
        main()
