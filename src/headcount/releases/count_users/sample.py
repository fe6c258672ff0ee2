"""``count_users`` with ``method="sample"``: exact counts of a secret random sample of users."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.contributions.groups import Grouped
from headcount.contributions.sample import Coins, sampled_counts
from headcount.errors import UsageError
from headcount.mechanisms.sample_threshold import MOST_ANSWERS, SampleThreshold
from headcount.releases.expected import OF_COUNT, OFF_SDS, Case, limited
from headcount.releases.facts import affordable_plan
from headcount.releases.released_sizes import released_sizes, with_sizes
from headcount.releases.request import spell_groups
from headcount.releases.rows import largest_rows, sorted_rows
from headcount.releases.session import Answer, Session
from headcount.results.facts import CONFIDENCE

if TYPE_CHECKING:
    from headcount.contributions.listed import Groups
    from headcount.ledger.account import Account
    from headcount.privacy.spend import Zcdp
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

DEFAULT_BOUND = 4
SMALLEST = "the error is that of the smallest groups shown; larger ones are off by less"
METHOD = "exact counts of a secret random sample of users, from a threshold on"
BAR = (
    "low to high is for a group that was shown, and leaves out users that the bound took elsewhere"
)


def plan_sample(
    dataset: Opened,
    by: Any,
    groups: Groups | None,
    grouped: Grouped,
    bound: int | None,
    limit: Zcdp,
    top: int | None,
) -> Plan:
    """Plan a sample: the rate and threshold that show the smallest groups for the spend."""
    account = dataset.account
    if bound is not None and not 1 <= bound <= MOST_ANSWERS:
        raise UsageError(
            f"bound must be 1 to {MOST_ANSWERS:,} for method='sample', not {bound}. "
            "Nothing was charged."
        )
    answers = grouped.most_groups(DEFAULT_BOUND if bound is None else bound)
    mechanism = SampleThreshold.calibrate(limit, answers=answers, neighbours=account.neighbours)
    sample = _Sample(dataset, account, by, groups, grouped, mechanism, top)
    return affordable_plan(
        dataset,
        account,
        mechanism.event,
        sample.read_and_draw,
        verb="count_users",
        by=by,
        groups=groups,
        arguments=(
            ("method", "sample"),
            ("groups", spell_groups(groups)),
            ("bound", answers),
            ("top", top),
        ),
        title="count users",
        method=METHOD,
        details=sample.details(),
        neighbours=account.neighbours,
        expects=sample.expects,
    )


@dataclass(frozen=True, slots=True)
class _Sample:
    dataset: Opened
    account: Account
    by: Any
    groups: Groups | None
    grouped: Grouped
    mechanism: SampleThreshold
    top: int | None

    @property
    def bounds(self) -> str:
        n = self.mechanism.answers
        return f"a user counts in at most {n:,} group{'' if n == 1 else 's'}, chosen by secret hash"

    @property
    def noise(self) -> str:
        return (
            f"a secret coin for each user and group keeps {float(self.mechanism.rate):.4g} of "
            "them; counts are divided by that"
        )

    def expects(self) -> tuple[Case, ...]:
        """The chance of the sample, in the smallest groups that are mostly shown."""
        least, rate = self.mechanism.size_missed_with(0.5), float(self.mechanism.rate)
        error = OFF_SDS * math.sqrt((1 - rate) / (rate * least))
        case = Case(error, OF_COUNT, least=least, notes=(SMALLEST,))
        sizes = None if self.groups is not None else released_sizes(self.dataset, self.by)
        return (limited(with_sizes(case, sizes), self.top),)

    def details(self) -> tuple[tuple[str, str], ...]:
        sizes = [self.mechanism.size_missed_with(chance) for chance in (0.5, 0.05, 0.001)]
        missed = (
            f"a group of {sizes[0]:,} users is missed half the time, one of {sizes[1]:,} one time "
            f"in 20, one of {sizes[2]:,} one time in 1,000"
        )
        found = "found in the data" if self.groups is None else "those listed"
        least = self.mechanism.threshold
        if self.top is not None:
            found = f"the {self.top:,} largest, {found}"
        return (
            ("groups", f"{found}; one is shown from {least} sampled users on, and no other"),
            ("bound", self.bounds),
            ("sample", self.noise),
            ("missed", missed),
            ("error bar", BAR),
            ("rules", " ".join(self.grouped.rules)),
        )

    def read_and_draw(self, session: Session) -> Answer:
        mechanism = self.mechanism
        coins = Coins(mechanism.answers, mechanism.coin_limit, mechanism.threshold)
        sample = sampled_counts(
            self.dataset.table, self.by, coins, key=session.key, groups=self.groups
        )
        kept, counts = mechanism.keep(sample.query)
        low, high = mechanism.interval(counts, CONFIDENCE)
        rows = sorted_rows(
            sample.names(kept),
            count=np.rint(mechanism.estimate(counts)).astype(np.int64),
            low=low,
            high=high,
            sd=mechanism.sd(counts),
        )
        return Answer(
            largest_rows(rows, self.top),
            method=METHOD,
            bounds=self.bounds,
            noise=self.noise,
            notes=(BAR, *self.grouped.rules),
        )
