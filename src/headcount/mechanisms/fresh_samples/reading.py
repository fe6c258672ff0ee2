"""Quantiles and ranges from counts of fresh samples: public arithmetic on what was shown.

A hidden block may hold any number of users up to one that would hardly have been hidden. Bounds
carry that number for every hidden block they cross, so they are wide where little was shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.tail import upper_point
from headcount.mechanisms.hierarchy import Floats, Hierarchy, Integers, rising
from headcount.privacy.cells import Blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headcount.mechanisms.fresh_samples.mechanism import Looks
    from headcount.mechanisms.sample_threshold import SampleThreshold

Found = tuple[int, int, int]
"""The cell of a quantile, and the first and last cell of its interval."""


def look_at_levels(shape: Hierarchy, looks: Looks) -> list[Integers]:
    """One look at each level; padded, so that every block has all of its children."""
    shown = []
    for size in shape.sizes:
        level = np.zeros(shape.n_padded // size, np.int64)
        seen = looks.look(Blocks(shape.n_cells, size))
        level[: len(seen)] = seen
        shown.append(level)
    return shown


@dataclass(frozen=True, slots=True)
class SampledCells:
    """Users before each cell, as far as shown blocks tell: estimate, variance, hidden blocks."""

    shape: Hierarchy
    before: Floats
    variance: Floats
    hidden: Integers
    hidden_size: int
    """How many users a block may have and still be hidden with a chance that matters."""

    @classmethod
    def of(
        cls, shape: Hierarchy, shown: Sequence[Integers], sample: SampleThreshold, confidence: float
    ) -> SampledCells:
        """Descend from the coarsest level; where a block is hidden, its children say nothing."""
        rate = float(sample.rate)
        before, hidden = np.zeros(1), np.zeros(1, np.int64)
        kept, inside = np.ones(1, np.bool_), np.zeros(1, np.int64)
        variance = np.zeros(1)
        ends = (0.0, 0.0, 0)
        for depth, level in enumerate(shown):
            counts = level.reshape(len(kept), -1)
            known, first = kept[:, None], np.arange(counts.shape[1]) == 0
            missing = (counts == 0).astype(np.int64)
            after_first = np.where(first, hidden[:, None], inside[:, None])
            rise = np.where(known, _before(counts), 0)
            starts = before[:, None] + rise / rate
            spreads = variance[:, None] + rise * (1 - rate) / rate**2
            gaps = np.where(known, hidden[:, None] + _before(missing), after_first)
            if depth == 0:
                total = float(counts.sum())
                ends = (total / rate, total * (1 - rate) / rate**2, int(missing.sum()))
            inside = np.where(known, gaps + 1, inside[:, None]).ravel()
            kept = (known & (counts > 0)).ravel()
            before, variance, hidden = starts.ravel(), spreads.ravel(), gaps.ravel()
        n_looked = shape.n_levels * max(shape.branching, len(shown[0]))
        return cls(
            shape,
            np.append(before, ends[0]),
            np.append(variance, ends[1]),
            np.append(hidden, ends[2]),
            sample.size_missed_with((1 - confidence) / (8 * n_looked)),
        )

    def quantile(self, at: float, confidence: float) -> Found:
        """The cell of a quantile, and the first and last cell that are not ruled out."""
        last = self.shape.n_cells - 1
        margin = upper_point((1 - confidence) / 4) * np.sqrt(self.variance)
        low, high = self.before - margin, self.before + margin + self.hidden_size * self.hidden
        too_many = low[: last + 1] - at * high[-1]
        too_few = high[1 : last + 2] - at * max(0.0, float(low[-1]))
        kept = np.flatnonzero((too_many <= 0) & (too_few >= 0))
        if not self.before[-1] or not len(kept):
            return last // 2, 0, last
        excess = rising(self.before - at * self.before[-1])[1 : last + 2]
        cell = int(np.searchsorted(excess, 0.0).clip(kept[0], kept[-1]))
        return cell, int(kept[0]), int(kept[-1])

    def ranges(
        self, ranges: Sequence[tuple[int, int]], confidence: float
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Count, low, high and standard deviation of each range of cells ``[first, end)``."""
        pairs = np.array(ranges, np.int64).reshape(-1, 2)
        first, end = pairs[:, 0], pairs[:, 1]
        counts = np.maximum(0.0, self.before[end] - self.before[first])
        if self.shape.n_levels == 1:
            variances = self.variance[end] - self.variance[first]
            more, less = self.hidden[end] - self.hidden[first], np.zeros(len(pairs), np.int64)
        else:
            # The two sums share blocks; not to count on that is on the safe side.
            variances = self.variance[end] + self.variance[first]
            more, less = self.hidden[end], self.hidden[first]
        sds = np.sqrt(variances)
        margin = upper_point((1 - confidence) / 4) * sds
        low = np.maximum(0.0, counts - margin - self.hidden_size * less)
        return counts, low, counts + margin + self.hidden_size * more, sds


def _before(counts: Integers) -> Integers:
    """Sums of what comes before, within each row."""
    sums: Integers = np.cumsum(counts, axis=1) - counts
    return sums


def n_steps(n_cells: int) -> int:
    """Steps of a search that halves the cells until one is left."""
    return max(1, (n_cells - 1).bit_length())


def search(at: float, n_cells: int, looks: Looks, confidence: float) -> Found:
    """Find the cell of a quantile by halves, each decided by a fresh sample.

    The interval is made of the halves that were ruled out with confidence: every look has its part
    of the chance to err.
    """
    sample, steps = looks.sample, n_steps(n_cells)
    chance = (1 - confidence) / (2 * steps)
    hidden_size = sample.size_missed_with(chance)
    cell, end = 0, n_cells
    first, last = 0, n_cells - 1
    while end - cell > 1:
        middle = (cell + end) // 2
        shown = looks.look(Blocks(n_cells, split=middle))
        low, high = sample.interval(np.maximum(shown, sample.threshold), 1 - 2 * chance)
        least, most = np.where(shown > 0, low, 0), np.where(shown > 0, high, hidden_size)
        if (1 - at) * least[0] >= at * most[1]:
            last = min(last, middle - 1)
        elif (1 - at) * most[0] < at * least[1]:
            first = max(first, middle)
        if (1 - at) * shown[0] >= at * shown[1]:
            end = middle
        else:
            cell = middle
    return min(max(cell, first), max(first, last)), first, max(first, last)
