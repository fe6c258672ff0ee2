"""What all equal-error releases have in common: noise, one choice, and what is printed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.compose import cost
from headcount.mechanisms.equal_error import reading, tuning
from headcount.mechanisms.equal_error.heavy import Heavy, edges_up_to, stepped_back
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.size_choice import UNIT_BITS, SizeChoice
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    from collections.abc import Callable
    from fractions import Fraction

    from numpy.typing import NDArray

    from headcount.accounting.filter import Filter
    from headcount.mechanisms.chance import Chance
    from headcount.mechanisms.equal_error.candidates import Candidates
    from headcount.mechanisms.equal_error.measuring import Lost
    from headcount.mechanisms.equal_error.plan import EqualErrorPlan
    from headcount.mechanisms.equal_error.queries import KnownQueries
    from headcount.mechanisms.equal_error.reading import Shares
    from headcount.privacy.query import Query

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Positions = NDArray[np.intp]

PROFILING = "profiling users"
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
    unmeasured: Positions = field(default_factory=lambda: NO_ROWS.positions)
    """Groups that were found and not measured, largest guess first."""

    @property
    def reached(self) -> float:
        """The relative error within which nine in ten of the rows are expected."""
        return reading.reached(self.counts, self.sds)


@dataclass(frozen=True, slots=True)
class Steps:
    """One release on its way: what may still be spent, and where the noise comes from."""

    plan: EqualErrorPlan
    budget: Filter
    chance: Chance
    progress: Callable[[str], None]

    def noisy(self, query: Query[Integers], rho: Fraction) -> tuple[Integers, float]:
        """[EE1] charge a Gaussian for this question, ask, add the noise that was charged."""
        gaussian = Gaussian.calibrate(query.sensitivity, Zcdp(rho))
        self.budget.charge(cost(gaussian.event))
        return gaussian.draw(query, self.chance), gaussian.sd

    def chosen(self, known: KnownQueries, candidates: Candidates, shares: Shares) -> int:
        """The number of a candidate.

        Losses are capped per user: low, which tells sizes finely apart, and high, which sees how
        much a few heavy users really lose. The high one says how far the fine choice may go.
        """
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
        picked = choice.draw(lost, allowed, self.chance, among=np.arange(last))
        every = candidates.user_of_all(picked)
        losing = known.users_by_loss(
            candidates.groups_of(picked),
            weights=candidates.weights,
            values=candidates.values,
            clip=candidates.clips[picked],
            cap=int(candidates.caps[1, picked]),
            edges=edges_up_to(self.plan.max_value * every.total / every.cap),
        )
        return stepped_back(candidates, picked, Heavy.of(*self.noisy(losing, shares.heavy)))

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
