from __future__ import annotations

import math

import pytest

from headcount.errors import UsageError
from headcount.privacy.cells import MAX_CELLS, read_grid, read_ranges


def test_integers_get_a_cell_each() -> None:
    grid = read_grid((0, 100), None, whole=True)
    assert (grid.n_cells, grid.whole, int(grid.step)) == (101, True, 1)
    assert (grid.start(7), grid.middle(7), grid.end(7)) == (7, 7, 7)
    assert grid.high == 100


def test_other_numbers_get_cells_of_one_width() -> None:
    grid = read_grid((0, 1), "0.1", whole=False)
    assert grid.n_cells == 10
    assert (grid.start(3), grid.middle(3), grid.end(3)) == (0.3, 0.35, 0.4)
    assert read_grid((-5, 5), None, whole=False).n_cells == 4096
    assert read_grid((0, 1), 0.3, whole=False).n_cells == 4


def test_many_integers_share_cells() -> None:
    grid = read_grid((0, 10**9), None, whole=True)
    assert not grid.whole
    assert grid.n_cells <= MAX_CELLS
    assert grid.high >= 10**9


@pytest.mark.parametrize(
    ("bounds", "step"),
    [
        ((1, 1), None),
        ((2, 1), None),
        ((0, 1), 0),
        ((0, 1), -1),
        ((0, 10**6), 1),
        ((0, 2**60), None),
    ],
)
def test_bounds_that_make_no_sense_are_refused(bounds: tuple[int, int], step: int | None) -> None:
    with pytest.raises(UsageError, match="Nothing was read"):
        read_grid(bounds, step, whole=True)


def test_ranges_cut_the_line() -> None:
    edges, places = read_ranges([(None, 10), (10, 50), (20, None)])
    assert edges.points == (-math.inf, 10.0, 20.0, 50.0, math.inf)
    assert places == ((0, 1), (1, 3), (2, 4))
    assert edges.n_cells == 4


@pytest.mark.parametrize("ranges", [[], [(5, 5)], [(6, 5)], [(1, 2), (1, 2)], [3], [(1, 2, 3)]])
def test_ranges_that_make_no_sense_are_refused(ranges: list[tuple[int, int]]) -> None:
    with pytest.raises(UsageError, match="Nothing was read"):
        read_ranges(ranges)
