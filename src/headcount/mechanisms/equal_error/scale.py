"""From weights to counts: how many users there are to a unit of weight, by class of rank."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from headcount.mechanisms.equal_error import reading
from headcount.mechanisms.equal_error.measuring import CLASS_NORM

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from headcount.mechanisms.equal_error.measuring import Noisy
    from headcount.mechanisms.equal_error.queries import KnownQueries

    Floats = NDArray[np.float64]
    Positions = NDArray[np.intp]

ROWS_EACH, MOST_CLASSES = 150, 4
NORM = 0.06  # of a typical factor: what one user may tell, in noise of a class


def factors(
    noisy: Noisy,
    known: KnownQueries,
    noisy_weights: Floats,
    ranked: Positions,
    rho: Fraction,
    typical: float,
) -> Floats:
    """For each group the factor of its class; ``ranked`` are those that have one, largest first.

    The others are a class of their own, which is asked with the least weight and not read: 1.
    """
    n_rows = len(noisy_weights)
    class_of_rank = reading.classes_of(len(ranked), ROWS_EACH, MOST_CLASSES)
    n_each = np.bincount(class_of_rank, minlength=1)
    classes = np.full(n_rows, len(n_each), np.int64)
    classes[ranked] = class_of_rank
    norm = NORM * typical * math.sqrt(2 * rho * max(1, int(n_each.min())))
    unit = CLASS_NORM / norm
    values = np.ones(n_rows)
    values[ranked] = unit / (noisy_weights[ranked] * np.sqrt(n_each)[class_of_rank])
    integers = np.clip(np.rint(values), 1, CLASS_NORM).astype(np.int64)
    totals, _ = noisy(known.class_totals(integers, classes, CLASS_NORM), rho)
    of_class = np.maximum(totals[: len(n_each)] / unit / np.sqrt(np.maximum(n_each, 1)), 1.0)
    every: Floats = np.ones(n_rows)
    every[ranked] = of_class[class_of_rank]
    return every
