"""The stages of one equal-error release: each is charged, then asked, then drawn.

What is claimed of them together, and the proof, are in ``equal_error.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.compose import cost
from headcount.mechanisms import equal_error_public as public
from headcount.mechanisms.equal_error_candidates import (
    GUARD_PRIOR,
    PRIOR,
    Candidates,
    as_integers,
    whole,
)
from headcount.mechanisms.equal_error_public import Crowd, Shares
from headcount.mechanisms.equal_error_size import UNIT_BITS, SizeChoice
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.private_count_release import PrivateCountRelease
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from headcount.accounting.filter import Filter
    from headcount.mechanisms.equal_error import EqualError
    from headcount.mechanisms.equal_error_queries import KnownQueries, PairQueries
    from headcount.noise.entropy import Entropy

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Positions = NDArray[np.intp]

PROFILING = "profiling users"
FINDING = "finding groups"
CHOOSING = "choosing how many groups the budget carries"
FIRST, SECOND = "measuring, first round", "measuring, second round"
LEFT_OUT = "measuring what clipping left out"
STAGES = (PROFILING, FINDING, CHOOSING, FIRST, SECOND, LEFT_OUT)
"""All that a draw may say, whichever branch it takes."""

CLASS_NORM = 1 << 28
VALUE_BITS = 7
ONE_CELL = Sensitivity.of_cell()


@dataclass(frozen=True, slots=True)
class Counted:
    """What may be published: positions of groups, their counts, and why this method."""

    method: str
    positions: Positions
    counts: Floats
    sds: Floats
    expected_within: float
    why: str

    @property
    def reached(self) -> float:
        """The relative error within which nine in ten of the rows are expected."""
        return public.reached(self.counts, self.sds)


@dataclass(frozen=True, slots=True)
class Run:
    """One release on its way: what may still be spent, and where the noise comes from."""

    plan: EqualError
    pairs: PairQueries
    budget: Filter
    entropy: Entropy
    progress: Callable[[str], None]

    def noisy(
        self, sensitivity: Sensitivity, rho: Fraction, ask: Callable[[], Integers]
    ) -> tuple[Integers, float]:
        """[P1] charge a Gaussian of this sensitivity, ask, add the noise that was charged."""
        gaussian = Gaussian.calibrate(sensitivity, Zcdp(rho))
        self.budget.charge(cost(gaussian.event))
        return gaussian.draw(ask(), self.entropy), gaussian.sd

    def counted(self) -> Counted:
        """Profile users if nobody has, take the branch that suits them, and count."""
        shares = self.plan.shares
        if self.plan.profile is None:
            self.progress(PROFILING)
            crowd = self.profiled(shares.profile)
        else:
            crowd = self.plan.profile.crowd
        branch = self.plan.branch(crowd)
        if branch == "single":
            return self.single(shares.after_profile, crowd)
        return self.peel(shares.after_profile) if branch == "peel" else self.equal(shares, crowd)

    def profiled(self, rho: Fraction) -> Crowd:
        """Users by their groups; where rows are counted, half the cost is for users by rows."""
        if self.plan.max_value == 1:
            return Crowd.of(*self.noisy(ONE_CELL, rho, self.pairs.users_per_cell))
        crowd = Crowd.of(*self.noisy(ONE_CELL, rho / 2, self.pairs.users_per_cell))
        rows = Crowd.of(*self.noisy(ONE_CELL, rho / 2, self.pairs.users_per_rows_cell))
        return crowd.with_rows(rows)

    def discovered(self, rho: Fraction) -> tuple[Positions, Floats, float]:
        """Groups by falling noisy weight, those weights, and the noise of each."""
        self.progress(FINDING)
        threshold = self.plan.threshold(rho)
        self.budget.charge(cost(threshold.event))
        noisy_totals = self.pairs.discover(
            self.plan.bounds, lambda true_totals: threshold.draw(true_totals, self.entropy)
        )
        order = np.argsort(-noisy_totals, kind="stable")
        scale = threshold.bounds.scale
        return order, noisy_totals[order] / scale, threshold.sd / scale

    def single(self, rho: Fraction, crowd: Crowd) -> Counted:
        """Nearly everyone is in one group: the weights are the counts."""
        order, noisy_weights, sd = self.discovered(rho)
        loss = crowd.single_loss
        counts = noisy_weights * (1 + loss)
        sds = np.hypot(sd * (1 + loss), public.ROW_TO_ROW * loss * counts)
        why = f"users are in few groups: one pass leaves out about {loss:.1%} of the count"
        rows = public.rows_to_print(counts, sds, self.plan.within)
        return self.printed("single", order, counts, sds, rows, why)

    def peel(self, rho: Fraction) -> Counted:
        """Few users: measure the largest groups one by one."""
        limit = Zcdp(rho, self.plan.limit.delta)
        self.progress(FINDING)
        mechanism = PrivateCountRelease.calibrate(limit, self.plan.within, self.plan.top)
        self.budget.charge(limit)
        true_counts = self.pairs.largest(mechanism.max_rows + 1)
        rows = mechanism.draw(true_counts, self.entropy)
        counts = np.array([row.estimate for row in rows], np.float64)
        sds = np.array([row.sd for row in rows], np.float64)
        positions = np.array([row.position for row in rows], np.intp)
        expected = public.expected_within(counts, sds, self.plan.within)
        why = "there are few users for this budget: the largest groups are measured one by one"
        return Counted("peel", positions, counts, sds, expected, why)

    def equal(self, shares: Shares, crowd: Crowd) -> Counted:
        """Discover, rank, choose how many rows the budget carries, measure those, correct."""
        why = "users are in many groups: every row gets the same relative error"
        order, noisy_weights, _ = self.discovered(shares.discover)
        if not len(order):
            empty = np.zeros(0)
            return Counted("equal", order, empty, empty, 1.0, why)
        known = self.pairs.known(order)
        guess = noisy_weights * self.factors(known, noisy_weights, shares.scale, crowd)
        by_guess = np.argsort(-guess, kind="stable")
        if self.plan.top is not None and self.plan.top < len(order):
            # What is not wanted takes no part: the budget goes to the rest.
            largest = by_guess[: self.plan.top]
            order, guess, by_guess = order[largest], guess[largest], np.arange(len(largest))
            known = self.pairs.known(order)
        self.progress(CHOOSING)
        n_rows, tau = self.picked(known, guess, by_guess, shares)
        index = by_guess[:n_rows].astype(np.int64)
        counts, sds = self.measured(known, index, guess[index], tau, shares)
        rows = public.rows_or_second_best(counts, sds, self.plan.within)
        return self.printed("equal", order[index], counts, sds, rows, why)

    def factors(
        self, known: KnownQueries, noisy_weights: Floats, rho: Fraction, crowd: Crowd
    ) -> Floats:
        """From weights to counts: users per unit of weight, by class of rank."""
        classes = public.classes_of(len(noisy_weights), 150, 4)
        n_each = np.bincount(classes)
        norm = 0.06 * crowd.first_factor * math.sqrt(2 * rho * int(n_each.min()))
        unit = CLASS_NORM / norm
        values = unit / (noisy_weights * np.sqrt(n_each)[classes])
        integers = np.clip(np.rint(values), 1, CLASS_NORM).astype(np.int64)
        totals, _ = self.noisy(
            _in_l2(CLASS_NORM**2, len(n_each)),
            rho,
            lambda: known.class_totals(integers, classes, CLASS_NORM),
        )
        factors: Floats = np.maximum(totals / unit / np.sqrt(n_each), 1.0)[classes]
        return factors

    def picked(
        self, known: KnownQueries, guess: Floats, by_guess: Positions, shares: Shares
    ) -> tuple[int, float]:
        """How many rows, and how much noise on each, so that clipping takes little of them.

        Losses are capped per user: low, which tells sizes finely apart, and high, which sees how
        much a few heavy users really lose. The high one says how far the fine choice may go.
        """
        candidates = Candidates.of(
            guess, by_guess, self.plan.within, shares.measure, self.plan.max_value
        )
        guard = SizeChoice.calibrate(Zcdp(shares.guard), GUARD_PRIOR)
        choice = SizeChoice.calibrate(Zcdp(shares.pick), PRIOR)
        self.budget.charge(cost(guard.event))
        self.budget.charge(cost(choice.event))
        true_lost, true_far = known.clipped_share(
            weights=candidates.weights,
            first_level=candidates.first_level,
            clip=candidates.clip,
            caps=candidates.caps,
            lower_clips=candidates.lower_clips,
            unit_bits=UNIT_BITS,
        )
        allowed, allowed_far = candidates.allowed(1 << UNIT_BITS)
        some = candidates.guarded
        last = some[guard.draw(true_far[some], allowed_far[some], self.entropy)] + 1
        chosen = choice.draw(true_lost[:last], allowed[:last], self.entropy)
        return int(candidates.n_rows[chosen]), float(candidates.taus[chosen])

    def measured(
        self, known: KnownQueries, index: Integers, guess: Floats, tau: float, shares: Shares
    ) -> tuple[Floats, Floats]:
        """Two rounds, the second with weights that know the first, and the bias of both."""
        part = math.sqrt(public.FIRST_ROUND)
        self.progress(FIRST)
        first, first_w = self.round(known, index, part / (tau * guess), shares.first_round)
        better = public.blend(first, first_w, guess)
        full = 1 / (tau * better) ** 2
        second_w2 = np.maximum(full - first_w**2, 0.25 * (1 - public.FIRST_ROUND) * full)
        self.progress(SECOND)
        second, second_w = self.round(known, index, np.sqrt(second_w2), shares.second_round)
        precision = first_w**2 + second_w**2
        mean = (first * first_w**2 + second * second_w**2) / precision

        self.progress(LEFT_OUT)
        counts_users = self.plan.max_value == 1
        cap = public.BIAS_CAP if counts_users else public.EVENT_BIAS_CAP
        rows_each = public.BIAS_ROWS if counts_users else public.EVENT_BIAS_ROWS
        classes = public.classes_of(len(index), rows_each, 8)
        n_each = np.bincount(classes)
        # With few rows the noise on what they lost must not be what decides about them.
        few = public.BIAS_NOISE * self.plan.within * math.sqrt(2 * shares.bias * int(n_each.min()))
        norm = min(cap * tau * math.sqrt(2 * shares.measure), few)
        unit = CLASS_NORM / norm
        per_row = unit / (precision * better * np.sqrt(n_each)[classes])
        lost_shares = (
            np.minimum(np.rint(per_row * first_w**2), CLASS_NORM).astype(np.int64),
            np.minimum(np.rint(per_row * second_w**2), CLASS_NORM).astype(np.int64),
        )
        totals, sd = self.noisy(
            _in_l2(CLASS_NORM**2, len(n_each)),
            shares.bias,
            lambda: known.clipped_off(index, lost_shares, classes, CLASS_NORM),
        )
        typical = np.maximum(np.bincount(classes, mean / better) / n_each, 0.1)
        per_class = 1 / (unit * np.sqrt(n_each) * typical)
        bias = np.clip(totals * per_class, 0, 1)
        unsure = np.hypot(public.ROW_TO_ROW * bias, sd * per_class)[classes]
        counts = mean * (1 + bias[classes])
        sds = np.hypot((1 + bias[classes]) / np.sqrt(precision), unsure * counts)
        return counts, sds

    def round(
        self, known: KnownQueries, index: Integers, weights: Floats, rho: Fraction
    ) -> tuple[Floats, Floats]:
        """Counts of all rows under these weights, and the weights in units of their noise.

        [P2] users are clipped where noise of sd 1 costs ``rho``, so weights are precisions.
        """
        integers, unit = as_integers(weights, self.plan.max_value)
        clip = whole(2 * float(rho) * unit**2)
        totals, sd = self.noisy(
            _in_l2(clip << 2 * VALUE_BITS, len(index)),
            rho,
            lambda: known.clipped_totals(index, integers, clip, VALUE_BITS),
        )
        values = (integers << VALUE_BITS).astype(np.float64)
        return totals / values, values / sd

    def printed(
        self,
        method: str,
        positions: Positions,
        counts: Floats,
        sds: Floats,
        rows: Positions,
        why: str,
    ) -> Counted:
        """Some of the rows, and what share of them to expect within the target."""
        if self.plan.top is not None:
            rows = rows[np.argsort(-counts[rows], kind="stable")][: self.plan.top]
        counts, sds = counts[rows], sds[rows]
        expected = public.expected_within(counts, sds, self.plan.within)
        return Counted(method, positions[rows], counts, sds, expected, why)


def _in_l2(l2_squared: int, n_entries: int) -> Sensitivity:
    """Non-negative vectors of integers, bounded in l2 and in nothing else."""
    longest = math.isqrt(l2_squared)
    return Sensitivity(
        l0=n_entries,
        l1=Fraction(longest * n_entries),
        l2_squared=Fraction(l2_squared),
        linf=Fraction(longest),
    )
