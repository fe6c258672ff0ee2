"""What clipping took from rows: asked by class, read as a curve, and said of every row.

Rows lose more where their users are in many groups. Small rows do, mostly, and so do rows whose
users weighed little when groups were discovered. Losses are measured for classes of rows, cut by
both, and a curve through them says what each row lost and how sure that is. Everything here is a
function of noisy numbers: floating point is free.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headcount.mechanisms.equal_error import tuning

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

NEAR_ENDS = 0.7  # how far beyond the classes' middles, in log size, the curve is followed
LEAST_WIDTH, LEAST_SIGNAL, FARTHEST = 0.3, 1e-6, 3.0


def size_classes(sizes: Floats) -> Integers:
    """Rows by rank of size, largest first: a few classes, fewer if there are few rows."""
    n_rows = len(sizes)
    classes = np.zeros(n_rows, np.int64)
    if n_rows >= tuning.NONE_SIZED:
        ends = tuning.SIZE_ENDS if n_rows >= tuning.FEW_SIZED else tuning.FEW_ENDS
        by_size = np.argsort(-sizes, kind="stable")
        last = np.rint(np.array(ends) * n_rows)
        classes[by_size] = np.searchsorted(last, np.arange(n_rows), side="right")
    return classes


@dataclass(frozen=True, slots=True)
class Tilts:
    """How light the users of rows are beside those of other rows of their size.

    A row's weight in discovery over its count is the mean of one over the root of its users'
    groups. In units of its spread among rows of a size, pulled to 0 as far as it is noise.
    """

    tilts: Floats
    reliable: Floats
    """The share of what is seen of a row that is not noise."""

    @classmethod
    def of(cls, weights: Floats, weight_sds: Floats, counts: Floats, relative_sds: Floats) -> Tilts:
        """From noisy weights and counts, and the noise of both."""
        if len(weights) < tuning.LEAST_TO_SPLIT:
            return cls(np.zeros(len(weights)), np.zeros(len(weights)))
        mean_weight = np.log(np.maximum(weights, 1e-9) / counts)
        noise = (weight_sds / weights) ** 2 + relative_sds**2
        design = np.stack([np.ones(len(counts)), np.log(counts)], axis=1)
        signal, left = max(LEAST_SIGNAL, float(np.var(mean_weight))), mean_weight
        for _ in range(3):
            precision = 1 / (signal + noise)
            root = np.sqrt(precision)
            line = np.linalg.lstsq(design * root[:, None], mean_weight * root, rcond=None)[0]
            left = mean_weight - design @ line
            more = float((precision**2 * (left**2 - noise)).sum() / (precision**2).sum())
            signal = max(LEAST_SIGNAL, more)
        reliable = signal / (signal + noise)
        return cls(
            reliable * np.clip(left / math.sqrt(signal), -FARTHEST, FARTHEST),
            reliable,
        )

    def split(self, classes: Integers) -> Integers:
        """Each class in two halves, by tilt, where it can be read."""
        halves = classes * 2
        for one in range(int(classes.max()) + 1):
            mine = np.flatnonzero(classes == one)
            if len(mine) >= tuning.LEAST_TO_SPLIT and self.reliable[mine].mean() > 0.1:
                halves[mine] += self.tilts[mine] > np.median(self.tilts[mine])
        split: Integers = np.unique(halves, return_inverse=True)[1].astype(np.int64)
        return split


@dataclass(frozen=True, slots=True)
class ClassLosses:
    """What classes of rows lost, as shares of their counts, and the noise of that."""

    classes: Integers
    middles: Floats
    """Mean log size of each class."""
    knee: float
    """The log size at which the smallest rows begin."""
    lost: Floats
    sds: Floats
    unsure: float = 0.0
    """What may not be so in all classes alike, as a share of what they lost."""


@dataclass(frozen=True, slots=True)
class Losses:
    """What each row lost, as a share of its count, and how unsure that is."""

    lost: Floats
    sds: Floats
    measured: Floats
    """Before what the heaviest may have hidden is added."""


def losses_of_rows(
    found: ClassLosses, log_sizes: Floats, counts: Floats, tilts: Tilts, row_to_row: float
) -> Losses:
    """A curve of size through the classes, steeper for rows of heavy users, and what is left."""
    lost, sds, tilt, tilt_variance = _curve(found, log_sizes, tilts)
    measured = lost = np.clip(lost, 0, 1)
    unread = 1 - tilts.reliable
    uneven = (
        found.unsure**2 + row_to_row**2 + tilt**2 + tilt_variance + (tuning.UNREAD * unread) ** 2
    )
    much = np.clip((lost - tuning.MUCH) / (tuning.VERY_MUCH - tuning.MUCH), 0, 1)
    sds = np.hypot(sds, tuning.BEYOND * (1 + much) * lost**2)
    lost = lost * (1 + much * lost)
    variance = uneven * lost**2 + tuning.OF_FEW * lost / np.maximum(counts, 1) + sds**2
    return Losses(lost, np.sqrt(variance), measured)


def _steepness(found: ClassLosses, per_class: Floats, n_rows: int) -> tuple[float, float]:
    """How steep and how bent the curve may be: what makes these losses least surprising."""
    # Losses are not negative, so where little is lost there is nothing for a curve to go down to.
    precision = found.sds**-2.0
    usual = max(0.0, float((found.lost * precision).sum() / precision.sum()))
    usual += 1 / math.sqrt(float(precision.sum()))
    steeper = (tuning.FEW_SLOPE,) if n_rows < tuning.FEW else ()
    slopes = [min(sd, usual) for sd in (*tuning.SLOPES, *steeper)]
    knees = [min(sd, 2 * usual) for sd in tuning.KNEES]

    def surprise(slope_and_knee: tuple[float, float]) -> float:
        allowed = np.array([1.0, *(sd**2 for sd in slope_and_knee)])
        covariance = np.diag(found.sds**2) + (per_class * allowed) @ per_class.T
        explained = found.lost @ np.linalg.solve(covariance, found.lost)
        return float(explained + np.linalg.slogdet(covariance)[1])

    return min(itertools.product(slopes, knees), key=surprise)


def _curve(
    found: ClassLosses, log_sizes: Floats, tilts: Tilts
) -> tuple[Floats, Floats, float, float]:
    """Losses of rows, their sds, how much a tilt tells, and the variance of that."""
    noise, middles = found.sds, found.middles
    tilt_of = np.bincount(found.classes, tilts.tilts) / np.bincount(found.classes)
    centre, width = middles.mean(), max(LEAST_WIDTH, float(np.ptp(middles)) / 2)

    def design(at: Floats) -> Floats:
        bent = np.maximum(0, found.knee - at)
        return np.stack([np.ones(len(at)), (at - centre) / width, bent], axis=1)

    per_class = design(middles)

    slope, knee = _steepness(found, per_class, len(log_sizes))
    scaled = per_class / noise[:, None]
    covariance = np.linalg.inv(scaled.T @ scaled + np.diag([0.0, slope**-2, knee**-2]))

    fit = np.maximum(per_class @ covariance @ scaled.T @ (found.lost / noise), 0)
    pull = fit * tilt_of / noise
    sure = tuning.TILT_SD**-2
    strength = float((pull**2).sum()) + sure
    pulled = float(((fit - found.lost) / noise * pull).sum())
    tilt = min(max((pulled + tuning.TILT * sure) / strength, 0.0), tuning.MOST_TILT)

    level = found.lost / np.maximum(1 - tilt * tilt_of, 0.2) / noise
    line = covariance @ scaled.T @ level
    misfit = float(((level - scaled @ line) ** 2).sum()) / max(1, len(level) - 2)
    at = np.clip(log_sizes, middles.min() - NEAR_ENDS, middles.max() + NEAR_ENDS)
    rows = design(at)
    sds = np.sqrt(np.einsum("ij,jk,ik->i", rows, covariance, rows) * max(1.0, misfit))
    lost = np.maximum(rows @ line, 0) * np.maximum(1 - tilt * tilts.tilts, 0)
    return lost, sds, tilt, 1 / strength
