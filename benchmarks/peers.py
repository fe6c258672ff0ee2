"""The same count by OpenDP, PipelineDP, Tumult and headcount: CPU, rows, and rows within 10 %.

How many distinct users there are by item, of items that are not known, at one epsilon and delta, on
the events of ``engine.py``. Peers take a bound of 20 items a user, as one would without looking;
headcount takes no bound. CPU time is that of the whole process tree, start-up included, over that
of DuckDB's ``count(distinct user) group by item`` in a process of its own. Within: rows whose count
is at most 10 % off the truth, as a share of those that were released.

Each peer has an environment of its own in ``.venvs``, made here by uv from hashed requirements.
``--quick``: 2e5 rows. Full: 2e6. The last line is JSON.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from engine import cpu_seconds, write_events  # type: ignore[import-not-found]

ROOT = Path(__file__).parents[1]
PROGRAMS = ROOT / "benchmarks" / "peer_programs"
PEERS = {"opendp": "opendp", "pipelinedp": "pipeline-dp", "tumult": "tmlt.analytics"}
EPSILON, DELTA, BOUND = "1", "1e-6", "20"
BARE = """
import sys, duckdb
duckdb.sql(f"select item, count(distinct user_id) as count from '{sys.argv[1]}' group by item"
).write_parquet(sys.argv[2])
"""
OURS = """
import sys
import headcount as hc
events, epsilon, delta, folder, out = sys.argv[1:]
data = hc.open(events, user="user_id", budget=hc.Budget(epsilon=epsilon, delta=delta),
               ledger=f"{folder}/ledger.db")
data.count_users("item", spend=hc.Budget(epsilon=epsilon)).release().write_parquet(out)
"""


def environment(peer: str) -> Path:
    """The Python of a peer, installed from its hashed requirements."""
    folder = ROOT / ".venvs" / f"peer-{peer}"
    lock = ROOT / "requirements" / f"peer-{peer}.lock"
    make = ["uv", "venv", "--quiet", "--allow-existing", "--python", "3.11", str(folder)]
    sync = ["uv", "pip", "sync", "--quiet", "--python", str(folder), "--require-hashes", str(lock)]
    for command in (make, sync):
        subprocess.run(command, check=True)
    return folder / "bin" / "python"


def version(python: Path, package: str) -> str:
    """The installed version of a package."""
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run(
        [python, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()


def cpu_of(command: list[str]) -> float:
    """CPU time of a command and of all that it starts, looked at while it runs."""
    before, most = cpu_seconds(), 0.0
    process = subprocess.Popen(command)
    while process.poll() is None:
        most = max(most, cpu_seconds() - before)
        time.sleep(0.1)
    if process.returncode:
        raise RuntimeError(f"{command[1]} ended with {process.returncode}")
    return max(most, cpu_seconds() - before)


def scored(out: Path, truth: dict[str, int]) -> dict[str, float]:
    """How many rows were released, and how many are near the truth."""
    rows = [(row["item"], row["count"]) for row in pq.read_table(out).to_pylist()]
    near = sum(abs(count - truth.get(item, 0)) <= 0.1 * truth.get(item, 0) for item, count in rows)
    return {"rows": len(rows), "within 10 %": round(near / len(rows), 3) if rows else 0.0}


def main() -> None:
    """Run, and print one JSON line last."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=PEERS)
    arguments = parser.parse_args()
    n_rows = 200_000 if arguments.quick else 2_000_000
    found: dict[str, object] = {"rows": n_rows, "date": str(datetime.date.today())}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["HEADCOUNT_HEADS"] = str(folder / "heads")
        events, out = folder / "events.parquet", folder / "out.parquet"
        write_events(events, n_rows, n_rows // 20)
        bare = cpu_of([sys.executable, "-c", BARE, str(events), str(out)])
        truth = dict(
            duckdb.sql(
                f"select item, count(distinct user_id) from '{events}' group by item"
            ).fetchall()
        )
        ours = [sys.executable, "-c", OURS, str(events), EPSILON, DELTA, str(folder), str(out)]
        found["bare CPU-s"] = round(bare, 1)
        found["headcount"] = {"cpu": round(cpu_of(ours) / bare, 1), **scored(out, truth)}
        for peer in [arguments.only] if arguments.only else PEERS:
            python, program = environment(peer), PROGRAMS / f"{peer}_count.py"
            command = [str(python), str(program), str(events), EPSILON, DELTA, BOUND, str(out)]
            found[peer] = {
                "version": version(python, PEERS[peer]),
                "cpu": round(cpu_of(command) / bare, 1),
                **scored(out, truth),
            }
            print(json.dumps({peer: found[peer]}), flush=True)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
