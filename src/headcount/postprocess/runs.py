"""Long vectors of counts as runs: each different count once, with how many entries have it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Integers = NDArray[np.int64]

Runs = tuple["Integers", "Integers"]
"""The different values, and how many entries have each."""

CHUNK = 1 << 20
DENSE = 1 << 23


def runs_of(values: Integers) -> tuple[Integers, Integers]:
    """The different values, rising, and how many there are of each."""
    if len(values) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low < min(4 * len(values), DENSE):
        counted = np.bincount(values - low)
        present = np.flatnonzero(counted)
        return present + low, counted[present].astype(np.int64)
    found, counted = np.unique(values, return_counts=True)
    return found, counted.astype(np.int64)


def together(parts: Iterable[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
    """The runs of several vectors as those of one."""
    values = [np.zeros(0, np.int64)]
    numbers = [np.zeros(0, np.int64)]
    for value, number in parts:
        values.append(value)
        numbers.append(number)
    found, members = np.unique(np.concatenate(values), return_inverse=True)
    sums = np.zeros(len(found), np.int64)
    np.add.at(sums, members, np.concatenate(numbers))
    return found, sums


def chunks(values: Integers, numbers: Integers, length: int) -> Iterator[Integers]:
    """The vector itself in the order given, cut or padded with zeros to ``length``, in chunks."""
    ends = np.minimum(np.cumsum(numbers), length)
    values = np.append(values, 0)
    ends = np.append(ends, length)
    for start in range(0, length, CHUNK):
        stop = min(start + CHUNK, length)
        inside = np.clip(ends, start, stop)
        yield np.repeat(values, np.diff(inside, prepend=start))
