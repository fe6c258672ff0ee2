"""The l1 error of every learner of a distribution, beside the error of the samples themselves.

Methods are what ``distribution(by, method=...)`` runs, below the ledger, on DuckDB, at epsilon 1
and delta 1e-6, with the number of users public. ``pure laplace`` is the textbook baseline: Laplace
noise at a pure epsilon of 1, and projection; a ledger of rho cannot sell it at that price, but a
reader could buy it elsewhere. ``dense`` and ``sparse`` get the best of three accuracies in
hindsight, one in ``--quick``. Shares fall as Zipf(0.8).

``--quick``: 3 runs of the four smaller cells. Full: 20 runs of six. ``--law``: error against
samples per user. ``--real``: people's own tables, read from HEADCOUNT_DATA. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import headcount as hc
from headcount.accounting.convert import zcdp_of
from headcount.contributions.distribution.shares import N_ROWS, UserShares
from headcount.contributions.groups import INDEX, USER
from headcount.contributions.store import Store
from headcount.mechanisms.binomial_selection import mechanism as binomial_selection
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.distribution.mechanism import Distribution
from headcount.postprocess.simplex import onto_simplex
from headcount.privacy.neighbours import Neighbours
from headcount.tables import open_table

CELLS = (
    (1_000, 100, 20), (2_000, 1_000, 20), (10_000, 100, 100),
    (10_000, 1_000, 100), (5_000, 50, 1_000), (20_000, 20, 5_000),
)  # fmt: skip
BUDGET = hc.Budget(epsilon=1, delta=1e-6)
NOT_RIVALS = ("non-private", "auto", "covered", "centred")
OTHERS = ("clip", "coarse-fine", "gaussian", "laplace")
ACCURACIES = (0.3, 0.6, 1.2)
REAL = ("movielens_1m", "blogs_words", "ubuntu_irc_words")
N_WORDS = 1_000
LAW = (10, 30, 100, 300, 1_000, 3_000, 10_000)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
rng = np.random.default_rng()


def zipf(n_groups: int, power: float = 0.8) -> Floats:
    """Shares that fall with the rank."""
    weights = np.arange(1, n_groups + 1, dtype=float) ** -power
    shares: Floats = weights / weights.sum()
    return shares


def drawn(n_users: int, samples: int, shares: Floats) -> pa.Table:
    """Rows per user and group, for users who draw alike."""
    n_groups = len(shares)
    if n_users * n_groups <= 4_000_000:
        counts = rng.multinomial(samples, shares, size=n_users)
        users, groups = np.nonzero(counts)
        n_each = counts[users, groups]
    else:
        groups = np.searchsorted(np.cumsum(shares), rng.random(n_users * samples))
        pairs = np.repeat(np.arange(n_users), samples) * n_groups + np.minimum(groups, n_groups - 1)
        pairs, n_each = np.unique(pairs, return_counts=True)
        users, groups = pairs // n_groups, pairs % n_groups
    return pa.table({USER: users, INDEX: groups, N_ROWS: n_each.astype(np.int64)})


def mean_share(counted: pa.Table, n_groups: int, n_users: int) -> Floats:
    """The mean over users of their own shares: what is estimated, without noise."""
    users, groups = np.asarray(counted.column(USER)), np.asarray(counted.column(INDEX))
    n_each = np.asarray(counted.column(N_ROWS), np.float64)
    totals = np.bincount(users, n_each)
    mean: Floats = np.bincount(groups, n_each / totals[users], n_groups) / n_users
    return mean


class Learner:
    """The methods on one table of users, kept in DuckDB for as long as it is asked."""

    def __init__(self, counted: pa.Table, n_groups: int, n_users: int, samples: int) -> None:
        self.engine = open_table(pa.table({"user": [0], "item": [0]}), user="user").engine
        self.counted, self.n_groups = counted, n_groups
        self.n_users, self.samples = n_users, samples

    def learn(self, method: str, *, public: bool = True) -> tuple[Floats, Floats, str]:
        """Shares, the sd of each, and why."""
        plan = Distribution.calibrate(
            zcdp_of(BUDGET),
            method,
            Neighbours.ADD_REMOVE,
            users=self.n_users if public else None,
            samples=self.samples,
        )
        with Store(self.engine) as store:
            shares = UserShares(self.engine.relation(self.counted), self.n_groups, store)
            learned = plan.draw(shares, Drawn())
        return learned.shares, learned.sds, learned.why

    def best_in_hindsight(self, method: str, truth: Floats, accuracies: tuple[float, ...]) -> float:
        """The least error over accuracies of the paper's algorithms."""
        errors, shipped = [], binomial_selection.ACCURACY
        calibrate: Any = binomial_selection.BinomialSelection.calibrate
        for accuracy in accuracies:
            calibrate.__func__.__kwdefaults__["accuracy"] = accuracy
            errors.append(distance(self.learn(method)[0], truth))
        calibrate.__func__.__kwdefaults__["accuracy"] = shipped
        return min(errors)


def distance(left: Floats, right: Floats) -> float:
    """The l1 distance."""
    return float(np.abs(left - right).sum())


def one_run(cell: tuple[int, int, int], accuracies: tuple[float, ...]) -> dict[str, float]:
    """The error of every method on users drawn anew."""
    n_users, samples, n_groups = cell
    truth = zipf(n_groups)
    counted = drawn(n_users, samples, truth)
    own = mean_share(counted, n_groups, n_users)
    learner = Learner(counted, n_groups, n_users, samples)
    shares, sds, why = learner.learn("auto")
    noise = rng.laplace(0, 1 / n_users, n_groups)
    errors = {
        "non-private": distance(own, truth),
        "auto": distance(shares, truth),
        "covered": float(np.mean(np.abs(shares - own) <= 1.96 * sds)),
        "centred": float(why.startswith("coarse")),
        "pure laplace": distance(onto_simplex(own + noise), truth),
    }
    errors |= {method: distance(learner.learn(method)[0], truth) for method in OTHERS}
    for method in ("dense", "sparse") if accuracies else ():
        errors[method] = learner.best_in_hindsight(method, truth, accuracies)
    return errors


