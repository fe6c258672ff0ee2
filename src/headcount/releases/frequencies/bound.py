"""The bound on groups per user for frequencies, chosen from a noisy profile alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headcount.contributions.profile import CELLS
from headcount.mechanisms.equal_error.reading import Crowd

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_BOUND = 1 << 12


@dataclass(frozen=True, slots=True)
class Chosen:
    """A bound, and what share of all pairs of user and group it is thought to leave out."""

    bound: int
    lost: float


def choose_bound(
    noisy_users: NDArray[np.int64], sd: float, most: int, error: Callable[[float, int], float]
) -> Chosen:
    """The power of two for which what is left out and what the noise does are least together.

    error:  the l1 error to expect of so many pairs under a bound
    """
    # One phantom user in a far cell would outweigh everyone: cells must be certain to count.
    users = Crowd.of(noisy_users, sd).users
    tops = np.array(CELLS, dtype=np.float64)
    # The middle of a cell: 1, 2, 3.5, 6.5, ...
    groups = (tops + np.append(1, tops[:-1] + 1)) / 2
    groups[0] = 1.0
    candidates = [1 << power for power in range(MAX_BOUND.bit_length())]
    best = Chosen(1, 0.0)
    least = np.inf
    for candidate in [*(c for c in candidates if c < most), min(most, MAX_BOUND)]:
        kept = float(users @ np.minimum(groups, candidate))
        lost = float(users @ np.maximum(groups - candidate, 0.0))
        expected = lost + error(kept, candidate)
        if expected < least:
            best = Chosen(candidate, lost / max(kept + lost, 1.0))
            least = expected
    return best
