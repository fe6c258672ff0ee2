"""The nearest shares: not negative, and one in all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def onto_simplex(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Subtract one number from all values and cut at zero, so that the sum is one.

    The nearest point in l2. Reference: Held, Wolfe and Crowder 1974.
    """
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(values) + 1)
    last = int(np.nonzero(falling > excess)[0][-1])
    cut = np.maximum(values - excess[last], 0)
    shares: NDArray[np.float64] = cut / cut.sum()
    return shares