def table(
    cells: list[tuple[int, int, int]], runs: int, accuracies: tuple[float, ...]
) -> dict[str, Any]:
    """All methods in all cells."""
    rows, dense, others = [], [], []
    for cell in cells:
        started = time.perf_counter()
        found = [one_run(cell, accuracies) for _ in range(runs)]
        mean = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
        rivals = {n: v for n, v in mean.items() if n not in NOT_RIVALS}
        n_users, samples, n_groups = cell
        if n_groups <= samples:
            dense.append(mean["auto"] / mean["non-private"])
        others.append(mean["auto"] / min(rivals.values()))
        rows.append({"users": n_users, "samples": samples, "groups": n_groups, **mean})
        shown = "  ".join(f"{name} {value:.4f}" for name, value in mean.items())
        print(f"{cell}  {shown}  ({time.perf_counter() - started:.1f} s)", flush=True)
    return {
        "worst_over_nonprivate_dense": round(max(dense), 3) if dense else None,
        "worst_over_best_other": round(max(others), 3),
        "runs": runs,
        "cells": rows,
    }


def law(runs: int, n_users: int = 2_000, n_groups: int = 20) -> dict[str, Any]:
    """Error against samples per user, at fixed users and groups."""
    rows = []
    for samples in LAW:
        found = []
        for _ in range(runs):
            truth = zipf(n_groups)
            counted = drawn(n_users, samples, truth)
            own = mean_share(counted, n_groups, n_users)
            learner = Learner(counted, n_groups, n_users, samples)
            noise = rng.laplace(0, 1 / n_users, n_groups)
            found.append(
                {
                    "non-private": distance(own, truth),
                    "auto": distance(learner.learn("auto")[0], truth),
                    "pure laplace": distance(onto_simplex(own + noise), truth),
                }
            )
        mean = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
        rows.append({"samples": samples, **mean})
        print(rows[-1], flush=True)
    return {"users": n_users, "groups": n_groups, "runs": runs, "law": rows}


def real(folder: Path, runs: int) -> dict[str, Any]:
    """People's own tables: users differ, so clipping leaves a bias, which is shown."""
    rows = []
    for name in REAL:
        path = folder / f"{name}.parquet"
        connection = duckdb.connect()
        columns = pq.read_schema(path).names
        n_rows = '"count"' if "count" in columns else "1"
        only = f"qualify i < {N_WORDS}" if "count" in columns else ""
        query = f"""
            with top as (select item, row_number() over (order by count(*) desc, item) - 1 as i
                         from '{path}' group by item {only})
            select dense_rank() over (order by user) - 1 as {USER}, i as {INDEX},
                   cast({n_rows} as bigint) as {N_ROWS}
            from '{path}' join top using (item)"""
        counted = connection.execute(query).to_arrow_table()
        n_groups = int(np.asarray(counted.column(INDEX)).max()) + 1
        n_users = int(np.asarray(counted.column(USER)).max()) + 1
        totals = np.bincount(np.asarray(counted.column(USER)), np.asarray(counted.column(N_ROWS)))
        own = mean_share(counted, n_groups, n_users)
        samples = int(np.median(totals))
        learner = Learner(counted, n_groups, n_users, samples)
        found: dict[str, list[float]] = {}
        autos = []
        for _ in range(runs):
            shares, sds, _why = learner.learn("auto")
            autos.append(shares)
            found.setdefault("auto", []).append(distance(shares, own))
            covered = float(np.mean(np.abs(shares - own) <= 1.96 * sds))
            found.setdefault("covered", []).append(covered)
            noise = rng.laplace(0, 1 / n_users, n_groups)
            found.setdefault("pure laplace", []).append(distance(onto_simplex(own + noise), own))
            for method in OTHERS:
                found.setdefault(method, []).append(distance(learner.learn(method)[0], own))
        mean = {key: round(float(np.mean(values)), 4) for key, values in found.items()}
        bias = distance(np.mean(autos, axis=0), own)
        rows.append(
            {"data": name, "users": n_users, "median_samples": samples, "groups": n_groups, **mean,
             "auto_bias_at_most": round(bias, 4)}
        )  # fmt: skip
        print(rows[-1], flush=True)
    return {"runs": runs, "real": rows}


def main() -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="3 runs of the four smaller cells")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--cells", type=int, nargs="+", help="which of the six")
    parser.add_argument("--law", action="store_true", help="error against samples per user")
    parser.add_argument("--real", action="store_true", help="people's own tables")
    parser.add_argument("--no-paper", action="store_true", help="leave dense and sparse out")
    arguments = parser.parse_args()
    if arguments.law:
        print(json.dumps(law(arguments.runs or 10)))
    elif arguments.real:
        folder = os.environ.get("HEADCOUNT_DATA")
        if not folder:
            sys.exit("HEADCOUNT_DATA does not point to the datasets.")
        print(json.dumps(real(Path(folder), arguments.runs or 5)))
    else:
        chosen = [CELLS[i] for i in arguments.cells] if arguments.cells else list(CELLS)
        if arguments.quick:
            chosen = chosen[:4]
        runs = arguments.runs or (3 if arguments.quick else 20)
        accuracies = ACCURACIES[1:2] if arguments.quick else ACCURACIES
        print(json.dumps(table(chosen, runs, () if arguments.no_paper else accuracies)))


if __name__ == "__main__":
    main()
