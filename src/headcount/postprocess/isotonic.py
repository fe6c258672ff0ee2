"""The non-increasing integer sequence that is nearest in the weighted l1 norm.

One heap of breakpoints holds the slope of the best cost so far (the slope trick): entries are
pushed once and popped once, so ``n`` segments take ``O(n log n)``. Weights are whole numbers
throughout, so no comparison depends on rounding; targets are read to ``2**-TARGET_BITS``.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TARGET_BITS = 30


def non_increasing(
    weights: NDArray[np.int64],
    targets: NDArray[np.float64],
    most: int,
    *,
    low: NDArray[np.int64] | None = None,
    high: NDArray[np.int64] | None = None,
) -> NDArray[np.int64]:
    """Minimise ``sum(weights * abs(y - targets))`` over falling integers ``y`` in ``[0, most]``.

    low, high:  further limits on each entry, themselves falling; both or neither
    """
    unit = 1 << TARGET_BITS
    scaled = np.rint(np.clip(targets, 0, most) * unit).astype(object)
    heaviest = 4 * unit * int(weights.sum()) + 1
    heap: list[tuple[int, int]] = []
    medians: list[int] = []
    limits = None if low is None or high is None else zip(low.tolist(), high.tolist(), strict=True)
    for weight, target in zip(weights.tolist(), scaled, strict=True):
        # |y - target| on the integers is linear between floor(target) and the integer above it.
        whole, part = divmod(int(target), unit)
        heapq.heappush(heap, (whole, 2 * weight * (unit - part)))
        if part:
            heapq.heappush(heap, (whole + 1, 2 * weight * part))
        falling = weight * unit
        if limits is not None:
            least, largest = next(limits)
            heapq.heappush(heap, (least, heaviest))
            heapq.heappush(heap, (largest, heaviest))
            falling += heaviest
        medians.append(_flattened(heap, falling))
    fitted = np.maximum.accumulate(np.array(medians[::-1], dtype=np.int64))[::-1]
    return np.clip(fitted, 0, most)


def _flattened(heap: list[tuple[int, int]], falling: int) -> int:
    """Remove the falling part of the cost; the breakpoint where it ended is the best value."""
    while True:
        point, weight = heap[0]
        if weight > falling:
            heapq.heapreplace(heap, (point, weight - falling))
            return point
        heapq.heappop(heap)
        falling -= weight
        if falling == 0:
            return point
