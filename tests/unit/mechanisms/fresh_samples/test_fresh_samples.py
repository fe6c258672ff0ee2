from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from headcount.mechanisms.fresh_samples import mechanism as fresh_samples
from headcount.mechanisms.fresh_samples.mechanism import FreshSamples
from headcount.mechanisms.fresh_samples.reading import SampledCells, look_at_levels, n_steps, search
from headcount.mechanisms.hierarchy import Hierarchy
from headcount.mechanisms.sample_threshold import SampleThreshold
from headcount.privacy.cells import Blocks
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given

rng = np.random.default_rng(9)
Integers = NDArray[np.int64]
N_CELLS = 64
ONE_CELL = Sensitivity.of_cell()


def samples(n: int, rate: Fraction = Fraction(1, 4), threshold: int = 10) -> FreshSamples:
    return FreshSamples(SampleThreshold(rate, threshold, Zcdp("0.1", "1e-6"), n))


def asking(cells: Integers, rate: float) -> Callable[[int, Blocks], Query[Integers]]:
    def ask(_number: int, blocks: Blocks) -> Query[Integers]:
        if blocks.split is not None:
            sizes = np.array([cells[: blocks.split].sum(), cells[blocks.split :].sum()])
        else:
            padded = np.zeros(blocks.n_blocks * blocks.size, np.int64)
            padded[: len(cells)] = cells
            sizes = padded.reshape(-1, blocks.size).sum(axis=1)
        kept: Integers = rng.binomial(sizes, rate)
        return given(ONE_CELL, kept)

    return ask


def test_every_look_has_a_number_of_its_own() -> None:
    numbers: list[int] = []

    def ask(number: int, blocks: Blocks) -> Query[Integers]:
        numbers.append(number)
        return given(ONE_CELL, np.zeros(blocks.n_blocks, np.int64))

    looks = samples(3).looks(ask)
    for _ in range(3):
        looks.look(Blocks(N_CELLS, 8))
    assert numbers == [1, 2, 3]
    with pytest.raises(RuntimeError, match="paid"):
        looks.look(Blocks(N_CELLS, 8))
    assert numbers == [1, 2, 3]


def test_no_way_to_see_one_sample_twice_is_offered() -> None:
    for owner in (FreshSamples, fresh_samples.Looks):
        for name, member in inspect.getmembers(owner, inspect.isfunction):
            if not name.startswith("_"):
                assert not {"number", "levels", "sizes"} & set(inspect.signature(member).parameters)


def test_small_blocks_are_hidden_whatever_the_engine_says() -> None:
    looks = samples(1).looks(lambda _n, _b: given(ONE_CELL, np.array([9, 10, 0, 500])))
    assert looks.look(Blocks(N_CELLS, 16)).tolist() == [0, 10, 0, 500]


def true_cell(cells: Integers, at: float) -> int:
    return int(np.searchsorted(np.cumsum(cells), at * cells.sum()))


DATA = {
    "dense": np.bincount(rng.normal(30, 9, 30_000).clip(0, 63).astype(int), minlength=N_CELLS),
    "sparse": np.bincount(rng.integers(0, N_CELLS, 400), minlength=N_CELLS),
    "one cell": np.bincount([17] * 900, minlength=N_CELLS),
    "nobody": np.zeros(N_CELLS, np.int64),
}


@pytest.mark.parametrize("n_levels", [1, 3])
@pytest.mark.parametrize("name", DATA)
def test_levels_hold_the_truth(name: str, n_levels: int) -> None:
    cells, shape = DATA[name], Hierarchy(N_CELLS, 4, n_levels)
    held, held_ranges = [], []
    ranges = [(0, 16), (3, 40), (17, 18), (0, 64)]
    truth = np.array([cells[a:b].sum() for a, b in ranges])
    for _ in range(60):
        looks = samples(n_levels).looks(asking(cells, 0.25))
        shown = SampledCells.of(shape, look_at_levels(shape, looks), looks.sample, 0.95)
        for at in (0.1, 0.5, 0.9):
            cell, first, last = shown.quantile(at, 0.95)
            assert first <= cell <= last
            held.append(first <= true_cell(cells, at) <= last)
        counts, low, high, _ = shown.ranges(ranges, 0.95)
        assert np.all((low <= counts) & (counts <= high))
        held_ranges.append((low <= truth) & (truth <= high))
    assert np.mean(held) >= 0.93
    assert np.mean(held_ranges) >= 0.93


@pytest.mark.parametrize("name", DATA)
def test_a_search_holds_the_truth(name: str) -> None:
    cells = DATA[name]
    held, widths = [], []
    for _ in range(40):
        for at in (0.1, 0.5, 0.9):
            looks = samples(n_steps(N_CELLS)).looks(asking(cells, 0.25))
            cell, first, last = search(at, N_CELLS, looks, 0.95)
            assert looks.used <= n_steps(N_CELLS) == 6
            assert 0 <= first <= cell <= last < N_CELLS
            held.append(first <= true_cell(cells, at) <= last)
            widths.append(last - first)
    assert np.mean(held) >= 0.93
    if name == "dense":
        assert np.mean(widths) < 8


def test_a_search_is_exact_on_a_full_sample() -> None:
    cells = DATA["dense"]
    everyone = samples(6, Fraction((1 << 20) - 1, 1 << 20), 2)
    for at in (0.1, 0.5, 0.9):
        cell, _, _ = search(at, N_CELLS, everyone.looks(asking(cells, 1.0)), 0.95)
        assert cell == true_cell(cells, at)


def test_children_of_a_hidden_block_say_nothing() -> None:
    shape = Hierarchy(4, 2, 2)
    shown = [np.array([0, 40]), np.array([30, 0, 20, 0])]
    cells = SampledCells.of(shape, shown, samples(2).sample, 0.95)
    assert cells.before.tolist() == [0, 0, 0, 80, 160]
    assert cells.hidden.tolist() == [0, 1, 1, 1, 1]
