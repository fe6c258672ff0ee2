"""``count_events`` with ``debias=True``: a public bound on rows, undone where users are alike."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.contributions.clip import Limits, clip_rows
from headcount.contributions.events import users_of
from headcount.contributions.tally import Tally
from headcount.errors import UsageError
from headcount.mechanisms.gaussian import Gaussian
from headcount.postprocess.debias import MAX_BOUND, largest_mean, slope, unbounded_mean
from headcount.privacy.event import Composed
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.releases.expected import EVENTS, OFF, Case, limited
from headcount.releases.facts import affordable_plan
from headcount.releases.request import spell_groups
from headcount.releases.rows import draw_known, largest_rows, with_error_bars
from headcount.releases.session import Answer, Session
from headcount.results.facts import CONFIDENCE, NOISE_ONLY

if TYPE_CHECKING:
    from headcount.contributions.groups import Grouped
    from headcount.contributions.listed import Groups
    from headcount.ledger.account import Account
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

STAGES = ("counting users", "counting")
USERS = Fraction(3, 100)
BEFORE = "the error is that of the noise; undoing the bound makes it larger, and leaves some out"
METHOD = "noise on every known group, rows of a user in a group bounded, and the bound undone"
ALIKE = (
    "The bound is undone as if every user's rows in a group were Poisson of one mean. Where few "
    "users have most of the rows counts stay too low, and low to high does not cover it"
)


def plan_debiased(
    dataset: Opened,
    by: Any,
    groups: Groups,
    grouped: Grouped,
    limit: Zcdp,
    *,
    top: int | None,
    bound: float | None,
    method: str,
) -> Plan:
    """Plan counts whose bound on rows is undone after the noise."""
    limits = Limits(_checked(bound, method), grouped.n_listed)
    # Builds an expression; nothing runs, and a list needs no key.
    contributions = clip_rows(dataset.table, by, limits, key=bytes(32), groups=groups)
    account = dataset.account
    tally = Tally(contributions, account.neighbours)
    one = Sensitivity.of_sum(1, account.neighbours)
    users = Gaussian.calibrate(one, Zcdp(USERS * limit.rho))
    noise = Gaussian.calibrate(tally.sensitivity, Zcdp(limit.rho - USERS * limit.rho))
    count = _Debiased(
        dataset,
        account,
        tally,
        limits.max_rows,
        top,
        users,
        noise,
    )
    return affordable_plan(
        dataset,
        account,
        count.event,
        count.read_and_draw,
        verb="count_events",
        by=by,
        groups=groups,
        arguments=(
            ("groups", spell_groups(groups)),
            ("bound", limits.max_rows),
            ("debias", True),
            ("top", top),
        ),
        title="count events",
        method=METHOD,
        stages=STAGES,
        details=count.details(),
        neighbours=account.neighbours,
        expects=count.expects,
    )


def _checked(bound: float | None, method: str) -> int:
    if bound is None or bound != int(bound) or not 1 <= bound <= MAX_BOUND:
        raise UsageError(
            "debias=True needs bound=, for how many rows one user counts in one group: a whole "
            f"number from 1 to {MAX_BOUND}. Nothing was charged."
        )
    if method not in ("auto", "gaussian"):
        raise UsageError("debias=True has Gaussian noise; leave method= out. Nothing was charged.")
    return int(bound)


@dataclass(frozen=True, slots=True)
class _Debiased:
    dataset: Opened
    account: Account
    true_tally: Tally
    bound: int
    top: int | None
    users: Gaussian
    noise: Gaussian

    @property
    def event(self) -> Composed:
        return Composed((self.users.event, self.noise.event))

    @property
    def bounds(self) -> str:
        most = largest_mean(self.bound)
        return (
            f"a user counts for up to {self.bound:,} events in each group; undone up to a mean of "
            f"{most:.3g} events a user"
        )

    @property
    def noise_words(self) -> str:
        return f"discrete Gaussian, sd {self.noise.sd:.3g} events before the bound is undone"

    def expects(self) -> tuple[Case, ...]:
        """The noise before the bound is undone, which makes it larger."""
        case = Case(self.noise.error_bound(OFF), EVENTS, self.true_tally.n_listed, notes=(BEFORE,))
        return (limited(case, self.top),)

    def details(self) -> tuple[tuple[str, str], ...]:
        kept = "all released" if self.top is None else f"the {self.top:,} largest released"
        return (
            ("groups", f"{self.true_tally.n_listed:,} known groups, {kept}"),
            ("bound", self.bounds),
            ("noise", self.noise_words),
            ("users", f"counted with {float(USERS):.0%} of the budget"),
            ("assumed", ALIKE),
            ("rules", " ".join(self.true_tally.contributions.rules)),
        )

    def read_and_draw(self, session: Session) -> Answer:
        session.progress(STAGES[0])
        users = users_of(self.dataset.table, self.account.neighbours)
        n_users = max(1.0, float(self.users.draw(users, session.chance)[0]))
        session.progress(STAGES[1])
        groups, noisy_integers = draw_known(self.true_tally, self.noise, session.chance)
        noisy_totals = noisy_integers.astype(np.float64)
        half_width = self.noise.error_bound(CONFIDENCE)
        counts, low, high = (
            n_users * unbounded_mean((noisy_totals + shift) / n_users, self.bound)
            for shift in (0.0, -half_width, half_width)
        )
        sds = self.noise.sd / slope(counts / n_users, self.bound)
        rows = with_error_bars(groups, counts, 1, sds, np.maximum(high - counts, counts - low))
        return Answer(
            largest_rows(rows, self.top),
            method=METHOD,
            bounds=self.bounds,
            noise=self.noise_words,
            notes=(ALIKE + ".", *self.true_tally.contributions.rules),
            bars=NOISE_ONLY,
        )
