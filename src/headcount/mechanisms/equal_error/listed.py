"""Counts of listed groups, all of them, with no bound to choose and nothing to find.

**Contract**

========== ==================================================================================
input      answers of ``ListedQueries``: sums over users of bounded contributions
output     every group of a public list with a count and its standard deviation
noise      discrete Gaussian on every sum; exact exponential-mechanism selection of the noise
guarantee  ``limit.rho``-zCDP, every choice included; delta 0
neighbours add or remove one user, who may be in any number of groups
========== ==================================================================================

Stages: profile, weigh, scale, guard, pick, heavy users, two rounds of measuring, bias, and who
hides some of it. Groups that do not stand out from the noise on their weights are taken for one
size, and measured with the others.

The proof is in ``proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.compose import cost
from headcount.accounting.convert import too_little
from headcount.errors import UsageError
from headcount.mechanisms.centred_gaussian import CentredGaussian
from headcount.mechanisms.equal_error import reading, tuning
from headcount.mechanisms.equal_error.candidates import Candidates
from headcount.mechanisms.equal_error.measuring import (
    FIRST,
    LEFT_OUT,
    SECOND,
    Chosen,
    Measuring,
)
from headcount.mechanisms.equal_error.plan import DISCOVERY, EqualErrorPlan
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
from headcount.mechanisms.gaussian import Gaussian
from headcount.privacy.event import Filtered
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.mechanisms.equal_error.queries import KnownQueries, ListedQueries

    Floats = NDArray[np.float64]

WEIGHING = "guessing how large groups are"
CHOOSING = "choosing how much noise the groups need"
LISTED_STAGES = (PROFILING, WEIGHING, CHOOSING, FIRST, SECOND, LEFT_OUT)
"""All that a draw may say, whichever branch it takes."""
MIN_RHO = Fraction(1, 10**5)


@dataclass(frozen=True, slots=True)
class EqualErrorListed(EqualErrorPlan):
    """Counts of listed groups; build with ``calibrate``."""

    n_groups: int = 1

    @classmethod
    def calibrate(
        cls,
        spend: Zcdp,
        n_groups: int,
        within: float,
        method: str = "auto",
        *,
        top: int | None = None,
        withholds: bool = False,
    ) -> EqualErrorListed:
        """Spend all of the rho of ``spend`` on counts of so many groups, and no delta."""
        if spend.rho < MIN_RHO:
            little = too_little("A count without a bound needs", MIN_RHO)
            raise UsageError(f"{little} Or give a bound.")
        limit = Zcdp(spend.rho)
        return cls(limit, within, method, top, withholds=withholds, n_groups=n_groups)

    @property
    def shares(self) -> Shares:
        """What each stage may cost; to weigh groups costs less than to find them."""
        return Shares.of(self.limit, discover=tuning.WEIGH)

    @property
    def tuning(self) -> tuning.Tuning:
        """The constants for lists."""
        return tuning.LISTED

    @property
    def event(self) -> Filtered:
        """What the ledger records: the whole request, whichever branch is taken."""
        return Filtered(self.limit.rho, Fraction(0))

    @property
    def centred(self) -> CentredGaussian:
        """Noise around half of the users, with all that is left after the profile."""
        return CentredGaussian.calibrate(self.n_groups, Zcdp(self.shares.after_profile))

    @property
    def single_sd(self) -> float:
        """The noise of one pass, where users are in one group each."""
        weigh = Gaussian.calibrate(DISCOVERY.sensitivity(), Zcdp(self.shares.after_profile))
        return weigh.sd / DISCOVERY.scale

    @property
    def least_weight(self) -> float:
        """The least weight of a group that stands out."""
        weigh = Gaussian.calibrate(DISCOVERY.sensitivity(), Zcdp(self.shares.discover))
        return tuning.STANDS_OUT * weigh.sd / DISCOVERY.scale

    def branch(self, crowd: Crowd) -> str:
        """The method that suits these users; a function of published numbers."""
        if self.method != "auto":
            return self.method
        if crowd.weight_of_all < tuning.PEEL_RATIO * self.least_weight:
            return "centred"
        if crowd.single_loss <= tuning.SINGLE_LOSS:
            return "single"
        return "centred" if self.centred.sd <= self.clipped_sd(crowd) else "equal"

    def clipped_sd(self, crowd: Crowd) -> float:
        """The error of a count, about, below which nobody should be clipped."""
        errors = [
            math.hypot(
                math.sqrt(n / (2 * self.shares.measure)),
                tuning.UNEVEN * crowd.lost_to(n) / self.n_groups,
            )
            for n in np.geomspace(1, self.n_groups, 40).tolist()
        ]
        return tuning.CENTRED_FROM * min(errors)

    def draw(
        self,
        pairs: ListedQueries,
        chance: Chance,
        progress: Callable[[str], None] = lambda _stage: None,
    ) -> Counted:
        """Profile users, take the branch that suits them, and count."""
        return ListedRun(self, chance.filter(self.limit), chance, progress, self, pairs).counted()


@dataclass(frozen=True, slots=True)
class ListedRun(Steps):
    """One release of listed groups."""

    listed: EqualErrorListed
    pairs: ListedQueries

    def counted(self) -> Counted:
        """Profile users, take the branch that suits them, and count."""
        shares = self.plan.shares
        self.progress(PROFILING)
        crowd = Crowd.of(*self.noisy(self.pairs.users_per_cell(), shares.profile))
        branch = self.plan.branch(crowd)
        if branch == "centred":
            return self.centred()
        if branch == "single":
            return self.single(shares.after_profile, crowd)
        return self.equal(shares, crowd)

    def weighed(self, rho: Fraction) -> tuple[Floats, float]:
        """The noisy weight of every group, and the noise of each [EE4]."""
        self.progress(WEIGHING)
        noisy_totals, sd = self.noisy(self.pairs.weighed(DISCOVERY), rho)
        return noisy_totals / DISCOVERY.scale, sd / DISCOVERY.scale

    def centred(self) -> Counted:
        """Users are few, or in much of the list: noise around half of them leaves nothing out."""
        mechanism = self.listed.centred
        for event in mechanism.event.events:
            self.budget.charge(cost(event))
        noisy_twice, _ = mechanism.draw(self.pairs.differences, self.pairs.users, self.chance)
        why = "users are few, or in so many of the groups that to shorten them would cost more"
        counts = noisy_twice / 2
        return self.every_row("centred", counts, np.full(len(counts), mechanism.sd), why)

    def single(self, rho: Fraction, crowd: Crowd) -> Counted:
        """Nearly everyone is in one group: the weights are the counts."""
        noisy_weights, sd = self.weighed(rho)
        loss = crowd.single_loss
        counts = noisy_weights * (1 + loss)
        sds = np.hypot(sd * (1 + loss), tuning.SINGLE_ROW_TO_ROW * loss * counts)
        why = f"users are in few groups: one pass leaves out about {loss:.1%} of the count"
        return self.every_row("single", counts, sds, why)

    def equal(self, shares: Shares, crowd: Crowd) -> Counted:
        """Weigh, guess sizes, choose how much noise clipping allows, measure all, correct."""
        noisy_weights, sd = self.weighed(shares.discover)
        known = self.pairs.known()
        guess, least = self.guessed(known, noisy_weights, shares.scale, crowd)
        self.progress(CHOOSING)
        candidates = Candidates.of_all(guess, shares.measure, self.plan.tuning)
        tau = candidates.tau_of(self.chosen(known, candidates, shares))
        stands_out = noisy_weights > self.listed.least_weight
        chosen = Chosen(
            np.arange(len(guess)),
            guess,
            np.maximum(noisy_weights, sd),
            np.where(stands_out, sd, UNREADABLE),
            tau,
            least,
        )
        measuring = Measuring(self.plan, shares, known, self.noisy, self.progress)
        measured = measuring.measured(chosen)
        why = "all groups are measured, with as much noise as their users allow"
        if measured.lost.mean > tuning.MOST_LOST:
            return self.nothing(TOO_MUCH_LOST)
        rows = Rows(np.arange(len(guess)), measured.counts, measured.sds)
        return self.printed("equal", rows, why, reading.rows_to_print, measured.lost)

    def guessed(
        self, known: KnownQueries, noisy_weights: Floats, rho: Fraction, crowd: Crowd
    ) -> tuple[Floats, float]:
        """How many users each group may have, and the least that is told apart."""
        order = np.argsort(-noisy_weights, kind="stable")
        n_out = int(np.count_nonzero(noisy_weights > self.listed.least_weight))
        scaled = factors(self.noisy, known, noisy_weights, order[:n_out], rho, crowd.first_factor)
        last = scaled[order[n_out - 1]] if n_out else max(1.0, crowd.first_factor)
        least = float(max(1.0, last * self.listed.least_weight))
        return np.maximum(noisy_weights * scaled, least), least

    def every_row(self, method: str, counts: Floats, sds: Floats, why: str) -> Counted:
        """All groups of the list, or those that keep the target."""
        rows = Rows(np.arange(len(counts)), counts, sds)
        return self.printed(method, rows, why, reading.rows_to_print)
