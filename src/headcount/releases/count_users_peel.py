"""``count_users`` with ``method="peel"``: no bound, a target error, largest groups first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headcount.contributions.groups import TOTAL
from headcount.contributions.largest import largest_counts
from headcount.errors import UsageError
from headcount.mechanisms.private_count_release import PrivateCountRelease
from headcount.releases.facts import BAR_SDS, facts_of, planned
from headcount.releases.release import Release
from headcount.releases.request import spell_groups
from headcount.releases.rows import with_error_bars

if TYPE_CHECKING:
    from headcount.contributions.listed import Groups
    from headcount.ledger.account import Account
    from headcount.privacy.spend import Zcdp
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan
    from headcount.releases.stages import Progress

STAGES = ("measuring the largest groups, one by one",)
METHOD = "select the largest group, measure it, repeat, until the budget is spent"
BOUNDS = "none: a user may be in any number of groups and counts fully in all"


def plan_peel(
    dataset: Dataset,
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
        raise UsageError(f"within must be from 0.001 to 1, such as 0.10, not {within}.")
    account = dataset.account
    mechanism = PrivateCountRelease.calibrate(limit, within, top)
    peel = _Peel(dataset, account, by, groups, mechanism, rules)
    return planned(
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
    )


@dataclass(frozen=True, slots=True)
class _Peel:
    dataset: Dataset
    account: Account
    by: Any
    groups: Groups | None
    mechanism: PrivateCountRelease
    rules: tuple[str, ...]

    @property
    def which(self) -> str:
        from_where = "found in the data" if self.groups is None else f"{len(self.groups):,} listed"
        most = self.mechanism.max_rows if self.mechanism.top is None else self.mechanism.top
        return f"{from_where}, among the {most:,} largest"

    @property
    def noise(self) -> str:
        return (
            "discrete Gaussian, for each count as much as its size allows: about nine in ten rows "
            f"within {self.mechanism.within:.3g} of the truth"
        )

    def read_and_draw(self, _key: bytes, entry: int, progress: Progress) -> Release:
        true_largest = largest_counts(
            self.dataset.table, self.by, self.mechanism.max_rows + 1, self.groups
        )
        progress(STAGES[0])
        true_counts = np.asarray(true_largest.column(TOTAL), np.int64)
        released = self.mechanism.draw(true_counts)
        positions = pa.array([row.position for row in released], pa.int64())
        groups = true_largest.drop_columns([TOTAL]).take(positions)
        sds = np.array([row.sd for row in released], np.float64)
        estimates = np.array([row.estimate for row in released], np.float64)
        half_widths = BAR_SDS * sds
        facts = facts_of(
            self.dataset,
            self.account,
            self.mechanism.event,
            verb="count_users",
            method=METHOD,
            bounds=BOUNDS,
            noise=self.noise,
            entry=entry,
            notes=self.rules,
        )
        return Release(with_error_bars(groups, estimates, 1, sds, half_widths), facts)
