"""How far frequencies are off: the printed algorithm, the most likely fit, and sorted counts.

Every cell is the l1 distance of sorted counts over the number of users, each in one group, when one
user may be replaced: discrete Laplace noise of scale 2 / epsilon on every group or bucket for
``alg1`` and ``npmle``, and on every rank for ``central``. ``release`` is what the verb draws: ranks
with Gaussian noise at the rho of epsilon and delta 1e-6, when one user is added or removed. Both
central ones pay a tenth for a noisy number of ranks. ``finish`` has two noises, as a pan-private
counter that was looked at and then published.

Real lists are hashed into twice as many buckets as there are accounts, from their run-length form;
noise is drawn once for each run of equal counts, so memory does not grow with the accounts. A run
in which either fit refuses (half of the buckets seem in use) counts for neither. Data are read from
HEADCOUNT_DATA. ``--quick``: n up to 1e5, no lists above 2e6. The last line is JSON.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from headcount.accounting.convert import rho_at
from headcount.errors import UsageError
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.sorted_counts import SortedCounts
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.postprocess.anonymized import algorithm_1, anonymized
from headcount.postprocess.frequencies import distance
from headcount.postprocess.pooled import pooled
from headcount.postprocess.runs import chunks, runs_of, together
from headcount.postprocess.unbiased import noise_masses, reach_of
from headcount.privacy.bounds import Bounds
from headcount.privacy.exact import exact
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given

Integers = NDArray[np.int64]
Runs = tuple[Integers, Integers]
Cells = dict[str, dict[str, float]]
EPSILONS = (0.25, 0.5, 1.0, 2.0)
LIST_EPSILONS = (0.5, 1.0)
POSITIONS_SHARE = 0.1
PART = 1 << 22
FEW = 64
MAX_ACCOUNTS = 200_000_000
FEW_ACCOUNTS = 2_000_000
SHORT = 100_000
SIZES = {10_000: 40, 100_000: 20, 1_000_000: 16}
QUICK_SIZES = {10_000: 30, 100_000: 16}
WORD_BUCKETS = 1 << 20
rng = np.random.default_rng()


def with_noise(runs: Runs, n_buckets: int, ratio: float, n_noises: int = 1) -> Runs:
    """The noisy runs of that many buckets: one multinomial draw for each run of equal counts."""
    counts, groups = runs
    counts, groups = np.append(counts, 0), np.append(groups, n_buckets - int(groups.sum()))
    reach = reach_of(ratio, n_noises, 1e-15)
    masses = noise_masses(ratio, n_noises, reach)
    masses /= masses.sum()
    shifts = np.arange(-reach, reach + 1)
    parts = []
    few = groups <= FEW
    if few.any():
        each = np.repeat(counts[few], groups[few])
        parts.append(runs_of(each + rng.choice(shifts, len(each), p=masses)))
    for count, n in zip(counts[~few].tolist(), groups[~few].tolist(), strict=True):
        drawn = rng.multinomial(n, masses)
        parts.append((count + shifts[drawn > 0], drawn[drawn > 0]))
    return together(parts)


def hashed(runs: Runs, n_buckets: int) -> Runs:
    """Loads of buckets that groups are thrown into, a part of the buckets at a time."""
    counts, groups = runs
    n_parts = max(1, n_buckets // PART)
    left, parts = groups.copy(), []
    for part in range(n_parts):
        size = n_buckets // n_parts + (part < n_buckets % n_parts)
        here = rng.binomial(left, 1 / (n_parts - part))
        left = left - here
        places = rng.integers(0, size, int(here.sum()))
        loads = np.bincount(places, np.repeat(counts, here), minlength=size).astype(np.int64)
        parts.append(runs_of(loads[loads > 0]))
    return together(parts)


def central(runs: Runs, epsilon: float, gaussian: bool) -> Runs:
    """Noise on ranks, as many as a noisy number says, made to fall again."""
    falling = np.argsort(-runs[0])
    true_runs = runs[0][falling], runs[1][falling]
    if gaussian:
        rho = rho_at(exact(epsilon), exact("1e-6"))
        share = Fraction(9, 10) * rho
        mechanism = SortedCounts.calibrate(Bounds(1, 1).sensitivity(), Zcdp(share))
        sd = math.sqrt(1 / (2 * float(rho) * POSITIONS_SHARE))
        n_positions = _positions(runs, sd)
        asked = given(mechanism.sensitivity, true_runs)
        return pooled(mechanism.draw(asked, n_positions, Drawn()))[0]
    sd = math.sqrt(2) * 2 / (epsilon * POSITIONS_SHARE)
    law = DiscreteLaplace(exact(2 / (epsilon * (1 - POSITIONS_SHARE))))

    def drawn() -> Iterator[Integers]:
        for chunk in chunks(*true_runs, _positions(runs, sd)):
            yield Drawn().noisy(chunk, law)

    return pooled(drawn())[0]


def _positions(runs: Runs, sd: float) -> int:
    return int(runs[1].sum() + rng.normal(0, sd) + 2 * sd) + 1


def synthetic(kind: str, n: int) -> Runs:
    """``n`` users, each in one of ``n`` groups."""
    if kind == "uniform":
        drawn = rng.integers(0, n, n)
    else:
        weights = 1 / np.arange(1, n + 1) ** 1.1
        drawn = rng.choice(n, n, p=weights / weights.sum())
    counts = np.bincount(drawn)
    return runs_of(counts[counts > 0])


def errors_of(truth: Runs, noisy: Runs, ratio: float, buckets: int | None) -> list[float]:
    """The errors of the printed algorithm and of the most likely fit, over the users."""
    n = int(truth[0] @ truth[1])
    try:
        return [
            distance(anonymized(*noisy, ratio=ratio, buckets=buckets, method=method).whole(), truth)
            / n
            for method in ("l1", "npmle")
        ]
    except UsageError:
        return [math.nan, math.nan]


def synthetic_cells(sizes: dict[int, int]) -> Cells:
    """All cells of random data; each is a mean over a few tables."""
    cells: Cells = {}
    for (n, n_runs), kind in itertools.product(sizes.items(), ("zipf", "uniform")):
        tables = [synthetic(kind, n) for _ in range(n_runs)]
        for epsilon, times in itertools.product(EPSILONS, (None, 2, 4)):
            ratio = math.exp(-epsilon / 2)
            size = n if times is None else times * n
            buckets = None if times is None else size
            found = []
            for truth in tables:
                loads = truth if times is None else hashed(truth, size)
                found.append(errors_of(truth, with_noise(loads, size, ratio), ratio, buckets))
            cell = _mean(found, ("alg1", "npmle"))
            if times is None:
                by_rank = [distance(central(t, epsilon, False), t) / n for t in tables]
                cell["central"] = float(np.mean(by_rank))
            domain = "plain" if times is None else f"B={times}n"
            name = f"{kind} n={n:.0e} {domain} eps={epsilon}"
            cells[name] = cell
            _show(name, cell)
    return cells


def _mean(found: list[list[float]], names: tuple[str, ...]) -> dict[str, float]:
    means = np.nanmean(np.array(found), axis=0).tolist()
    return dict(zip(names, means, strict=True))


def list_cells(folder: Path, most: int, n_runs: int) -> Cells:
    """All cells of the real lists with at most so many accounts; the large are hashed once."""
    path = folder / "anonymized_frequency_histograms.parquet"
    query = f"select source, frequency, n_items from '{path}' order by source, frequency"
    table = duckdb.sql(query).fetchnumpy()
    cells: Cells = {}
    for source in sorted(set(table["source"].tolist())):
        mine = table["source"] == source
        truth = table["frequency"][mine].astype(np.int64), table["n_items"][mine].astype(np.int64)
        n = int(truth[0] @ truth[1])
        if n > most:
            continue
        size = 2 * n
        is_large = n > FEW_ACCOUNTS
        # Errors of short lists vary most.
        n_tables = 1 if is_large else n_runs if n > SHORT else 5 * n_runs
        runs = [hashed(truth, size) for _ in range(n_tables)]
        for epsilon in LIST_EPSILONS:
            ratio = math.exp(-epsilon / 2)
            pairs, finished, by_rank = [], [], []
            for loads in runs:
                for _ in range(n_runs if is_large else 1):
                    noisy = with_noise(loads, size, ratio)
                    pairs.append(errors_of(truth, noisy, ratio, size))
                    finished.append([_finished(truth, loads, ratio)])
                by_rank.append(
                    [distance(central(truth, epsilon, g), truth) / n for g in (False, True)]
                )
            name = f"{source} n={n:.2e} eps={epsilon}"
            cells[name] = {
                **_mean(pairs, ("alg1", "npmle")),
                **_mean(finished, ("finish",)),
                **_mean(by_rank, ("central", "release")),
            }
            _show(name, cells[name])
    return cells


def _finished(truth: Runs, loads: Runs, ratio: float) -> float:
    """The error with two noises."""
    size = 2 * int(truth[0] @ truth[1])
    try:
        found = anonymized(
            *with_noise(loads, size, ratio, 2), ratio=ratio, n_noises=2, buckets=size
        )
    except UsageError:
        return math.nan
    return 2 * distance(found.whole(), truth) / size


def words(folder: Path, n_runs: int) -> dict[str, float]:
    """Entropy and distinct words of posts at epsilon 1, when one (post, word) row is replaced."""
    path = folder / "reddit_post_words.parquet"
    query = f"select n, count(*) g from (select count(*) n from '{path}' group by item) group by n"
    table = duckdb.sql(query + " order by n").fetchnumpy()
    truth = table["n"].astype(np.int64), table["g"].astype(np.int64)
    total, distinct = int(truth[0] @ truth[1]), int(truth[1].sum())
    shares = truth[0] / total
    bare = -float((truth[1] * shares) @ np.log(shares))
    entropy = bare + (distinct - 1) / (2 * total)
    ratio = math.exp(-0.5)
    found = []
    for _ in range(n_runs):
        noisy = with_noise(hashed(truth, WORD_BUCKETS), WORD_BUCKETS, ratio)
        fit = anonymized(*noisy, ratio=ratio, buckets=WORD_BUCKETS)
        e, d = fit.entropy(), fit.distinct()
        found.append((e.value - entropy, e.rmse, d.value - distinct, d.rmse))
    errors = np.array(found)
    result = {
        "entropy": entropy,
        "entropy_without_correction": bare,
        "entropy_rmse": math.sqrt(float(np.mean(errors[:, 0] ** 2))),
        "entropy_rmse_stated": float(errors[:, 1].mean()),
        "distinct": distinct,
        "distinct_rmse": math.sqrt(float(np.mean(errors[:, 2] ** 2))),
        "distinct_rmse_stated": float(errors[:, 3].mean()),
    }
    _show(f"words of posts, {WORD_BUCKETS} buckets, eps=1, {n_runs} runs", result)
    return result


def isotonic_over_sort(n_buckets: int) -> float:
    """CPU time of runs, unbiased step and isotonic fit over that of sorting the noisy counts."""
    weights = 1 / np.arange(1, n_buckets // 10 + 1) ** 1.1
    counts = np.zeros(n_buckets, np.int64)
    counts[: len(weights)] = n_buckets * weights / weights.sum()
    ratio = math.exp(-0.5)
    counts += rng.geometric(1 - ratio, n_buckets) - rng.geometric(1 - ratio, n_buckets)
    rng.shuffle(counts)
    fits, sorts = [], []
    for _ in range(3):
        started = time.process_time()
        np.sort(counts)
        sorts.append(time.process_time() - started)
        started = time.process_time()
        noisy = runs_of(counts)
        algorithm_1(*noisy, ratio, 1, n_buckets)
        fits.append(time.process_time() - started)
    ratio_found = min(fits) / min(sorts)
    _show(f"isotonic on {n_buckets:.0e} buckets", {"over_sorting": ratio_found})
    return ratio_found


def _show(name: str, numbers: dict[str, float]) -> None:
    print(f"{name:44}", "  ".join(f"{k} {v:.4g}" for k, v in numbers.items()), flush=True)


def _large(lists: Cells) -> dict[str, float]:
    """The numbers of the two large lists, by name."""
    labels = {
        "central": "central", "release": "release", "npmle": "pan", "finish": "pan_finish",
        "alg1": "pan_alg1",
    }  # fmt: skip
    found: dict[str, float] = {}
    for name, cell in lists.items():
        source, epsilon = name.split("_")[0], name.rsplit("eps=", 1)[1].removesuffix(".0")
        if source in ("yahoo", "linkedin"):
            found |= {f"{source}_{labels[k]}_eps{epsilon}": value for k, value in cell.items()}
    return found


def main() -> None:
    """Run, print every cell, and end with one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    folder = Path(os.environ["HEADCOUNT_DATA"]) if os.environ.get("HEADCOUNT_DATA") else None
    summary: dict[str, float] = {"isotonic_over_sort": isotonic_over_sort(10_000_000)}
    cells = synthetic_cells(QUICK_SIZES if quick else SIZES)
    if folder is not None:
        found = words(folder, 3 if quick else 20)
        summary |= {f"words_{name}": value for name, value in found.items()}
        lists = list_cells(folder, FEW_ACCOUNTS if quick else MAX_ACCOUNTS, 4 if quick else 10)
        summary |= _large(lists)
        cells |= lists
    strong = {name: c for name, c in cells.items() if float(name.split("eps=")[1]) <= 1}
    worst = max(strong, key=lambda name: strong[name]["npmle"] / strong[name]["alg1"])
    ratios = [c["npmle"] / c["alg1"] for c in strong.values()]
    print(f"worst cell for the most likely fit: {worst}; geometric mean of all "
          f"{math.exp(float(np.mean(np.log(ratios)))):.3f}")  # fmt: skip
    summary = {
        "worst_npmle_over_alg1": max(ratios),
        "mean_npmle_over_alg1": math.exp(float(np.mean(np.log(ratios)))),
        **summary,
    }
    print(json.dumps({name: round(value, 6) for name, value in summary.items()}))


if __name__ == "__main__":
    main()
