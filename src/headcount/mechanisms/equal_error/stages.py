"""The stages of one equal-error release: each is charged, then asked, then drawn.

What is claimed of them together, and the proof, are in ``proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.compose import cost
from headcount.mechanisms.equal_error import reading, tuning
from headcount.mechanisms.equal_error.candidates import Candidates
from headcount.mechanisms.equal_error.measuring import (
    CLASS_NORM,
    FIRST,
    LEFT_OUT,
    SECOND,
    Chosen,
    Lost,
    Measuring,
)
from headcount.mechanisms.equal_error.reading import Crowd, Shares
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.private_count_release import PrivateCountRelease
from headcount.mechanisms.size_choice import UNIT_BITS, SizeChoice
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from headcount.accounting.filter import Filter
    from headcount.mechanisms.chance import Chance
    from headcount.mechanisms.equal_error.plan import EqualErrorPlan
    from headcount.mechanisms.equal_error.queries import (
        KnownQueries,
        PairQueries,
    )
    from headcount.privacy.query import Query

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Positions = NDArray[np.intp]

PROFILING = "profiling users"
FINDING = "finding groups"
CHOOSING = "choosing how many groups the budget carries"
STAGES = (PROFILING, FINDING, CHOOSING, FIRST, SECOND, LEFT_OUT)
"""All that a draw may say, whichever branch it takes."""

UNREADABLE = 1e9
"""The sd of a weight that says nothing about how heavy a row's users are."""
TOO_MUCH_LOST = (
    "noise exceeds signal: users had to be shortened until more than half of the counts was left "
    "out. Spend more, or count by fewer and larger groups"
)


@dataclass(frozen=True, slots=True)
class Rows:
    """Positions of groups, their counts, and the noise of these."""

    positions: Positions
    counts: Floats
    sds: Floats

    def take(self, some: Positions) -> Rows:
        """Some of the rows."""
        return Rows(self.positions[some], self.counts[some], self.sds[some])


NO_ROWS = Rows(np.zeros(0, np.intp), np.zeros(0), np.zeros(0))


@dataclass(frozen=True, slots=True)
class Found:
    """Groups that were discovered: their noisy weights, the sds of these, and guesses of counts."""

    positions: Positions
    weights: Floats
    sds: Floats
    guess: Floats

    @property
    def by_guess(self) -> Positions:
        """Largest first."""
        return np.argsort(-self.guess, kind="stable")

    def take(self, some: Positions) -> Found:
        """Some of them."""
        return Found(self.positions[some], self.weights[some], self.sds[some], self.guess[some])

    def and_more(self, more: Found) -> Found:
        """With those of a second discovery, whose users' other groups were left out of weights."""
        unread = np.full(len(more.guess), UNREADABLE)
        return Found(
            np.concatenate([self.positions, len(self.positions) + more.positions]),
            np.concatenate([self.weights, more.weights]),
            np.concatenate([self.sds, unread]),
            np.concatenate([self.guess, more.guess]),
        )


@dataclass(frozen=True, slots=True)
class Counted:
    """What may be published: positions of groups, their counts, and why this method."""

    method: str
    positions: Positions
    counts: Floats
    sds: Floats
    expected_within: float
    why: str
    withheld: Rows = NO_ROWS
    """Rows that were measured too, and cannot keep the promise."""
    lost: Lost | None = None
    """What shortening users took, where it was measured."""

    @property
    def reached(self) -> float:
        """The relative error within which nine in ten of the rows are expected."""
        return reading.reached(self.counts, self.sds)


