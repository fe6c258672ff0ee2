"""Counts of cells at several levels at once, with discrete Gaussian noise, made to agree.

**Contract**

========== ==================================================================================
input      how many users are in each of ``n_cells`` public cells; a user is in at most one
output     noisy counts of all blocks of all levels, and from them one estimate of each cell
noise      independent discrete Gaussian on every block, empty and padded ones too
guarantee  ``n_levels / (2 * sigma_squared)``-zCDP, delta 0; twice that for a replaced user
neighbours add or remove one user, who moves one cell by one; or replace one, who moves two
========== ==================================================================================

**Reference** Hay, Rastogi, Miklau and Suciu 2010, with Gaussian in place of Laplace noise, so that
levels cost their number and not its square.

The proof is in ``hierarchical_histogram.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.tail import upper_point
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.hierarchy import Floats, Hierarchy, Integers, rising
from headcount.privacy.event import GaussianNoise
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query
    from headcount.privacy.spend import Zcdp


def sensitivity_of(n_levels: int, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Sensitivity:
    """[HH1] one user is in one block of each level and moves its count by one."""
    levels = Fraction(n_levels)
    one_user = Sensitivity(l0=n_levels, l1=levels, l2_squared=levels, linf=Fraction(1))
    return one_user.under(neighbours)


@dataclass(frozen=True, slots=True)
class HierarchicalHistogram:
    """Noisy counts at all levels of a public shape; build with ``calibrate``."""

    shape: Hierarchy
    noise: Gaussian

    @classmethod
    def calibrate(
        cls, shape: Hierarchy, spend: Zcdp, neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> HierarchicalHistogram:
        """The least noise whose cost is at most ``spend``."""
        return cls(shape, Gaussian.calibrate(sensitivity_of(shape.n_levels, neighbours), spend))

    @property
    def neighbours(self) -> Neighbours:
        """The relation that the noise was made for."""
        return self.noise.sensitivity.neighbours

    @property
    def event(self) -> GaussianNoise:
        """What the ledger records."""
        return self.noise.event

    @property
    def sensitivity(self) -> Sensitivity:
        """One user is in one cell; of the blocks above it the noise takes care [HH1]."""
        return Sensitivity.of_cell(self.neighbours)

    def draw(self, query: Query[Integers], chance: Chance) -> NoisyCells:
        """Count every block, add noise to each [HH2], and reconcile them."""
        true_cells = query.answer(self.sensitivity)
        noisy_counts = chance.noisy(self.shape.counts(true_cells), self.noise.law)
        return NoisyCells(self.shape, self.noise.sd, self.shape.estimate(noisy_counts))

    def range_sd(self, ranges: Sequence[tuple[int, int]]) -> Floats:
        """The standard deviation of the sum of each range of cells."""
        sds: Floats = np.sqrt(self.shape.range_variance(ranges)) * self.noise.sd
        return sds

    def rank_error(self, at: float, confidence: float) -> float:
        """Half the width of an interval for a quantile's rank, in users, where it is widest."""
        most = math.sqrt(float(self.shape.rank_variance(at).max()))
        return upper_point((1 - confidence) / 2) * most * self.noise.sd


@dataclass(frozen=True, slots=True)
class NoisyCells:
    """Published: the reconciled count of every cell. What is read off it is free."""

    shape: Hierarchy
    sd: float
    noisy_cells: Floats

    def ranges(self, ranges: Sequence[tuple[int, int]]) -> Floats:
        """The estimated count of each range of cells ``[first, end)``."""
        noisy_before = np.concatenate([[0.0], np.cumsum(self.noisy_cells)])
        pairs = np.array(ranges, np.int64).reshape(-1, 2)
        noisy_sums: Floats = noisy_before[pairs[:, 1]] - noisy_before[pairs[:, 0]]
        return noisy_sums

    def quantile(self, at: float, confidence: float) -> tuple[int, int, int]:
        """The cell of a quantile, and the first and last cell of an interval that holds it.

        The true cell ``c`` has at most ``at`` of all users before it and at least ``at`` up to its
        end. Each is tested with the exact standard deviation of that very sum, after the noisy
        ranks have been made to rise; the interval holds the cells that neither test refuses.
        """
        noisy_excess, sds = self._excess(at)
        margin = upper_point((1 - confidence) / 2) * sds
        last = self.shape.n_cells - 1
        cell = int(np.searchsorted(noisy_excess[1:], 0.0).clip(0, last))
        possible = (noisy_excess[:-1] <= margin[:-1]) & (noisy_excess[1:] >= -margin[1:])
        every = self.shape.n_padded
        total_sd = self.sd * math.sqrt(float(self.shape.covariance(every, every)))
        if not possible.any() or self.noisy_cells.sum() <= 2 * total_sd:
            # It cannot be told whether there are users at all, so nothing is ruled out.
            return cell, 0, last
        kept = np.flatnonzero(possible)
        return cell, min(int(kept[0]), cell), max(int(kept[-1]), cell)

    def _excess(self, at: float) -> tuple[Floats, Floats]:
        """Users before each cell less the share ``at`` of all, rising, and its deviations."""
        noisy_before = np.concatenate([[0.0], np.cumsum(self.noisy_cells)])
        noisy_excess = noisy_before[: self.shape.n_cells + 1] - at * noisy_before[-1]
        return rising(noisy_excess), self.sd * np.sqrt(self.shape.rank_variance(at))
