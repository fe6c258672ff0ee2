"""The last stages of an equal-error release: two rounds of counting, and what clipping took.

The larger a row, the less relative noise it gets: the same cost takes off more error there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headcount.mechanisms.equal_error import reading, tuning
from headcount.mechanisms.equal_error.candidates import as_integers, whole
from headcount.mechanisms.equal_error.heavy import Heavy, Hidden, edges_up_to
from headcount.mechanisms.equal_error.loss import (
    ClassLosses,
    Losses,
    Tilts,
    losses_of_rows,
    size_classes,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from numpy.typing import NDArray

    from headcount.mechanisms.equal_error.plan import EqualErrorPlan
    from headcount.mechanisms.equal_error.queries import ClippedQueries, KnownQueries
    from headcount.mechanisms.equal_error.reading import Shares
    from headcount.privacy.query import Query

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Noisy = Callable[[Query[Integers], Fraction], tuple[Integers, float]]

FIRST, SECOND = "measuring, first round", "measuring, second round"
LEFT_OUT = "measuring what clipping left out"
CLASS_NORM = 1 << 28
VALUE_BITS = 7
LEAST_SIZE = 0.3  # of a guess, what a count is taken for at least when it is divided by


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows to measure, largest guess first, and what is known of them by now."""

    index: Integers
    guess: Floats
    weights: Floats
    """Noisy, from discovery."""
    weight_sds: Floats
    tau: float
    """Relative noise of the smallest."""
    least: float = 0.0
    """What a row is taken for at least, where smaller ones are not told apart."""


@dataclass(frozen=True, slots=True)
class Round:
    """Counts under public weights, clipped; the weights are in units of their noise."""

    queries: ClippedQueries
    counts: Floats
    weights: Floats


