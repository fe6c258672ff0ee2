"""What plans said to expect beside what releases then had: errors, and numbers of rows.

Releases go through the public API on DuckDB, each from an account of its own. Four questions: the
default count, the same where a profile and frequencies were released before, 20 listed groups, and
the ten largest. The error is that within which nine rows in ten are, of all rows of all runs. A
cell holds where expected and measured are within a factor of 1.5. HEADCOUNT_DATA has the data.

``--quick``: two runs of one dataset at one cost. Full: ten runs of six datasets at three costs. The
last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import headcount as hc

DATA = (
    "movielens_1m", "gowalla_10core", "msweb_vroots", "ubuntu_irc_words", "retail_baskets",
    "git_sklearn_author_files",
)  # fmt: skip
RHOS = (0.01, 0.1, 1.0)
QUICK = (("msweb_vroots", 0.1),)
N_LISTED, N_TOP = 20, 10
FACTOR = 1.5
FIRST_RHO = "0.05"
"""What a profile and frequencies cost each, before the count that they tell of."""
WAYS = {"default": "users are many", "after a profile": "", "listed": "", "top": ""}


class Data:
    """One dataset, and the truth about it."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.path = name, folder / f"{name}.parquet"
        count = f"select item, count(distinct user) from '{self.path}' group by 1"
        self.truth = dict(duckdb.execute(count).fetchall())
        self.by_size = sorted(self.truth, key=lambda group: -self.truth[group])

    def asked(self, way: str) -> dict[str, Any]:
        """Arguments beside what to count by."""
        # Every so many, so that small groups are among them.
        listed = self.by_size[:: max(1, len(self.by_size) // (4 * N_LISTED))][:N_LISTED]
        own: dict[str, dict[str, Any]] = {"listed": {"groups": listed}, "top": {"top": N_TOP}}
        return own.get(way, {})

    def release(self, way: str, rho: float, scratch: Path) -> tuple[dict[str, Any], Any, str]:
        """What was expected, how far each row was off, and the method that was taken."""
        whole = hc.Budget(rho=str(rho + 2 * float(FIRST_RHO)), delta="2e-6")
        ledger = scratch / f"{time.monotonic_ns()}.db"
        data = hc.open(self.path, user="user", account="expected", budget=whole, ledger=ledger)
        if way == "after a profile":
            data.profile("item", spend=hc.Budget(rho=FIRST_RHO)).release()
            data.frequencies("item", spend=hc.Budget(rho=FIRST_RHO)).release()
        plan = data.count_users(
            "item", spend=hc.Budget(rho=str(rho), delta="1e-6"), **self.asked(way)
        )
        expected = list(plan.expected())
        release = plan.release()
        one = next((row for row in expected if WAYS[way] in row["case"]), expected[0])
        rows = release.to_arrow().to_pylist()
        truth = np.array([self.truth[row["item"]] for row in rows], float)
        off = np.abs(np.array([row["count"] for row in rows], float) - truth)
        relative = one["unit"] == "of the count"
        return one, off / truth if relative else off, release.facts.method


def cell(data: Data, way: str, rho: float, n_runs: int, scratch: Path) -> dict[str, Any]:
    """Means of what was expected, and the ninth tenth of the errors of all rows."""
    runs = [data.release(way, rho, scratch) for _ in range(n_runs)]
    errors = np.concatenate([off for _, off, _ in runs])
    told = [one["error"] for one, _, _ in runs if one["error"] is not None]
    rows = [one["rows"] for one, _, _ in runs if one["rows"] is not None]
    expected = float(np.mean(told)) if told else None
    measured = float(np.quantile(errors, 0.9)) if len(errors) else None
    ratio = None if not expected or not measured else expected / measured
    return {
        "data": data.name,
        "rho": rho,
        "way": way,
        "runs": n_runs,
        "unit": runs[0][0]["unit"],
        "expected": None if expected is None else round(expected, 4),
        "measured": None if measured is None else round(measured, 4),
        "ratio": None if ratio is None else round(ratio, 2),
        "holds": ratio is not None and 1 / FACTOR <= ratio <= FACTOR,
        "expected_rows": round(float(np.mean(rows)), 1) if rows else None,
        "rows": round(len(errors) / n_runs, 1),
        "method": runs[0][2].split(":")[0],
    }


def main() -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two runs of one dataset")
    parser.add_argument("--runs", type=int, help="runs a cell; ten unless told")
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--rho", nargs="+", type=float, default=list(RHOS))
    parser.add_argument("--way", nargs="+", choices=list(WAYS), default=list(WAYS))
    arguments = parser.parse_args()
    # Every release begins a ledger, which says so.
    logging.getLogger("headcount").setLevel(logging.ERROR)
    folder = os.environ.get("HEADCOUNT_DATA")
    if not folder:
        sys.exit("HEADCOUNT_DATA does not point to the datasets.")
    asked = [(name, rho) for name in arguments.data for rho in arguments.rho]
    n_runs, cells = arguments.runs or (2 if arguments.quick else 10), []
    with tempfile.TemporaryDirectory() as place:
        for name, rho in QUICK if arguments.quick else asked:
            data = Data(name, Path(folder))
            for way in arguments.way:
                cells.append(cell(data, way, rho, n_runs, Path(place)))
                print("  ".join(f"{key} {value}" for key, value in cells[-1].items()), flush=True)
    shown = [one for one in cells if one["measured"] is not None]
    share = sum(one["holds"] for one in shown) / len(shown) if shown else None
    print(json.dumps({"cells_that_hold": share, "cells": cells}))


if __name__ == "__main__":
    main()
