"""The stages of one equal-error release: each is charged, then asked, then drawn.

What is claimed of them together, and the proof, are in ``proof.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.compose import cost
from headcount.mechanisms.equal_error import reading, tuning
from headcount.mechanisms.equal_error.candidates import Candidates
from headcount.mechanisms.equal_error.heaps import heaps
from headcount.mechanisms.equal_error.measuring import FIRST, LEFT_OUT, SECOND, Chosen, Measuring
from headcount.mechanisms.equal_error.reading import Crowd, Shares
from headcount.mechanisms.equal_error.scale import factors
from headcount.mechanisms.equal_error.steps import (
    PROFILING,
    TOO_MUCH_LOST,
    UNREADABLE,
    Counted,
    Rows,
    Steps,
)
from headcount.mechanisms.private_count_release import PrivateCountRelease
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.mechanisms.equal_error.queries import KnownQueries, PairQueries

    Floats = NDArray[np.float64]
    Positions = NDArray[np.intp]

FINDING = "finding groups"
CHOOSING = "choosing how many groups the budget carries"
FOUND_FROM = (
    "Of people who are in very many groups each, groups of fewer than about {users:,} users may be "
    "missing"
)
STAGES = (PROFILING, FINDING, CHOOSING, FIRST, SECOND, LEFT_OUT)
"""All that a draw may say, whichever branch it takes."""


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
class Run(Steps):
    """One release of groups that are found."""

    pairs: PairQueries

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
        first = tuning.FIRST_DELTA
        shares = shares.less(self.plan.tuning.heaps * self.plan.limit.rho)
        found, known = self.found(self.pairs, shares.discover, first, shares, crowd)
        large, spent = self.overlooked(crowd)
        looks = self.plan.overlooked(crowd)
        if looks is not None:
            why += f". {FOUND_FROM.format(users=looks.least)}"
        shares = shares.less(spent)
        if len(large.guess):
            found = found.and_more(large)
            known = self.pairs.known(found.positions)
        if known is None:
            return self.nothing(why)
        most = self.plan.most_measured
        if most is not None and most < len(found.guess):
            # What is not wanted takes no part: the budget goes to the rest.
            largest = found.by_guess[:most]
            found, known = found.take(largest), known.only(largest)
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
        if n_rows < tuning.FEW:
            shares = shares.asking_more(self.plan.tuning.few_bias * self.plan.limit.rho)
        measuring = Measuring(self.plan, shares, known, self.noisy, self.progress)
        measured = measuring.measured(chosen)
        if measured.lost.mean > tuning.MOST_LOST:
            return self.nothing(TOO_MUCH_LOST)
        rows = Rows(found.positions[index], measured.counts, measured.sds)
        counted = self.printed("equal", rows, why, reading.rows_or_second_best, measured.lost)
        return replace(counted, unmeasured=found.positions[found.by_guess[n_rows:]])

    def overlooked(self, crowd: Crowd) -> tuple[Found, Fraction]:
        """Large groups that were not discovered, and what it cost to find them, of measuring."""
        looks, rho = self.plan.overlooked(crowd), tuning.COUNTED * self.plan.limit.rho
        numbers: list[int] = []
        counts: list[float] = []
        spent = Fraction(0)
        if looks is not None:
            query = self.pairs.largest_others(tuning.OVERLOOKED_ROWS + 1)
            while len(numbers) < tuning.MOST_OVERLOOKED:
                self.budget.charge(looks.price)
                spent += looks.price.rho
                number = looks.look(query, numbers, self.chance)
                if number is None:
                    break
                count, _ = self.noisy(self.pairs.count_of_other(number), rho)
                spent += rho
                numbers.append(number)
                counts.append(max(float(count[0]), float(looks.least) / 2))
            if numbers:
                self.pairs.take_in_largest(numbers)
        users = np.array(counts)
        unread = np.full(len(users), UNREADABLE)
        guess = users * crowd.rows_per_pair
        return Found(np.arange(len(users)), users / crowd.first_factor, unread, guess), spent

    def found(
        self, pairs: PairQueries, rho: Fraction, part: Fraction, shares: Shares, crowd: Crowd
    ) -> tuple[Found, KnownQueries | None]:
        """Groups that stand out, how many users each may have, and queries about them, if any."""
        order, weights, sd = self.discovered(pairs, rho, part)
        if not len(order):
            return Found(order, weights, np.zeros(0), np.zeros(0)), None
        known = pairs.known(order)
        ranked = np.arange(len(order))
        guess = weights * factors(
            self.noisy, known, weights, ranked, shares.scale, crowd.first_factor
        )
        own = self.plan.tuning.heaps * self.plan.limit.rho
        if own:
            rows = heaps(self.noisy, known, len(order), self.plan.bounds, own)
            guess = np.where(rows > tuning.FAR_ABOVE * guess, rows, guess)
        return Found(order, weights, np.full(len(order), sd), guess), known

    def picked(self, known: KnownQueries, found: Found, shares: Shares) -> tuple[int, float]:
        """How many rows, and how much noise on each, so that clipping takes little of them."""
        candidates = Candidates.of(
            found.guess,
            found.by_guess,
            self.plan.within,
            shares.measure,
            self.plan.tuning,
            self.plan.max_value,
        )
        chosen = self.chosen(known, candidates, shares)
        return int(candidates.n_rows[chosen]), candidates.tau_of(chosen)
