"""Sorted counts with noise, put back in order: the nearest falling sequence in the l2 norm.

Chunks are pooled one after the other, and neighbours pool in any order to the same result, so
memory holds one chunk and the blocks found so far.

**Reference** Hay, Rastogi, Miklau and Suciu 2010 (sorted counts); Ayer and others 1955 (pooling).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import isotonic_regression

from headcount.postprocess.frequencies import (
    MAX_COVERAGE,
    SUPPORT_NOISE,
    Errors,
    Frequencies,
    distance,
)
from headcount.postprocess.runs import runs_of, together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Runs = tuple[Integers, Integers]

LAW = 1.65, 0.37, 1.25
"""Fitted to measured l1 errors: factor, power of the number of users, power of the noise's sd."""


def expected_l1(total: float, sd: float) -> float:
    """The l1 error to expect of ``total`` users, within a factor of about 2."""
    factor, of_size, of_noise = LAW
    return float(factor * max(total, 1.0) ** of_size * sd**of_noise)


def pooled(noisy_chunks: Iterable[Integers]) -> tuple[Runs, Runs]:
    """Runs of whole fitted counts, rising from 1, and runs of the noisy ones."""
    values, lengths = np.zeros(0), np.zeros(0)
    noisy_runs = []
    for chunk in noisy_chunks:
        noisy_runs.append(runs_of(chunk))
        here, n_here = _fallen(chunk.astype(np.float64), np.ones(len(chunk)))
        values, lengths = _fallen(np.concatenate([values, here]), np.concatenate([lengths, n_here]))
    counts = np.rint(np.maximum(values, 0)).astype(np.int64)
    counts, groups = together([(counts, np.rint(lengths).astype(np.int64))])
    return (counts[counts > 0], groups[counts > 0]), together(noisy_runs)


def _fallen(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The blocks of the fit: their values and weights."""
    fit = isotonic_regression(values, weights=weights, increasing=False)
    starts = fit.blocks[:-1]
    return fit.x[starts], np.add.reduceat(weights, starts)


def sorted_frequencies(fit: Runs, again: Sequence[Runs], noise_sd: float) -> Frequencies:
    """The fit with its errors, from what the same noise makes of the fit when drawn ``again``."""
    counts, groups = fit
    bare = _bare(fit, noise_sd)
    others = [_bare(runs, noise_sd) for runs in again]

    def rmse(property_: Callable[[Frequencies], float]) -> float:
        value = property_(bare)
        return _root_mean([(property_(other) - value) ** 2 for other in others])

    spread = [(_groups_at(other, counts) - groups) ** 2 for other in again]
    return Frequencies(
        counts=counts,
        groups=groups.astype(np.float64),
        sds=np.sqrt(np.mean(spread, axis=0)) if len(counts) else np.zeros(0),
        errors=Errors(
            l1=float(np.mean([distance(fit, other) for other in again])),
            distinct=rmse(lambda f: f.distinct().value),
            total=rmse(lambda f: f.total().value),
            entropy=rmse(lambda f: f.entropy().value),
            coverage=rmse(lambda f: f.new_groups(MAX_COVERAGE)),
            support_size=rmse(_support) if noise_sd <= SUPPORT_NOISE else math.nan,
        ),
        noise_sd=noise_sd,
    )


def _bare(runs: Runs, noise_sd: float) -> Frequencies:
    counts, groups = runs
    unknown = Errors(*(math.nan,) * 6)
    return Frequencies(counts, groups.astype(np.float64), np.zeros(len(counts)), unknown, noise_sd)


def _support(found: Frequencies) -> float:
    once, twice = (float(found.groups[found.counts == r].sum()) for r in (1, 2))
    return found.distinct().value + once**2 / (2 * max(twice, 1.0))


def _groups_at(runs: Runs, counts: Integers) -> Integers:
    found, groups = runs
    place = np.minimum(np.searchsorted(found, counts), max(0, len(found) - 1))
    if len(found) == 0:
        return np.zeros(len(counts), np.int64)
    return np.where(found[place] == counts, groups[place], 0)


def _root_mean(squares: list[float]) -> float:
    return math.sqrt(sum(squares) / len(squares)) if squares else math.nan
