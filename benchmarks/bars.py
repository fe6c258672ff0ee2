"""Whether the error bars of counts hold, and how sharp the counts are, by default.

Releases go through the public API with default arguments, on DuckDB, each from an account of its
own. Data are read from HEADCOUNT_DATA; the demo is made on the spot. Constants were chosen on the
datasets called tuned on; the others were held out.

``--quick``: as many runs of three cells as 36 s allow. Full: 40 runs of every dataset (5 of the two
largest) at three costs. ``--within 0.10``: the same with a target. ``--of events``: counts of rows,
of the datasets that say how often, in groups that are found; ``--of known``: in the 60 largest,
listed. ``--save FILE`` keeps the means, and ``--beside FILE`` puts them beside those that another
version saved. The last line is JSON.
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

TUNED = (
    "movielens_1m", "gowalla_10core", "sentiment140_sample", "ubuntu_irc_words", "retail_baskets",
    "msweb_vroots", "git_sklearn_author_files", "demo", "reddit_post_domain", "blogs_words",
)  # fmt: skip
HELD_OUT = ("debian_package_words", "reddit_post_words")
LARGE = ("blogs_words", "reddit_post_words")
# Those that say how often; blogs_words does too, and 138 million rows are too many for 40 runs.
WITH_COUNTS = (
    "ubuntu_irc_words", "sentiment140_sample", "git_sklearn_author_files", "demo",
    "debian_package_words",
)  # fmt: skip
QUICK = {
    "users": (("demo", 0.1), ("msweb_vroots", 0.1), ("git_sklearn_author_files", 1.0)),
    "events": (("demo", 0.1), ("ubuntu_irc_words", 0.1), ("git_sklearn_author_files", 0.1)),
}
QUICK["known"] = QUICK["events"]
N_LISTED = 60
RHOS = (0.01, 0.1, 1.0)
NEAR = 0.10
QUICK_SECONDS = 36


class Data:
    """One dataset: where it is, and the truth about it."""

    def __init__(self, name: str, folder: Path, scratch: Path, of: str) -> None:
        self.name, self.user, self.item, self.of = name, "user", "item", of
        self.path = folder / f"{name}.parquet"
        if name == "demo":
            from headcount.tables.demo import write_demo

            self.path, self.user, self.item = scratch / "demo.parquet", "user_id", "page"
            if not self.path.exists():
                write_demo(self.path, n_users=20_000, n_pages=2_000)
        elif of != "users":
            rows = f"select user, item from '{self.path}', range(count)"
            self.path = scratch / f"{name}.parquet"
            duckdb.execute(f"copy ({rows}) to '{self.path}' (format parquet)")
        what = f'distinct "{self.user}"' if of == "users" else "*"
        count = f"select \"{self.item}\", count({what}) from '{self.path}' group by 1"
        self.truth = dict(duckdb.execute(count).fetchall())
        self.by_size = sorted(self.truth, key=lambda group: -self.truth[group])
        self.third = self.truth[self.by_size[2]]

    def release(self, rho: float, within: float | None, scratch: Path) -> dict[str, float]:
        """One release by default arguments, held against the truth."""
        budget = hc.Budget(rho=str(rho), delta="1e-6")
        data = hc.open(
            self.path,
            user=self.user,
            account="bars",
            budget=budget,
            ledger=scratch / f"{time.monotonic_ns()}.db",
        )
        verb = data.count_users if self.of == "users" else data.count_events
        listed = self.by_size[:N_LISTED] if self.of == "known" else None
        plan = verb(self.item, spend=budget, within=within, groups=listed)
        rows = plan.release().to_arrow().to_pylist()
        counts = {row[self.item]: row["count"] for row in rows}
        lost = sum(n >= self.third and name not in counts for name, n in self.truth.items())
        found = {"rows": float(len(rows)), "within": 0.0, "lost_top3": float(lost), "absurd": 0.0}
        if not rows:
            return found
        count, low, high = (
            np.array([row[name] for row in rows], float) for name in ("count", "low", "high")
        )
        truth = np.array([self.truth[row[self.item]] for row in rows], float)
        error, held = np.abs(count / truth - 1), (low <= truth) & (truth <= high)
        top = np.argsort(-truth)[: -(-len(rows) // 10)]
        return {
            **found,
            "within": float((error <= NEAR).sum()),
            "cover": float(held.mean()),
            "cover_top": float(held[top].mean()),
            "top_error": float(np.median(error[top])),
            "bar": float(np.median((high - low) / 2 / truth)),
            "absurd": float(((count < truth / 2) & ~held).sum()),
        }


def mean(runs: list[dict[str, float]]) -> dict[str, float]:
    """Means over the runs that have a number; rows and faults over all runs."""
    names = dict.fromkeys(name for run in runs for name in run)
    return {
        name: round(float(np.mean([run[name] for run in runs if name in run])), 4) for name in names
    }


def summary(cells: list[dict[str, Any]], before: list[dict[str, Any]]) -> dict[str, Any]:
    """The worst of the cells, and ratios to those of another version."""
    shown = [cell for cell in cells if "cover" in cell]
    pairs = [
        (cell, old)
        for cell in cells
        for old in before
        if (cell["data"], cell["rho"]) == (old["data"], old["rho"]) and old["within"] >= 1
    ]
    result: dict[str, Any] = {
        "worst_cover": min((cell["cover"] for cell in shown), default=None),
        "worst_cover_top": min((cell["cover_top"] for cell in shown), default=None),
        "most_cover": max((cell["cover"] for cell in shown), default=None),
        "absurd": sum(cell["absurd"] for cell in cells),
        "lost_top3": sum(cell["lost_top3"] for cell in cells if cell["data"] == "demo"),
    }
    if pairs:
        result |= {
            "worst_within_ratio": round(min(c["within"] / o["within"] for c, o in pairs), 3),
            "sum_within_ratio": round(
                sum(c["within"] for c, _ in pairs) / sum(o["within"] for _, o in pairs), 3
            ),
            "top_error_ratio": round(
                float(np.median([c["top_error"] / o["top_error"] for c, o in pairs])), 3
            ),
        }
    return result


def main() -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three cells for 36 s")
    parser.add_argument("--runs", type=int, help="runs a cell; 40 unless told")
    parser.add_argument("--data", nargs="+", choices=[*TUNED, *HELD_OUT])
    parser.add_argument("--rho", nargs="+", type=float, default=list(RHOS))
    parser.add_argument("--of", choices=["users", "events", "known"], default="users")
    parser.add_argument("--within", type=float, help="a target; none by default")
    parser.add_argument("--save", type=Path, help="write the cells to this file")
    parser.add_argument("--beside", type=Path, help="cells that another version saved")
    arguments = parser.parse_args()
    # Every release begins a ledger, which says so.
    logging.getLogger("headcount").setLevel(logging.ERROR)
    folder = os.environ.get("HEADCOUNT_DATA")
    if not folder:
        sys.exit("HEADCOUNT_DATA does not point to the datasets.")
    every = (*TUNED, *HELD_OUT) if arguments.of == "users" else WITH_COUNTS
    asked = [(name, rho) for name in arguments.data or every for rho in arguments.rho]
    cells = []
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        for name, rho in QUICK[arguments.of] if arguments.quick else asked:
            data, started = Data(name, Path(folder), scratch, arguments.of), time.monotonic()
            runs: list[dict[str, float]] = []
            most = arguments.runs or (5 if name in LARGE else 40)
            while len(runs) < most and not (
                arguments.quick and runs and time.monotonic() - started > QUICK_SECONDS / 3
            ):
                runs.append(data.release(rho, arguments.within, scratch))
            kind = "held out" if name in HELD_OUT else "tuned on"
            cells.append({"data": name, "rho": rho, "kind": kind, "runs": len(runs), **mean(runs)})
            print("  ".join(f"{key} {value}" for key, value in cells[-1].items()), flush=True)
    if arguments.save:
        arguments.save.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")
    before = json.loads(arguments.beside.read_text("utf-8")) if arguments.beside else []
    print(json.dumps({**summary(cells, before), "cells": cells}))


if __name__ == "__main__":
    main()
