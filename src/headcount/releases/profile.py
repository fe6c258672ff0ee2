"""``profile``: in how many groups users are, as a private histogram."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headcount.contributions.groups import group_rows
from headcount.contributions.profile import CELLS, users_per_cell
from headcount.mechanisms.gaussian import Gaussian
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.releases.expected import OFF, Case
from headcount.releases.facts import affordable_plan, limit_for
from headcount.releases.rows import with_error_bars
from headcount.releases.session import Answer, Session
from headcount.results.facts import CONFIDENCE

if TYPE_CHECKING:
    from headcount.ledger.account import Account
    from headcount.privacy.budget import Budget
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

METHOD = "noise on every cell of a histogram of groups per user"
BOUNDS = "none is needed: a user is in one cell"


def plan_profile(dataset: Opened, by: Any, *, spend: Budget | Fraction) -> Plan:
    """Plan a profile: cells are public, a user is in one of them, noise goes on all."""
    account = dataset.account
    rules = group_rows(dataset.table, by).rules
    sensitivity = Sensitivity.of_cell(account.neighbours)
    mechanism = Gaussian.calibrate(sensitivity, Zcdp(limit_for(account, spend).rho))
    profile = _Profile(dataset, account, by, mechanism, rules)
    return affordable_plan(
        dataset,
        account,
        mechanism.event,
        profile.read_and_draw,
        verb="profile",
        by=by,
        arguments=(),
        title="profile of users",
        method=METHOD,
        details=(
            ("cells", f"{len(CELLS)}: in 1 group, 2, 3 to 4, 5 to 8, … and above {CELLS[-2]:,}"),
            ("bound", BOUNDS),
            ("noise", profile.noise),
            ("rules", " ".join(rules)),
        ),
        neighbours=account.neighbours,
        expects=lambda: (Case(mechanism.error_bound(OFF), rows=len(CELLS)),),
    )


@dataclass(frozen=True, slots=True)
class _Profile:
    dataset: Opened
    account: Account
    by: Any
    mechanism: Gaussian
    rules: tuple[str, ...]

    @property
    def noise(self) -> str:
        half_width = self.mechanism.error_bound(CONFIDENCE)
        return (
            f"discrete Gaussian, sd {self.mechanism.sd:.3g} users: "
            f"{CONFIDENCE:.0%} of cells move by less than {half_width:.3g}"
        )

    def read_and_draw(self, session: Session) -> Answer:
        noisy_users = self.mechanism.draw(
            users_per_cell(self.dataset.table, self.by, self.account.neighbours), session.chance
        )
        cells = pa.table(
            {
                "at_least": pa.array([1, *(most + 1 for most in CELLS[:-1])], pa.int64()),
                "at_most": pa.array([*CELLS[:-1], None], pa.int64()),
            }
        )
        half_width = self.mechanism.error_bound(CONFIDENCE)
        rows = with_error_bars(cells, noisy_users, 1, self.mechanism.sd, half_width)
        return Answer(
            rows,
            method=METHOD,
            bounds=BOUNDS,
            noise=self.noise,
            notes=self.rules,
        )