@dataclass(frozen=True, slots=True)
class Run:
    """One release on its way: what may still be spent, and where the noise comes from."""

    plan: EqualErrorPlan
    pairs: PairQueries
    budget: Filter
    chance: Chance
    progress: Callable[[str], None]

    def noisy(self, query: Query[Integers], rho: Fraction) -> tuple[Integers, float]:
        """[EE1] charge a Gaussian for this question, ask, add the noise that was charged."""
        gaussian = Gaussian.calibrate(query.sensitivity, Zcdp(rho))
        self.budget.charge(cost(gaussian.event))
        return gaussian.draw(query, self.chance), gaussian.sd

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
            return Crowd.of(*self.noisy(self.pairs.users_per_cell(), rho))
        crowd = Crowd.of(*self.noisy(self.pairs.users_per_cell(), rho / 2))
        rows = Crowd.of(*self.noisy(self.pairs.users_per_rows_cell(), rho / 2))
        return crowd.with_rows(rows)

    def discovered(
        self, pairs: PairQueries, rho: Fraction, part: Fraction = Fraction(1)
    ) -> tuple[Positions, Floats, float]:
        """Groups by falling noisy weight, those weights, and the noise of each."""
        threshold = self.plan.threshold(rho, part)
        self.budget.charge(cost(threshold.event))
        noisy_totals = pairs.discover(
            self.plan.bounds, lambda totals: threshold.draw(totals, self.chance)
        )
        order = np.argsort(-noisy_totals, kind="stable")
        scale = threshold.bounds.scale
        return order, noisy_totals[order] / scale, threshold.sd / scale

    def single(self, rho: Fraction, crowd: Crowd) -> Counted:
        """Nearly everyone is in one group: the weights are the counts."""
        self.progress(FINDING)
        order, noisy_weights, sd = self.discovered(self.pairs, rho)
        loss = crowd.single_loss
        counts = noisy_weights * (1 + loss)
        sds = np.hypot(sd * (1 + loss), tuning.SINGLE_ROW_TO_ROW * loss * counts)
        why = f"users are in few groups: one pass leaves out about {loss:.1%} of the count"
        return self.printed("single", Rows(order, counts, sds), why, reading.rows_to_print)

    def peel(self, rho: Fraction) -> Counted:
        """Few users: measure the largest groups one by one."""
        limit = Zcdp(rho, self.plan.limit.delta)
        self.progress(FINDING)
        mechanism = PrivateCountRelease.calibrate(limit, self.plan.within, self.plan.top)
        self.budget.charge(limit)
        rows = mechanism.draw(self.pairs.largest(mechanism.max_rows + 1), self.chance)
        counts = np.array([row.estimate for row in rows], np.float64)
        sds = np.array([row.sd for row in rows], np.float64)
        positions = np.array([row.position for row in rows], np.intp)
        expected = reading.expected_within(counts, sds, self.plan.within)
        why = "there are few users for this budget: the largest groups are measured one by one"
        return Counted("peel", positions, counts, sds, expected, why)

    def equal(self, shares: Shares, crowd: Crowd) -> Counted:
        """Discover, rank, choose how many rows the budget carries, measure those, correct."""
        why = "users are in many groups: as many rows are measured as the budget carries"
        self.progress(FINDING)
        first = 1 - tuning.AGAIN_DELTA
        found, known = self.found(self.pairs, shares.discover, first, shares, crowd)
        if known is None:
            return self.nothing(why)
        if self.plan.top is not None and self.plan.top < len(found.guess):
            # What is not wanted takes no part: the budget goes to the rest.
            found = found.take(found.by_guess[: self.plan.top])
            known = self.pairs.known(found.positions)
        self.progress(CHOOSING)
        n_rows, tau = self.picked(known, found, shares)
        spare = self.plan.spare(shares, n_rows, len(found.guess), tau)
        if spare > 0:
            # Everything is kept, better than was asked for: what is left over looks for more.
            others = self.pairs.others()
            more, _ = self.found(others, spare, tuning.AGAIN_DELTA, shares, crowd)
            self.pairs.take_in(others)
            found, shares = found.and_more(more), shares.less(spare + shares.choices)
            known = self.pairs.known(found.positions)
            n_rows, tau = self.picked(known, found, shares)
        index = found.by_guess[:n_rows].astype(np.int64)
        chosen = Chosen(index, found.guess[index], found.weights[index], found.sds[index], tau)
        measuring = Measuring(self.plan, shares, known, self.noisy, self.progress)
        measured = measuring.measured(chosen)
        if measured.lost.mean > tuning.MOST_LOST:
            return self.nothing(TOO_MUCH_LOST)
        rows = Rows(found.positions[index], measured.counts, measured.sds)
        return self.printed("equal", rows, why, reading.rows_or_second_best, measured.lost)

    def found(
        self, pairs: PairQueries, rho: Fraction, part: Fraction, shares: Shares, crowd: Crowd
    ) -> tuple[Found, KnownQueries | None]:
        """Groups that stand out, how many users each may have, and queries about them, if any."""
        order, weights, sd = self.discovered(pairs, rho, part)
        if not len(order):
            return Found(order, weights, np.zeros(0), np.zeros(0)), None
        known = pairs.known(order)
        guess = weights * self.factors(known, weights, shares.scale, crowd)
        return Found(order, weights, np.full(len(order), sd), guess), known

    def factors(
        self, known: KnownQueries, noisy_weights: Floats, rho: Fraction, crowd: Crowd
    ) -> Floats:
        """From weights to counts: users per unit of weight, by class of rank."""
        classes = reading.classes_of(len(noisy_weights), 150, 4)
        n_each = np.bincount(classes)
        norm = 0.06 * crowd.first_factor * math.sqrt(2 * rho * int(n_each.min()))
        unit = CLASS_NORM / norm
        values = unit / (noisy_weights * np.sqrt(n_each)[classes])
        integers = np.clip(np.rint(values), 1, CLASS_NORM).astype(np.int64)
        totals, _ = self.noisy(known.class_totals(integers, classes, CLASS_NORM), rho)
        factors: Floats = np.maximum(totals / unit / np.sqrt(n_each), 1.0)[classes]
        return factors

    def picked(self, known: KnownQueries, found: Found, shares: Shares) -> tuple[int, float]:
        """How many rows, and how much noise on each, so that clipping takes little of them.

        Losses are capped per user: low, which tells sizes finely apart, and high, which sees how
        much a few heavy users really lose. The high one says how far the fine choice may go.
        """
        candidates = Candidates.of(
            found.guess,
            found.by_guess,
            self.plan.within,
            shares.measure,
            self.plan.tuning,
            self.plan.max_value,
        )
        guard = SizeChoice.calibrate(Zcdp(shares.guard), tuning.GUARD_PRIOR)
        choice = SizeChoice.calibrate(Zcdp(shares.pick), tuning.PRIOR)
        self.budget.charge(cost(guard.event))
        self.budget.charge(cost(choice.event))
        lost, far = known.clipped_share(
            weights=candidates.weights,
            values=candidates.values,
            first_level=candidates.first_level,
            clips=candidates.clips,
            caps=candidates.caps,
            unit_bits=UNIT_BITS,
        )
        allowed, allowed_far = candidates.allowed(1 << UNIT_BITS)
        some = candidates.guarded
        last = some[guard.draw(far, allowed_far, self.chance, among=some)] + 1
        chosen = choice.draw(lost, allowed, self.chance, among=np.arange(last))
        return int(candidates.n_rows[chosen]), candidates.tau_of(chosen)

    def nothing(self, why: str) -> Counted:
        """No row, and the reason."""
        return Counted("equal", NO_ROWS.positions, NO_ROWS.counts, NO_ROWS.sds, 1.0, why)

    def printed(
        self,
        method: str,
        measured: Rows,
        why: str,
        that_keep: Callable[[Floats, Floats, float], Positions],
        lost: Lost | None = None,
    ) -> Counted:
        """All rows, or those that keep the target, and what share of them to expect within it."""
        within, rows = self.plan.within, np.arange(len(measured.counts))
        if self.plan.withholds:
            rows = that_keep(measured.counts, measured.sds, within)
        withheld = measured.take(np.setdiff1d(np.arange(len(measured.counts)), rows))
        if self.plan.top is not None:
            rows = rows[np.argsort(-measured.counts[rows], kind="stable")][: self.plan.top]
        shown = measured.take(rows)
        expected = reading.expected_within(shown.counts, shown.sds, within)
        return Counted(
            method, shown.positions, shown.counts, shown.sds, expected, why, withheld, lost
        )
