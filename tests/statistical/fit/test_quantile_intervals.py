"""The intervals of quantiles and of range counts hold the truth as often as they say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.hierarchical_histogram import HierarchicalHistogram, sensitivity_of
from headcount.mechanisms.hierarchy import Hierarchy
from headcount.privacy.spend import Zcdp
from headcount.releases.values.methods import NoisyQuantiles
from headcount.trials.given import given

rng = np.random.default_rng(5)
N_CELLS = 512
RUNS = 150
AT = (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))


def in_cells(values: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.bincount(values.clip(0, N_CELLS - 1).astype(np.int64), minlength=N_CELLS)


DATA = {
    "dense": in_cells(rng.normal(200, 60, 50_000)),
    "sparse": in_cells(rng.uniform(0, N_CELLS, 200)),
    "skewed": in_cells(rng.lognormal(3, 1.3, 5_000)),
    "tied": in_cells(rng.choice([0.0, 1, 2, 5, 10, 400], 3_000, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1])),
}


def true_cell(cells: NDArray[np.int64], at: Fraction) -> int:
    return int(np.searchsorted(np.cumsum(cells), -(-at * int(cells.sum()) // 1)))


@pytest.mark.parametrize("method", ["hierarchy", "exponential"])
@pytest.mark.parametrize("name", DATA)
def test_intervals_of_quantiles_hold_the_truth(name: str, method: str) -> None:
    cells = DATA[name]
    held = []
    for rho in ("0.005", "0.1"):
        drawn = NoisyQuantiles.calibrate(AT, N_CELLS, Zcdp(rho), method)
        for _ in range(RUNS // 2):
            found = drawn.draw(given(drawn.cells.sensitivity, cells), Drawn())
            for at, (cell, first, last) in zip(AT, found, strict=True):
                held.append(first <= true_cell(cells, at) <= last)
                assert first <= cell <= last
    # They say 95 %, and 93 % leaves room for chance.
    assert np.mean(held) >= 0.93


def test_intervals_made_for_half_the_noise_fail() -> None:
    cells = DATA["dense"]
    shape = Hierarchy(N_CELLS, 2, 9)
    loud = HierarchicalHistogram(shape, Gaussian(sensitivity_of(9), Fraction(10**6)))
    held = []
    for _ in range(RUNS):
        drawn = loud.draw(given(loud.sensitivity, cells), Drawn())
        claimed = type(drawn)(shape, drawn.sd / 3, drawn.noisy_cells)
        _, first, last = claimed.quantile(0.5, 0.95)
        held.append(first <= true_cell(cells, Fraction(1, 2)) <= last)
    assert np.mean(held) < 0.93


def test_ranges_are_as_far_off_as_they_say() -> None:
    cells = DATA["skewed"]
    ranges = [(0, 10), (3, 200), (17, 18), (0, N_CELLS)]
    mechanism = HierarchicalHistogram.calibrate(Hierarchy(N_CELLS, 4, 4), Zcdp("0.05"))
    truth = np.array([cells[a:b].sum() for a, b in ranges])
    off = np.array(
        [
            mechanism.draw(given(mechanism.sensitivity, cells), Drawn()).ranges(ranges) - truth
            for _ in range(600)
        ]
    )
    sds = mechanism.range_sd(ranges)
    assert np.all(np.abs(off.mean(axis=0)) < 5 * sds / np.sqrt(600))
    assert np.all(np.abs(off.std(axis=0) / sds - 1) < 0.15)
    assert not np.all(np.abs(off.std(axis=0) / (0.8 * sds) - 1) < 0.15)
