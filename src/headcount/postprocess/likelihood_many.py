"""The likelihood for three noises and more, as after merging many parts.

Their sum is smooth and wide, so both the grid and the noisy counts are taken in cells of a fraction
of its sd, few enough for dense Newton steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from headcount.postprocess.frequencies import laplace_sd
from headcount.postprocess.unbiased import noise_masses, reach_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

FINENESS = 4
MAX_CELLS = 400
FADED = 1e-12


@dataclass(frozen=True, slots=True)
class Dense:
    """The law as a matrix: one row a cell of noisy counts, one column a point."""

    points: Integers
    seen: Floats
    law: Floats

    def mixture(self, weights: Floats) -> Floats:
        """The law times the weights."""
        mixed: Floats = self.law @ weights
        return mixed

    def gain(self, mixture: Floats) -> Floats:
        """The law, transposed, times what was seen."""
        gained: Floats = self.law.T @ (self.seen / mixture)
        return gained

    def newton(self, mixture: Floats, scale: Floats, push: Floats) -> tuple[Floats, Floats]:
        """A step in the weights, from which that of the mixture follows."""
        rooted = self.law * (np.sqrt(self.seen) / mixture)[:, None]
        curvature = rooted.T @ rooted
        curvature[np.diag_indices_from(curvature)] += scale
        change: Floats = cho_solve(cho_factor(curvature), self.gain(mixture) - 1 + push)
        return change, self.mixture(change)


def step_of(ratio: float, n_noises: int) -> int:
    """How wide a cell is. Odd, so that its middle is a count and the mean of what is in it."""
    return max(1, math.floor(laplace_sd(ratio, n_noises) / FINENESS)) | 1


def first_far(counts: Integers, ratio: float, n_noises: int) -> int:
    """From which noisy count on there are too many cells: such counts are taken as they are."""
    step = step_of(ratio, n_noises)
    cells = np.unique(np.maximum(counts, 0) // step)
    return int(cells[MAX_CELLS]) * step if len(cells) > MAX_CELLS else int(counts[-1]) + 1


def many_noises(counts: Integers, groups: Integers, ratio: float, n_noises: int) -> Dense:
    """Points near noisy counts."""
    reach = reach_of(ratio, n_noises, FADED)
    noisy = np.maximum(counts, -reach)
    step = step_of(ratio, n_noises)
    cells = np.unique(np.maximum(noisy, 0) // step)
    near = np.unique(np.concatenate([cells - 1, cells, cells + 1]))
    points = np.unique(np.append(near[near >= 0] * step, [0, 1]))
    middles, members = np.unique(noisy // step * step + step // 2, return_inverse=True)
    seen = np.bincount(members, groups)
    distances = np.minimum(np.abs(np.subtract.outer(middles, points)), reach)
    masses = noise_masses(ratio, n_noises, reach)[reach:]
    return Dense(points, seen / seen.sum(), masses[distances] / masses[0])
