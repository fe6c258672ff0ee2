"""A hierarchy of cells: its shape, least squares on its noisy counts, and exact variances.

All of it is public arithmetic. Level ``k`` of ``L`` cuts the line into blocks of
``s_k = branching**(L - k)`` cells. Let ``P_k`` average over the blocks of level ``k`` and let every
node have noise of the same variance. The normal equations of the cells are
``sum_k s_k P_k x = sum_k (noisy count of the block at level k)``, and since each ``P_k`` contains
the ones before it, their inverse is ``sum_k (P_k - P_(k-1)) / (s_k + ... + s_L)``. That gives the
estimate and the covariance of any two sums of cells without a matrix.

Reference: Hay, Rastogi, Miklau and Suciu 2010 (consistency); Qardaji, Yang and Li 2013 (branching).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
BRANCHINGS = (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32)
N_PROBES = 129


@dataclass(frozen=True)
class Hierarchy:
    """Levels of blocks over ``n_cells`` public cells, the finest one of single cells."""

    n_cells: int
    branching: int
    n_levels: int

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Cells in a block, level by level, the coarsest first."""
        return tuple(self.branching**power for power in reversed(range(self.n_levels)))

    @property
    def n_padded(self) -> int:
        """Cells with those at the end that nobody can be in."""
        return -(-self.n_cells // self.sizes[0]) * self.sizes[0]

    @cached_property
    def _scales(self) -> Floats:
        """``s_k + ... + s_L``, level by level."""
        return np.cumsum(np.array(self.sizes[::-1], np.float64))[::-1]

    def counts(self, true_cells: Integers) -> Integers:
        """The counts of all nodes, level after level."""
        padded = np.zeros(self.n_padded, np.int64)
        padded[: self.n_cells] = true_cells
        return np.concatenate([padded.reshape(-1, size).sum(axis=1) for size in self.sizes])

    def estimate(self, noisy_counts: Integers) -> Floats:
        """Counts of all cells, padding too, that agree best with all noisy nodes."""
        together = np.zeros(self.n_padded)
        first = 0
        for size in self.sizes:
            n_blocks = self.n_padded // size
            together += np.repeat(noisy_counts[first : first + n_blocks].astype(np.float64), size)
            first += n_blocks
        cells = np.zeros(self.n_padded)
        before = np.zeros(self.n_padded)
        for size, scale in zip(self.sizes, self._scales, strict=True):
            averaged = np.repeat(together.reshape(-1, size).mean(axis=1), size)
            cells += (averaged - before) / scale
            before = averaged
        return cells

    def covariance(self, one: Integers | int, other: Integers | int) -> Floats:
        """Covariance of the sums of the cells before ``one`` and before ``other``, in variances."""
        low = np.minimum(one, other).astype(np.float64)
        high = np.maximum(one, other).astype(np.float64)
        total = np.zeros(np.broadcast(low, high).shape)
        before = np.zeros_like(total)
        for size, scale in zip(self.sizes, self._scales, strict=True):
            start = np.floor(low / size) * size
            product = start + (low - start) * np.minimum(size, high - start) / size
            total += (product - before) / scale
            before = product
        return total

    def range_variance(self, ranges: Sequence[tuple[int, int]]) -> Floats:
        """The variance of each sum of the cells ``[first, end)``, in variances of one node."""
        pairs = np.array(ranges, np.int64).reshape(-1, 2)
        first, end = pairs[:, 0], pairs[:, 1]
        return (
            self.covariance(first, first)
            - 2 * self.covariance(first, end)
            + self.covariance(end, end)
        )

    def rank_variance(self, at: float) -> Floats:
        """Variance of (cells before j) - at * (all cells), for every j from 0 to ``n_cells``."""
        return self._rank_variance(np.arange(self.n_cells + 1), at)

    def _rank_variance(self, before: Integers, at: float) -> Floats:
        every = self.n_padded
        return (
            self.covariance(before, before)
            - 2 * at * self.covariance(before, every)
            + at**2 * self.covariance(every, every)
        )

    def rank_loss(self, at: Sequence[float]) -> float:
        """The mean variance of a rank at one spend: what a shape for quantiles should keep low."""
        probes = np.unique(np.linspace(0, self.n_cells, N_PROBES).astype(np.int64))
        return self.n_levels * float(np.mean([self._rank_variance(probes, q).mean() for q in at]))

    def range_loss(self, ranges: Sequence[tuple[int, int]]) -> float:
        """The largest variance of a range at one spend."""
        return self.n_levels * float(self.range_variance(ranges).max())


def shapes(n_cells: int) -> Iterator[Hierarchy]:
    """Every shape that is tried; the first has one level and is a plain histogram."""
    yield Hierarchy(n_cells, 2, 1)
    for branching in BRANCHINGS:
        n_levels = 2
        while branching ** (n_levels - 1) < n_cells:
            yield Hierarchy(n_cells, branching, n_levels)
            n_levels += 1


def best_shape(n_cells: int, loss: Callable[[Hierarchy], float]) -> Hierarchy:
    """The shape of least loss; decided by public numbers alone."""
    return min(shapes(n_cells), key=loss)


def rising(numbers: Floats) -> Floats:
    """The middle between the least rising line above some numbers and the greatest one below."""
    above = np.maximum.accumulate(numbers)
    below = np.minimum.accumulate(numbers[::-1])[::-1]
    middle: Floats = (above + below) / 2
    return middle
