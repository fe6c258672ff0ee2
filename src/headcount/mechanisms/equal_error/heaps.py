"""Groups in which a few users have very many rows: their counts are guessed from these.

Where rows are counted, a group is guessed from its users and from how many rows these have in the
mean over groups. Fifty robots with 2,000 rows each are taken for fifty people then, and their group
for a small one, though it is the largest. So users are counted by group and by how many rows they
have there, and rows of those who stand out from noise are in the guess. Everything here but the
question is a function of noisy numbers: floating point is free.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.tail import each_of, upper_point
from headcount.mechanisms.equal_error.tuning import FALSE_HEAPS

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from headcount.mechanisms.equal_error.measuring import Noisy
    from headcount.mechanisms.equal_error.queries import KnownQueries
    from headcount.privacy.bounds import Bounds

    Floats = NDArray[np.float64]

STEP = 4
EDGES = (16, 64, 256, 1024)
MIDDLES = np.array(EDGES) * (STEP - 1) / math.log(STEP)
"""The mean in a cell, where all sizes are alike on a scale of logarithms."""


def heaps(
    noisy: Noisy, known: KnownQueries, n_groups: int, bounds: Bounds, rho: Fraction
) -> Floats:
    """By group, the rows of users who have very many of them there [EE7]."""
    if n_groups > bounds.max_groups:
        return np.zeros(n_groups)
    totals, sd = noisy(known.far_beyond(EDGES, bounds), rho)
    users = totals.reshape(-1, len(EDGES)) / bounds.scale
    point = upper_point(each_of(FALSE_HEAPS, users.size))
    sure = np.where(users > point * sd / bounds.scale, users, 0.0)
    rows: Floats = sure @ MIDDLES
    return rows