@dataclass(frozen=True, slots=True)
class Lost:
    """The share of a count that clipping took: of all rows, the largest and the smallest tenth."""

    mean: float
    largest: float
    smallest: float

    @classmethod
    def of(cls, lost: Floats, sizes: Floats) -> Lost:
        """In the mean over rows."""
        by_size, tenth = lost[np.argsort(-sizes, kind="stable")], -(-len(lost) // 10)
        return cls(*(float(some.mean()) for some in (lost, by_size[:tenth], by_size[-tenth:])))


@dataclass(frozen=True, slots=True)
class Measured:
    """Counts with what clipping took put back, their sds, and how much that was."""

    counts: Floats
    sds: Floats
    lost: Lost


@dataclass(frozen=True, slots=True)
class Measuring:
    """Measures the chosen rows of public groups; ``noisy`` charges, asks and draws."""

    plan: EqualErrorPlan
    shares: Shares
    known: KnownQueries
    noisy: Noisy
    progress: Callable[[str], None]

    def measured(self, chosen: Chosen) -> Measured:
        """Two rounds, the second with weights that know the first, and the bias of both."""
        shares, guess, tau = self.shares, chosen.guess, chosen.tau
        part = math.sqrt(tuning.FIRST_ROUND)
        self.progress(FIRST)
        weights = part / (self.noise_of(guess, tau) * guess)
        first = self.round(chosen.index, weights, shares.first_round)
        sizes = np.maximum(reading.blend(first.counts, first.weights, guess), chosen.least)
        full = 1 / (self.noise_of(sizes, tau) * sizes) ** 2
        second_w2 = np.maximum(full - first.weights**2, 0.25 * (1 - tuning.FIRST_ROUND) * full)
        self.progress(SECOND)
        second = self.round(chosen.index, np.sqrt(second_w2), shares.second_round)
        precision = first.weights**2 + second.weights**2
        mean = (first.counts * first.weights**2 + second.counts * second.weights**2) / precision
        self.progress(LEFT_OUT)
        losses = self.losses((first, second), mean, sizes, chosen, shares)
        counts = mean * (1 + losses.lost)
        sds = np.hypot((1 + losses.lost) / np.sqrt(precision), losses.sds * counts)
        return Measured(counts, sds, Lost.of(losses.measured, counts))

    def noise_of(self, sizes: Floats, tau: float) -> Floats:
        """The relative noise of each row."""
        return tau / tuning.taper(sizes, float(sizes.min()), self.plan.tuning)

    def round(self, index: Integers, weights: Floats, rho: Fraction) -> Round:
        """Counts of all rows under these weights.

        [EE2] users are clipped where noise of sd 1 costs ``rho``, so weights are precisions.
        """
        integers, unit = as_integers(weights, self.plan.max_value)
        clip = whole(2 * float(rho) * unit**2)
        clipped = self.known.clipped(index, integers, clip)
        totals, sd = self.noisy(clipped.totals(VALUE_BITS), rho)
        values = (integers << VALUE_BITS).astype(np.float64)
        return Round(clipped, totals / values, values / sd)

    def norm(self, finer: Floats, n_rows: int, tau: float, rho: Fraction) -> float:
        """How much of a loss one user may tell: as much as the noise on it is to allow."""
        own, is_few = self.plan.tuning, n_rows < tuning.FEW
        clip = tau * math.sqrt(2 * self.shares.measure)
        most_noise = own.few_noise if is_few else own.bias_noise
        cap = own.few_cap if is_few else own.bias_cap
        return min(
            cap * clip * math.sqrt(float((finer**2).sum()) / n_rows),
            most_noise * self.plan.within * math.sqrt(2 * rho),
        )

    def losses(
        self,
        rounds: tuple[Round, Round],
        mean: Floats,
        sizes: Floats,
        chosen: Chosen,
        own: Shares,
    ) -> Losses:
        """What both clips took from each row: asked by class of size and of users, then read."""
        precision = rounds[0].weights ** 2 + rounds[1].weights ** 2
        tilts = Tilts.of(
            chosen.weights,
            chosen.weight_sds,
            np.maximum(mean, LEAST_SIZE * sizes),
            1 / np.sqrt(precision) / np.maximum(mean, 1),
        )
        by_size = size_classes(sizes)
        classes = tilts.split(by_size)
        n_each = np.bincount(classes)
        log_sizes = np.log(sizes)
        middles = np.bincount(classes, log_sizes) / n_each
        # A class is a mean over its rows: who is in many rows is in many of each class, so the
        # noise of a class is the same however few rows it has.
        finer = np.exp(tuning.FINER * (middles - middles.min()))
        unit = CLASS_NORM / self.norm(finer, len(sizes), chosen.tau, own.bias)
        per_row = unit * (finer / n_each)[classes] / (precision * sizes)
        first_shares, second_shares = (
            np.minimum(np.rint(per_row * one.weights**2), CLASS_NORM).astype(np.int64)
            for one in rounds
        )
        # Nobody loses more than all rows, as often as they count.
        most = self.plan.max_value * float((first_shares + second_shares).sum()) / CLASS_NORM
        off, beyond = rounds[0].queries.taken_away(
            rounds[1].queries,
            (first_shares, second_shares),
            classes,
            CLASS_NORM,
            edges_up_to(most),
        )
        totals, sd = self.noisy(off, own.bias)
        hidden = Hidden.of(Heavy.of(*self.noisy(beyond, own.hidden)), totals / CLASS_NORM)
        typical = np.maximum(np.bincount(classes, mean / sizes) / n_each, 0.1)
        per_class = 1 / (unit * finer * typical)
        nearly_smallest = by_size == max(0, int(by_size.max()) - 1)
        found = ClassLosses(
            classes,
            middles,
            knee=float(log_sizes[nearly_smallest].min()),
            lost=(totals + CLASS_NORM * hidden.of_classes) * per_class,
            sds=sd * per_class,
            unsure=hidden.unsure,
        )
        return losses_of_rows(found, log_sizes, mean, tilts, self.plan.tuning.row_to_row)
