"""``count_users`` of groups that are listed, without a bound: noise around half of the users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headcount.contributions.listed_users import ListedUsers
from headcount.mechanisms.centred_gaussian import CentredGaussian
from headcount.releases.expected import OFF, Case, limited
from headcount.releases.facts import affordable_plan
from headcount.releases.request import spell_groups
from headcount.releases.rows import below_zero, largest_rows, with_error_bars
from headcount.releases.session import Answer, Session
from headcount.results.facts import CONFIDENCE

if TYPE_CHECKING:
    from headcount.contributions.groups import Grouped
    from headcount.contributions.listed import Groups
    from headcount.privacy.spend import Zcdp
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

MOST_GROUPS = 63
"""From here on a bound of 20 groups needs less noise, and leaves something out for it."""
METHOD = "noise on every known group, and on the number of users in any of them"
BOUNDS = "none: a user counts fully in every listed group"
WHOLE_BAR = "low to high covers the noise, and nothing is left out"


def plan_listed(
    dataset: Opened,
    by: Any,
    grouped: Grouped,
    groups: Sequence[Any],
    limit: Zcdp,
    top: int | None,
) -> Plan:
    """Plan counts of a few listed groups, in all of which a user counts; ``groups`` as given."""
    given = grouped.given or ()
    mechanism = CentredGaussian.calibrate(len(given), limit)
    count = _Listed(dataset, by, given, grouped.rules, mechanism, top)
    return affordable_plan(
        dataset,
        dataset.account,
        mechanism.event,
        count.read_and_draw,
        verb="count_users",
        by=by,
        groups=groups,
        arguments=(("groups", spell_groups(given)), ("method", "centred"), ("top", top)),
        title="count users",
        method=METHOD,
        details=count.details(),
        expects=count.expects,
    )


@dataclass(frozen=True, slots=True)
class _Listed:
    dataset: Opened
    by: Any
    groups: Groups
    rules: tuple[str, ...]
    mechanism: CentredGaussian
    top: int | None

    @property
    def noise(self) -> str:
        return (
            f"discrete Gaussian, sd {self.mechanism.sd:.3g} users: {CONFIDENCE:.0%} of counts move "
            f"by less than {self.mechanism.error_bound(CONFIDENCE):.3g}"
        )

    @property
    def shared(self) -> str:
        n = len(self.groups)
        return (
            f"A part of the noise is in all counts: the difference of two has an sd of "
            f"{self.mechanism.sd_of_difference:.3g} users, the sum of all {n:,} one of "
            f"{self.mechanism.sd_of_sum(n):.3g}"
        )

    def expects(self) -> tuple[Case, ...]:
        """The noise, which is public, on all groups."""
        case = Case(self.mechanism.error_bound(OFF), rows=len(self.groups))
        return (limited(case, self.top),)

    def details(self) -> tuple[tuple[str, str], ...]:
        groups = f"{len(self.groups):,} known groups, all released"
        if self.top is not None:
            groups += f"; of these the {self.top:,} largest by noisy count"
        return (
            ("groups", groups),
            ("bound", BOUNDS),
            ("noise", self.noise),
            ("error bar", WHOLE_BAR),
            ("together", self.shared),
            ("rules", " ".join(self.rules)),
        )

    def read_and_draw(self, session: Session) -> Answer:
        listed = ListedUsers(self.dataset.table, self.by, self.groups, session.store)
        twice, users = self.mechanism.draw(listed.differences, listed.users, session.chance)
        sd, bound = self.mechanism.sd, self.mechanism.error_bound(CONFIDENCE)
        rows = with_error_bars(listed.every_name(), twice, 2, 2 * sd, 2 * bound)
        return Answer(
            largest_rows(rows, self.top),
            method=METHOD,
            bounds=BOUNDS,
            noise=self.noise,
            notes=(f"{WHOLE_BAR}.", f"{self.shared}.", *below_zero(rows), *self.rules),
            stated={
                "users of any listed group": float(users),
                "sd of these": self.mechanism.users.sd,
                "covariance of two counts": self.mechanism.users.sd**2 / 4,
            },
        )
