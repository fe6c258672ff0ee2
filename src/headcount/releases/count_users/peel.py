"""``count_users`` with ``method="peel"``: no bound, a target error, largest groups first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.contributions.largest import largest_counts
from headcount.errors import UsageError
from headcount.mechanisms.private_count_release import TOP_SPARE, PrivateCountRelease
from headcount.releases.count_users.notes import percent
from headcount.releases.expected import OF_COUNT, OFF_SDS, Case
from headcount.releases.facts import affordable_plan
from headcount.releases.request import spell_groups
from headcount.releases.rows import with_error_bars
from headcount.releases.session import Answer, Session
from headcount.results.facts import BAR_SDS

if TYPE_CHECKING:
    from headcount.contributions.listed import Groups
    from headcount.ledger.account import Account
    from headcount.privacy.spend import Zcdp
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

STAGES = ("measuring the largest groups, one by one",)
STAND_OUT = "so many rows, where so many groups stand out from the noise"
METHOD = "select the largest group, measure it, repeat, until the budget is spent"
BOUNDS = "none: a user may be in any number of groups and counts fully in all"


def plan_peel(
    dataset: Opened,
    by: Any,
    rules: tuple[str, ...],
    limit: Zcdp,
    within: float,
    *,
    groups: Groups | None,
    top: int | None,
) -> Plan:
    """Plan a release of the largest groups, each to the same relative error."""
    if not 0.001 <= within <= 1:
        raise UsageError(
            f"within must be from 0.001 to 1, such as 0.10, not {within}. Nothing was charged."
        )
    account = dataset.account
    mechanism = PrivateCountRelease.calibrate(limit, within, top)
    peel = _Peel(dataset, account, by, groups, mechanism, rules)
    return affordable_plan(
        dataset,
        account,
        mechanism.event,
        peel.read_and_draw,
        verb="count_users",
        by=by,
        groups=groups,
        arguments=(
            ("method", "peel"),
            ("within", within),
            ("rows", [mechanism.max_rows, mechanism.max_calls]),
            ("groups", spell_groups(groups)),
            ("top", top),
        ),
        title="count users",
        method=METHOD,
        stages=STAGES,
        details=(
            ("groups", peel.which),
            ("bound", BOUNDS),
            ("noise", peel.noise),
            ("rules", " ".join(rules)),
        ),
        expects=peel.expects,
    )


@dataclass(frozen=True, slots=True)
class _Peel:
    dataset: Opened
    account: Account
    by: Any
    groups: Groups | None
    mechanism: PrivateCountRelease
    rules: tuple[str, ...]

    @property
    def which(self) -> str:
        from_where = "found in the data" if self.groups is None else f"{len(self.groups):,} listed"
        if self.mechanism.top is not None:
            return f"{from_where}; the {self.mechanism.top:,} largest are released"
        return f"{from_where}, among the {self.mechanism.max_rows:,} largest"

    @property
    def sd(self) -> float:
        """Of one row, where only the largest are asked for and finding them costs little."""
        n_rows = TOP_SPARE * (self.mechanism.top or 1)
        return math.sqrt(n_rows / (2 * float(self.mechanism.limit.rho)))

    def expects(self) -> tuple[Case, ...]:
        """All rows to the same relative error, or the largest with what is left."""
        top = self.mechanism.top
        if top is None:
            return (Case(self.mechanism.within, OF_COUNT),)
        n_listed = top if self.groups is None else len(self.groups)
        return (Case(OFF_SDS * self.sd, rows=min(top, n_listed), notes=(STAND_OUT,)),)

    @property
    def noise(self) -> str:
        if self.mechanism.top is not None:
            n_rows = TOP_SPARE * self.mechanism.top
            return (
                f"discrete Gaussian, sd about {self.sd:,.3g} users where finding the {n_rows:,} "
                "largest "
                "costs little: all that is left is spent on them together"
            )
        return (
            "discrete Gaussian, for each count as much as its size allows: about nine in ten rows "
            f"within {percent(self.mechanism.within)} of the true count"
        )

    def read_and_draw(self, session: Session) -> Answer:
        largest = largest_counts(
            self.dataset.table, self.by, self.mechanism.max_rows + 1, self.groups
        )
        session.progress(STAGES[0])
        released = self.mechanism.draw(largest.query, session.chance)
        groups = largest.names(np.array([row.position for row in released], np.intp))
        sds = np.array([row.sd for row in released], np.float64)
        estimates = np.array([row.estimate for row in released], np.float64)
        half_widths = BAR_SDS * sds
        return Answer(
            with_error_bars(groups, estimates, 1, sds, half_widths),
            method=METHOD,
            bounds=BOUNDS,
            noise=self.noise,
            notes=(*self._too_few(len(released)), *self.rules),
        )

    def _too_few(self, n_rows: int) -> tuple[str, ...]:
        """A word where fewer groups stood out than were asked for."""
        top = self.mechanism.top
        if top is None or n_rows >= top:
            return ()
        return (
            f"{n_rows:,} of the {top:,} groups asked for stood out from the noise at this spend: "
            "spend more to see the others, if there are others.",
        )
