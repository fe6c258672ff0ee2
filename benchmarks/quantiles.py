"""How many users a private quantile is off by, beside OpenDP's at the same rho.

Ours is what ``quantiles`` draws once the ledger has been charged: a tenth of the budget, or all of
it, goes on counts that give error bars. OpenDP chooses each quantile by the exponential mechanism
among the same public cells, with all of its budget, and gives none; ``choice_alone`` is our own
choice under those terms. ``sampled`` is the search by halves through fresh secret samples, with
a delta of 1e-6 besides; its coins are drawn here and not in the engine. The rank error of a value
is how many users lie between it and the quantile.

Data: ratings per film and per person (movielens_1m), words per blogger (blogs_words), both from
HEADCOUNT_DATA, and made-up skewed values. What is protected is the unit of the statistic: in
ratings per film that is a film, so the guarantee there is about films and not about people.

``--quick``: five runs at one rho. Full: twenty runs at three. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.contributions.values import users_per_cell
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.exponential_quantile import ExponentialQuantile
from headcount.mechanisms.fresh_samples.mechanism import Ask, FreshSamples
from headcount.mechanisms.fresh_samples.reading import n_steps, search
from headcount.privacy.cells import Blocks, Grid, read_grid
from headcount.privacy.exact import exact
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.releases.values.methods import NoisyQuantiles
from headcount.tables import open_table
from headcount.trials.given import given

ROOT = Path(__file__).resolve().parents[1]
RHOS = ("0.001", "0.01", "0.1")
SETS = (("0.5",), ("0.9",), ("0.1", "0.25", "0.5", "0.75", "0.9"))
METHODS = ("auto", "exponential", "hierarchy")
rng = np.random.default_rng()


@dataclass
class Data:
    """Users by cell, and which quantity it is."""

    name: str
    grid: Grid
    true_cells: NDArray[np.int64]

    def rank_error(self, cell: int, at: float) -> float:
        """Users between a cell and the quantile."""
        upto = int(self.true_cells[: cell + 1].sum())
        before, rank = upto - int(self.true_cells[cell]), at * int(self.true_cells.sum())
        return max(0.0, before - rank, rank - upto)

    def true_cell(self, at: Fraction) -> int:
        """The cell that the quantile is in."""
        rank = math.ceil(at * int(self.true_cells.sum()))
        return int(np.searchsorted(np.cumsum(self.true_cells), rank))

    def thinned(self, samples: FreshSamples) -> Ask:
        """Fresh coins for each look: users of a block are kept one by one."""

        def ask(_number: int, blocks: Blocks) -> Query[NDArray[np.int64]]:
            sides = np.split(self.true_cells, [blocks.split or 0])
            kept: NDArray[np.int64] = rng.binomial(
                [int(side.sum()) for side in sides], float(samples.sample.rate)
            )
            return given(Sensitivity.of_cell(), kept)

        return ask


@cache
def samples(rho: str, n_looks: int) -> FreshSamples:
    """The samples that rho pays for."""
    return FreshSamples.calibrate(Zcdp(rho, "1e-6"), n_looks, Neighbours.ADD_REMOVE)


def datasets() -> list[Data]:
    """All that can be had."""
    made_up = np.random.default_rng(20_240_601)
    found = []
    folder = os.environ.get("HEADCOUNT_DATA")
    if folder:
        films, blogs = Path(folder) / "movielens_1m.parquet", Path(folder) / "blogs_words.parquet"
        ratings = read_grid((0, 4095), None, whole=True)
        words = read_grid((0, 65_536), 16, whole=False)
        found = [
            _data("ratings per film", films, "item", None, "median", ratings),
            _data("ratings per person", films, "user", None, "median", ratings),
            _data("words per blogger", blogs, "user", "count", "sum", words),
        ]
    for n in (500, 20_000):
        made = pa.table({"user": np.arange(n), "x": made_up.lognormal(4, 1.5, n)})
        grid = read_grid((0, 4096), None, whole=False)
        found.append(_data(f"skewed, {n:,} users", made, "user", "x", "median", grid))
    return found


def _data(name: str, source: Any, user: str, of: str | None, per_user: str, grid: Grid) -> Data:
    table = open_table(source, user=user)
    return Data(name, grid, users_per_cell(table, of, per_user, grid, bytes(32)).ask())


class OpenDP:
    """The process that draws with OpenDP."""

    def __init__(self) -> None:
        python = os.environ.get("HEADCOUNT_ORACLE_PYTHON") or str(ROOT / ".venvs/oracle/bin/python")
        if not Path(python).exists():
            raise SystemExit(f"no oracle Python at {python}; run: just setup-oracle")
        self.process = subprocess.Popen(
            [python, str(ROOT / "benchmarks/opendp_quantiles.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, order: dict[str, Any]) -> None:
        """Send one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def ask(self, at: tuple[str, ...], rho: str, runs: int) -> list[list[float]]:
        """The values of all quantiles, run by run."""
        self.tell({"at": [float(q) for q in at], "rho": float(rho), "runs": runs})
        assert self.process.stdout is not None
        answer: list[list[float]] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        """End it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)


def row(data: Data, oracle: OpenDP, rho: str, at: tuple[str, ...], runs: int) -> dict[str, Any]:
    """Mean rank errors of all methods on one dataset, and how often our intervals held."""
    wanted = tuple(exact(q) for q in at)
    errors: dict[str, list[float]] = {
        name: [] for name in (*METHODS, "choice_alone", "sampled", "opendp")
    }
    held, widths = [], []
    for name in METHODS:
        drawn = NoisyQuantiles.calibrate(wanted, data.grid.n_cells, Zcdp(rho), name)
        for _ in range(runs):
            found = drawn.draw(given(drawn.cells.sensitivity, data.true_cells), Drawn())
            for q, (cell, first, last) in zip(wanted, found, strict=True):
                errors[name].append(data.rank_error(cell, float(q)))
                held.append(first <= data.true_cell(q) <= last)
                widths.append(int(data.true_cells[first : last + 1].sum()))
    for q in wanted:
        alone = ExponentialQuantile.calibrate(q, Zcdp(exact(rho) / len(wanted)))
        cells = [
            alone.draw(given(alone.sensitivity, data.true_cells), Drawn()) for _ in range(runs)
        ]
        errors["choice_alone"] += [data.rank_error(cell, float(q)) for cell in cells]
    if len(wanted) == 1:
        looks = samples(rho, n_steps(data.grid.n_cells))
        for _ in range(runs):
            cell, *_ = search(
                float(at[0]), data.grid.n_cells, looks.looks(data.thinned(looks)), 0.95
            )
            errors["sampled"].append(data.rank_error(cell, float(at[0])))
    for values in oracle.ask(at, rho, runs):
        for q, value in zip(wanted, values, strict=True):
            place = int((value - float(data.grid.low)) / float(data.grid.step) + 1e-9)
            errors["opendp"].append(data.rank_error(min(place, data.grid.n_cells - 1), float(q)))
    return {
        "data": data.name,
        "users": int(data.true_cells.sum()),
        "rho": rho,
        "at": " ".join(at),
        **{name: round(float(np.mean(found)), 2) for name, found in errors.items() if found},
        "coverage": round(float(np.mean(held)), 3),
        "users_in_interval": round(float(np.mean(widths)), 1),
    }


def ratio(rows: list[dict[str, Any]], name: str) -> float:
    """The geometric mean over rows of rank errors as shares of OpenDP's, half a user added."""
    both = [(one[name] + 0.5, one["opendp"] + 0.5) for one in rows if name in one]
    return round(float(np.exp(np.mean([np.log(a / b) for a, b in both]))), 3)


def main() -> None:
    """Run what was asked for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="five runs at one rho")
    parser.add_argument("--runs", type=int, help="runs a row; 20 unless told")
    arguments = parser.parse_args()
    runs = arguments.runs or (5 if arguments.quick else 20)
    oracle = OpenDP()
    rows = []
    try:
        for data in datasets():
            middles = [data.grid.middle(cell) for cell in range(data.grid.n_cells)]
            values = np.repeat(middles, data.true_cells).tolist()
            oracle.tell({"values": values, "candidates": middles})
            for rho in RHOS[1:2] if arguments.quick else RHOS:
                for at in SETS:
                    rows.append(row(data, oracle, rho, at, runs))
                    print("  ".join(f"{k} {v}" for k, v in rows[-1].items()), flush=True)
    finally:
        oracle.close()
    summary = {
        **{f"{name}_to_opendp": ratio(rows, name) for name in ("auto", "choice_alone", "sampled")},
        "coverage": round(float(np.mean([one["coverage"] for one in rows])), 3),
        "worst_coverage": min(one["coverage"] for one in rows),
        "rows": rows,
    }
    print(json.dumps(summary))


if __name__ == "__main__":
    main()
