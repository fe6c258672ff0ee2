"""How many counts are released within 10 % of the truth: ours against PCR and Plume.

Ours is what ``count_users(by, within=0.10)`` runs, below the ledger, on DuckDB. PCR is Private
Count Release as printed (growth by a root of two, delta of 1e-11 a call, z 1.5). Plume bounds users
at the true 95th or 99th percentile, a number it is not charged for, with the sensitivity that the
bound really has, the root of it. Data are read from HEADCOUNT_DATA.

``--quick``: two runs of two datasets. Full: ten runs of seven. ``--coverage``: how often the
printed 95 % intervals hold the truth, in 200 runs of two datasets. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import secrets
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from headcount.accounting.tail import each_of, upper_point
from headcount.contributions.pairs import Pairs
from headcount.contributions.store import Store
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.equal_error.mechanism import EqualError
from headcount.mechanisms.private_count_release import PrivateCountRelease
from headcount.privacy.spend import Zcdp
from headcount.tables import open_table

MANY = (
    "movielens_1m", "gowalla_10core", "sentiment140_sample", "ubuntu_irc_words",
    "reddit_post_words", "blogs_words",
)  # fmt: skip
ONE = ("reddit_post_domain",)
QUICK = ("movielens_1m", "ubuntu_irc_words")
OURS = ["equal", "peel"]
COVERED = ("movielens_1m", "gowalla_10core")
RHOS = (0.1, 0.5, 1.0)
DELTA = 1e-6
WITHIN = 0.10

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
rng = np.random.default_rng()


@dataclass
class Data:
    """One dataset, as arrays for the baselines and as a table for ours."""

    name: str
    path: Path
    users: Integers
    items: Integers
    n_groups: Integers
    truth: Integers
    position: dict[Any, int]

    @classmethod
    def load(cls, name: str, folder: Path) -> Data:
        """Read one file; the truth comes from the engine."""
        path = folder / f"{name}.parquet"
        connection = duckdb.connect()
        query = f"select item, count(distinct user) from '{path}' group by item"
        names, truth = zip(*connection.execute(query).fetchall(), strict=True)
        position = {group: index for index, group in enumerate(names)}
        table = connection.execute(f"select user, item from '{path}'").to_arrow_table()
        coded = table.column("item").combine_chunks().dictionary_encode()
        lookup = np.array([position[group] for group in coded.dictionary.to_pylist()], np.int64)
        users = np.asarray(table.column("user"), np.int64)
        items = lookup[np.asarray(coded.indices)]
        return cls(name, path, users, items, np.bincount(users), np.array(truth), position)


@dataclass
class Score:
    """What one release came to."""

    released: int
    within: int
    covered: float = math.nan
    seconds: float = 0.0
    method: str = ""

    @property
    def beyond(self) -> float:
        """The share of rows farther from the truth than the target."""
        return 1 - self.within / self.released if self.released else 0.0


def score(truth: Floats, counts: Floats, sds: Floats | None = None) -> Score:
    """Hold a release against the truth."""
    good = int((np.abs(counts / truth - 1) <= WITHIN).sum())
    covered = math.nan
    if sds is not None and len(truth):
        covered = float(np.mean(np.abs(counts - truth) <= 1.96 * sds))
    return Score(len(truth), good, covered)


def ours(data: Data, rho: float, method: str) -> Score:
    """One release, as the verb makes it once the ledger has been charged."""
    limit = Zcdp(rho, DELTA)
    table = open_table(str(data.path), user="user")
    started = time.process_time()
    with Store(table.engine) as store:
        pairs = Pairs(table, "item", store, key=secrets.token_bytes(32))
        if method == "peel":
            peel = PrivateCountRelease.calibrate(limit, WITHIN)
            rows = peel.draw(pairs.largest(peel.max_rows + 1), Drawn())
            positions = [row.position for row in rows]
            counts = np.array([row.estimate for row in rows])
            sds = np.array([row.sd for row in rows])
        else:
            counted = EqualError.calibrate(limit, WITHIN, method).draw(pairs, Drawn())
            positions, counts, sds = list(counted.positions), counted.counts, counted.sds
            method = counted.method
    seconds = time.process_time() - started
    names = pairs.groups.column(0).take(np.array(positions, np.int64)).to_pylist()
    truth = data.truth[[data.position[name] for name in names]].astype(np.float64)
    result = score(truth, counts, sds)
    result.seconds, result.method = seconds, method
    return result


def private_count_release(data: Data, rho: float) -> Score:
    """Algorithm 2 as printed, with floating-point noise."""
    max_rows, delta_per_call, epsilon, z = 10_000, 1e-11, 0.0005, 1.5
    counts = np.sort(data.truth)[::-1].astype(np.float64)
    boundary = counts[max_rows] if len(counts) > max_rows else 0.0
    left, spent, n_calls, rows = counts[:max_rows].copy(), 0.0, 0, []
    margin = math.log(max_rows / delta_per_call)
    while len(left) and spent + epsilon**2 / 4 <= rho and (n_calls + 1) * delta_per_call <= DELTA:
        threshold = 1 + margin / epsilon
        best = max(left[0], threshold + boundary)
        near = int(np.searchsorted(-left, 45 / epsilon - best, side="right"))
        weights = np.exp(epsilon * (left[:near] - best))
        none = math.exp(epsilon * (threshold + boundary - best))
        spent, n_calls = spent + epsilon**2 / 8, n_calls + 1
        at = rng.random() * (weights.sum() + none)
        if at >= weights.sum():
            epsilon *= math.sqrt(2)
            continue
        chosen = min(int(np.searchsorted(np.cumsum(weights), at, side="right")), near - 1)
        sd = max(WITHIN / z * threshold, 2 / epsilon)
        rows.append((left[chosen], left[chosen] + rng.normal() * sd))
        spent += 1 / (2 * sd**2)
        left = np.delete(left, chosen)
    table = np.array(rows).reshape(-1, 2)
    return score(table[:, 0], table[:, 1])


def bounded(users: Integers, items: Integers, n_groups: Integers, bound: int) -> Integers:
    """The items of pairs that are left when every user keeps ``bound`` of theirs, at random."""
    heavy = (n_groups > bound)[users]
    order = np.argsort(users[heavy] + 0.999 * rng.random(heavy.sum()))
    sorted_users, sorted_items = users[heavy][order], items[heavy][order]
    starts = np.flatnonzero(np.r_[True, np.diff(sorted_users) > 0])
    sizes = np.diff(np.r_[starts, len(sorted_users)])
    place = np.arange(len(sorted_users)) - np.repeat(starts, sizes)
    return np.r_[items[~heavy], sorted_items[place < bound]]


def plume(data: Data, rho: float, percentile: float) -> Score:
    """Find groups with half the budget, count them with the other, bounded by true percentiles."""
    n = len(data.truth)
    bound = int(np.quantile(data.n_groups, percentile))
    sd = math.sqrt(bound / rho)
    counts = np.bincount(bounded(data.users, data.items, data.n_groups, bound), minlength=n)
    sizes = {1, bound, *np.geomspace(1, bound, 50).astype(int).tolist()}
    threshold = 1 + sd * max(upper_point(each_of(DELTA, k)) for k in sizes)
    found = (counts > 0) & (counts + rng.normal(size=n) * sd > threshold)
    kept = found[data.items]
    users, items = data.users[kept], data.items[kept]
    n_groups = np.bincount(users, minlength=len(data.n_groups))
    bound = max(1, int(np.quantile(n_groups, percentile)))
    sd = math.sqrt(bound / rho)
    counts = np.bincount(bounded(users, items, n_groups, bound), minlength=n)[found]
    noisy = counts + rng.normal(size=len(counts)) * sd
    printed = noisy > (2 + WITHIN) * sd / WITHIN
    return score(data.truth[found][printed].astype(np.float64), noisy[printed])


def mean(scores: list[Score], name: str) -> float:
    """The mean of one number over runs."""
    return float(np.mean([getattr(one, name) for one in scores]))


def cell(data: Data, rho: float, runs: int, methods: list[str]) -> dict[str, Any]:
    """All methods on one dataset at one rho."""
    auto = [ours(data, rho, "auto") for _ in range(runs)]
    baselines = {
        "pcr": [private_count_release(data, rho) for _ in range(runs)],
        "plume95": [plume(data, rho, 0.95) for _ in range(runs)],
        "plume99": [plume(data, rho, 0.99) for _ in range(runs)],
    }
    others = {name: [ours(data, rho, name) for _ in range(runs)] for name in methods}
    best = max(mean(scores, "within") for scores in baselines.values())
    return {
        "data": data.name,
        "rho": rho,
        "method": auto[0].method,
        "auto": round(mean(auto, "within"), 1),
        **{name: round(mean(s, "within"), 1) for name, s in (others | baselines).items()},
        "ratio": round(mean(auto, "within") / max(best, 1.0), 3),
        "worst_run": round(min(one.within for one in auto) / max(best, 1.0), 3),
        "beyond": round(mean(auto, "beyond"), 4),
        "coverage": round(mean(auto, "covered"), 4),
        "cpu_seconds": round(mean(auto, "seconds"), 2),
    }


def coverage(folder: Path, runs: int, rho: float) -> dict[str, Any]:
    """How often intervals hold the truth: over all rows, and in the worst of the runs."""
    found = {}
    for name in COVERED:
        data = Data.load(name, folder)
        scores = [ours(data, rho, "auto") for _ in range(runs)]
        rows = sum(one.released for one in scores)
        found[name] = {
            "runs": runs,
            "rows": rows,
            "covered": round(sum(one.covered * one.released for one in scores) / rows, 4),
            "worst_run": round(min(one.covered for one in scores), 4),
            "beyond": round(1 - sum(one.within for one in scores) / rows, 4),
        }
        print(name, found[name], flush=True)
    return found


def main() -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two runs of two datasets")
    parser.add_argument("--coverage", action="store_true", help="200 runs of two datasets")
    parser.add_argument("--runs", type=int, help="runs a cell; 10 unless told")
    parser.add_argument("--data", nargs="+", help="datasets to run")
    parser.add_argument("--rho", nargs="+", type=float, default=list(RHOS))
    parser.add_argument("--methods", nargs="*", choices=OURS, help="beside auto; all unless quick")
    arguments = parser.parse_args()
    folder = os.environ.get("HEADCOUNT_DATA")
    if not folder:
        sys.exit("HEADCOUNT_DATA does not point to the datasets.")
    if arguments.coverage:
        found = coverage(Path(folder), arguments.runs or 200, 0.5)
        print(json.dumps({"worst_coverage": min(one["covered"] for one in found.values())}))
        return
    names = arguments.data or (QUICK if arguments.quick else (*MANY, *ONE))
    runs = arguments.runs or (2 if arguments.quick else 10)
    methods = ([] if arguments.quick else OURS) if arguments.methods is None else arguments.methods
    cells = []
    for name in names:
        data = Data.load(name, Path(folder))
        for rho in arguments.rho:
            cells.append(cell(data, rho, runs, methods))
            print("  ".join(f"{key} {value}" for key, value in cells[-1].items()), flush=True)
    many = [one["ratio"] for one in cells if one["data"] in MANY]
    single = [one["ratio"] for one in cells if one["data"] in ONE]
    summary = {
        "worst_ratio_many": min(many, default=None),
        "worst_ratio_one": min(single, default=None),
        "worst_share_beyond": max(one["beyond"] for one in cells),
        "cells": cells,
    }
    print(json.dumps(summary, allow_nan=True))


if __name__ == "__main__":
    main()
