"""The stages of learning a distribution: each is charged, then asked, then drawn.

What is claimed of them together, and the proof, are in ``proof.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.compose import cost
from headcount.accounting.filter import Filter
from headcount.mechanisms.binomial_selection.mechanism import BinomialSelection
from headcount.mechanisms.distribution import reading
from headcount.mechanisms.distribution.reading import Estimate
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.laplace import Laplace
from headcount.mechanisms.radius import Radius
from headcount.mechanisms.size_choice import UNIT_BITS, SizeChoice
from headcount.postprocess.simplex import onto_simplex
from headcount.privacy.lattice import KEPT_BITS, SHARE_BITS, WEIGHT_BITS, length_edges
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.mechanisms.distribution.plan import DistributionPlan
    from headcount.mechanisms.distribution.queries import ResidualQueries, ShareQueries
    from headcount.privacy.query import Query

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]

ONE = 1 << SHARE_BITS
UNIT = 1 << SHARE_BITS + KEPT_BITS
MOST_SAMPLES = 1 << 12  # of one user, that selection among binomials looks at


@dataclass(frozen=True, slots=True)
class Learned:
    """What may be published: shares of all groups, the noise on each, and how it came about."""

    shares: Floats
    sds: Floats
    why: str


@dataclass(frozen=True, slots=True)
class Run:
    """One release on its way: what may still be spent, and where the noise comes from."""

    plan: DistributionPlan
    data: ShareQueries
    budget: Filter
    chance: Chance

    def learned(self, rho: Fraction) -> Learned:
        """The shares of all groups, by the method that was asked for."""
        if self.plan.users is None:
            noisy_users, _ = self.noisy(self.data.n_users(), rho * reading.USERS)
            n_users, rho = max(float(noisy_users[0]), 1.0), rho * (1 - reading.USERS)
        else:
            n_users = float(self.plan.users)
        match self.plan.method:
            case "auto":
                return self.auto(n_users, rho)
            case "clip":
                part = rho * reading.radius_share(n_users, rho)
                estimate, _ = self.clipped(n_users, part, rho - part)
                why = "users are clipped around zero to the length of a typical user"
            case "coarse-fine":
                estimate = self.coarse_fine(n_users, rho)
                why = "a coarse centre first, then what users differ from it by"
            case "gaussian":
                estimate = self.whole(n_users, rho)
                why = "one sum with Gaussian noise; samples per user do not help"
            case "laplace":
                estimate = self.laplace(n_users, rho)
                why = "one sum with Laplace noise; samples per user do not help"
            case _:
                estimate, why = self.selected(n_users, rho)
        return Learned(onto_simplex(estimate.shares), estimate.sds, why)

    def noisy(self, query: Query[Integers], rho: Fraction) -> tuple[Integers, float]:
        """[DL1] charge a Gaussian for this question, ask, add the noise that was charged."""
        gaussian = Gaussian.calibrate(query.sensitivity, Zcdp(rho))
        self.budget.charge(cost(gaussian.event))
        return gaussian.draw(query, self.chance), gaussian.sd

    def median(self, users: Query[Integers], rho: Fraction) -> int:
        """[DL2] charge a choice, ask, choose."""
        radius = Radius.calibrate(Zcdp(rho), self.plan.neighbours)
        self.budget.charge(cost(radius.event))
        return radius.draw(users, self.chance)

    def summed(
        self, residuals: ResidualQueries, norm_squared: int, rho: Fraction
    ) -> tuple[Floats, float]:
        """The clipped sum with its noise, in units of users."""
        totals, sd = self.noisy(residuals.clipped(norm_squared), rho)
        return totals / UNIT, sd / UNIT

    def length(self, residuals: ResidualQueries, rho: Fraction, wider: float = 1.0) -> int:
        """A squared length that about half of the users are within, times a public factor."""
        edge = length_edges()[self.median(residuals.users_by_length(), rho)]
        return min(math.ceil(edge * wider**2), ONE**2 << 1)

    def best_length(
        self, residuals: ResidualQueries, rho: Fraction, noise: float, n_users: float
    ) -> int:
        """[DL3] from the median up, the shortest squared length that not too many are beyond.

        noise:  the l1 norm of the noise, in users, for a length of one
        """
        choice = SizeChoice.calibrate(Zcdp(rho / 2), reading.RADIUS_PRIOR)
        if not reading.can_see(n_users, choice.epsilon):
            return self.length(residuals, rho, reading.WIDER)
        median = self.median(residuals.users_by_length(), rho / 2)
        self.budget.charge(cost(choice.event))
        upwards = np.array(length_edges()[median : median + reading.LONGEST], np.int64)
        edges = upwards[::-1]
        allowed = reading.users_to_clip(edges / ONE**2, noise, n_users, choice.epsilon)
        longer = residuals.users_beyond(median, len(edges), UNIT_BITS)
        chosen = choice.draw(longer, allowed << UNIT_BITS, self.chance)
        return min(int(edges[chosen]), ONE**2 << 1)

    def clipped(self, n_users: float, radius_rho: Fraction, rho: Fraction) -> tuple[Estimate, int]:
        """Users clipped around zero; a sum of shares tells how many whole users are left."""
        residuals = self.data.around(None, None)
        if self.plan.method == "clip":
            norm_squared = self.length(residuals, radius_rho)
        else:
            noise = reading.noise_per_length(rho) * self.data.n_groups
            norm_squared = self.best_length(residuals, radius_rho, noise, n_users)
        return self.shares_within(residuals, norm_squared, rho, n_users), norm_squared

    def shares_within(
        self, residuals: ResidualQueries, norm_squared: int, rho: Fraction, n_users: float
    ) -> Estimate:
        """Shares from a sum without a centre."""
        sums, sd = self.summed(residuals, norm_squared, rho)
        return reading.from_shares(sums, sd, n_users)

    def auto(self, n_users: float, rho: Fraction) -> Learned:
        """Clip around zero, then around what that gave, unless that would not help."""
        part = rho * reading.radius_share(n_users, rho)
        first_rho = (rho - 2 * part) * reading.FIRST_ROUND
        first, norm_squared = self.clipped(n_users, part, first_rho)
        centre = reading.settled(first)
        length = norm_squared / ONE**2
        if not reading.centre_helps(centre, first.sds, length, self.plan.neighbours):
            residuals = self.data.around(None, None)
            second = self.shares_within(residuals, norm_squared, rho - part - first_rho, n_users)
            both = reading.combined(first, second)
            why = "plain clipping: a centre would be lost in the noise, or cost more than it saves"
            return Learned(reading.settled(both), both.sds, why)
        centred = Estimate(centre, first.sds)
        second = self.around(centred, n_users, part, rho - 2 * part - first_rho)
        both = reading.combined(first, second)
        why = "coarse then fine: users are clipped around a centre learned with a fifth of the cost"
        return Learned(reading.settled(both), both.sds, why)

    def around(
        self, centre: Estimate, n_users: float, radius_rho: Fraction, rho: Fraction
    ) -> Estimate:
        """What users differ from a centre by, small groups weighing more."""
        weights = reading.weights_for(centre.shares)
        integers = reading.weighted_centre(centre.shares, weights)
        residuals = self.data.around(integers, weights)
        scale = weights / (1 << WEIGHT_BITS)
        noise = reading.noise_per_length(rho) * float((1 / scale).sum())
        norm_squared = self.best_length(residuals, radius_rho, noise, n_users)
        whole = 1 << KEPT_BITS
        kept, kept_sd = self.noisy(residuals.kept(norm_squared), rho * reading.KEPT)
        sums, sd = self.summed(residuals, norm_squared, rho * (1 - reading.KEPT))
        exact = Estimate(integers / ONE / scale, centre.sds)
        n_kept = (float(kept[0]) / whole, kept_sd / whole)
        return reading.from_residuals(exact, sums / scale, sd / scale, n_kept, n_users)

    def coarse_fine(self, n_users: float, rho: Fraction) -> Estimate:
        """The method in its plain form: no clip on the centre, no weights, no shrinking."""
        coarse = self.whole(n_users, rho * reading.COARSE)
        centre = reading.weighted_centre(onto_simplex(coarse.shares), None)
        residuals = self.data.around(centre, None)
        norm_squared = self.length(residuals, rho * reading.COARSE_RADIUS, reading.COARSE_WIDER)
        rest = rho * (1 - reading.COARSE - reading.COARSE_RADIUS)
        sums, sd = self.summed(residuals, norm_squared, rest)
        return Estimate(centre / ONE + sums / n_users, np.full(len(sums), sd / n_users))

    def whole(self, n_users: float, rho: Fraction) -> Estimate:
        """The sum of all shares: no user is longer than one."""
        residuals = self.data.around(None, None)
        sums, sd = self.summed(residuals, ONE**2, rho)
        return Estimate(sums / n_users, np.full(len(sums), sd / n_users))

    def laplace(self, n_users: float, rho: Fraction) -> Estimate:
        """[DL4] the l1 norm of a user's floored shares is at most one, of two users two."""
        query = self.data.floored_totals()
        noise = Laplace.calibrate(query.sensitivity, Zcdp(rho))
        self.budget.charge(cost(noise.event))
        totals = noise.draw(query, self.chance)
        sd = noise.sd / ONE / n_users
        return Estimate(totals / ONE / n_users, np.full(len(totals), sd))

    def selected(self, n_users: float, rho: Fraction) -> tuple[Estimate, str]:
        """The paper's algorithms, with what a selection really costs."""
        samples = self.plan.samples
        if samples is None:
            edges = np.unique(np.geomspace(1, MOST_SAMPLES, 97).astype(np.int64))
            at = self.median(self.data.users_by_samples(edges), rho * reading.USERS)
            samples, rho = int(edges[at]), rho * (1 - reading.USERS)
        samples = max(1, min(samples, MOST_SAMPLES, (1 << 25) // self.data.n_groups))
        chosen = BinomialSelection.calibrate(
            Zcdp(rho),
            self.plan.method,
            n_groups=self.data.n_groups,
            samples=samples,
            n_users=round(n_users),
            neighbours=self.plan.neighbours,
        )
        self.budget.charge(cost(chosen.event))
        shares, sds = chosen.draw(self.data.counts_by_group(samples), self.chance)
        why = f"hypothesis selection among binomials of {samples:,} samples a user, group by group"
        return Estimate(shares, sds), why
