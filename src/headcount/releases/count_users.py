"""``count_users``: how many distinct users there are in each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from headcount.contributions.bound import bound as bound_contributions
from headcount.contributions.groups import Grouped, group_rows
from headcount.contributions.tally import Tally
from headcount.errors import UsageError
from headcount.ledger.account import Account
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.mechanisms.laplace_threshold import LaplaceThreshold
from headcount.privacy.bounds import Bounds
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.releases.count_users_equal import plan_equal
from headcount.releases.count_users_peel import plan_peel
from headcount.releases.facts import (
    CONFIDENCE,
    facts_of,
    limit_for,
    planned,
    require_add_remove,
)
from headcount.releases.release import Release
from headcount.releases.request import spell_groups
from headcount.releases.rows import all_known, found, largest_rows, with_error_bars

if TYPE_CHECKING:
    from headcount.contributions.listed import Groups
    from headcount.privacy.budget import Budget
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan
    from headcount.releases.stages import Progress

DEFAULT_BOUND = 20
DEFAULT_MAX_GROUPS = 10_000
LATTICE_BITS = 12
WITHIN = 0.10
FIND_OTHERWISE = "List the groups, or find them with method='laplace' or method='sample'."
BAR = "low to high covers the noise, not what the bound leaves out of the count"


def plan_count_users(
    dataset: Dataset,
    by: Any,
    *,
    groups: Sequence[Any] | None,
    bound: int | None,
    within: float | None,
    top: int | None,
    method: str,
    spend: Budget | Fraction,
) -> Plan:
    """Decide method, bounds and noise from public facts and the spend alone."""
    account = dataset.account
    # Builds the expression and so checks every name and kind; nothing runs.
    grouped = group_rows(dataset.table, by, groups)
    given = grouped.given
    limit = limit_for(account, spend)
    has_target = within is not None or (top is not None and groups is None and bound is None)
    if method in ("peel", "equal") or (method == "auto" and has_target):
        if bound is not None:
            raise UsageError(
                f"method={method!r} with a target has no bound; leave bound= out, or within= and "
                "method=."
            )
        require_add_remove(account, "A count with a target", FIND_OTHERWISE)
        target = WITHIN if within is None else within
        rules = grouped.rules
        if method == "peel":
            return plan_peel(dataset, by, rules, limit, target, groups=given, top=top)
        return plan_equal(dataset, by, rules, limit, target, method, groups=given, top=top)
    if within is not None:
        raise UsageError(f"method={method!r} takes a bound and has no target; leave within= out.")
    if method == "sample":
        from headcount.releases.count_users_sample import plan_sample

        return plan_sample(dataset, by, given, grouped, bound, limit, top)
    bounds = _bounds(bound, None if grouped.listed is None else len(grouped.listed))
    mechanism: Gaussian | GaussianThreshold | LaplaceThreshold
    if method == "laplace":
        if groups is not None:
            raise UsageError("method='laplace' finds groups itself; leave groups= or method= out.")
        bounds = Bounds(bound or 1, bound or 1)
        mechanism = LaplaceThreshold.calibrate(bounds.max_groups, limit, account.neighbours)
        how = "Laplace noise and threshold on the groups that are found"
    elif groups is None:
        require_add_remove(account, "method='threshold'", FIND_OTHERWISE)
        mechanism = GaussianThreshold.calibrate(bounds, limit)
        how = "noise and threshold on the groups that are found"
    else:
        sensitivity = bounds.sensitivity(account.neighbours)
        mechanism = Gaussian.calibrate(sensitivity, Zcdp(limit.rho))
        how = "noise on every known group"
    count = _Count(dataset, account, by, given, grouped, bounds, mechanism, how, top)
    return planned(
        dataset,
        account,
        mechanism.event,
        count.read_and_draw,
        verb="count_users",
        by=by,
        groups=groups,
        arguments=(
            ("groups", spell_groups(given)),
            ("bounds", [bounds.max_groups, bounds.full_groups, bounds.lattice_bits]),
            ("top", top),
        ),
        title="count users",
        method=how,
        details=count.details(),
        neighbours=count.neighbours,
    )


def _bounds(bound: int | None, n_known: int | None) -> Bounds:
    full_groups = DEFAULT_BOUND if bound is None else bound
    max_groups = max(DEFAULT_MAX_GROUPS, full_groups) if n_known is None else n_known
    if max_groups <= full_groups:
        return Bounds(max_groups, max_groups)
    return Bounds(max_groups, full_groups, LATTICE_BITS)


@dataclass(frozen=True, slots=True)
class _Count:
    """One planned count: how to read it, draw it, and describe it."""

    dataset: Dataset
    account: Account
    by: Any
    groups: Groups | None
    grouped: Grouped
    bounds: Bounds
    mechanism: Gaussian | GaussianThreshold | LaplaceThreshold
    method: str
    top: int | None

    @property
    def neighbours(self) -> Neighbours:
        if isinstance(self.mechanism, LaplaceThreshold):
            return self.mechanism.neighbours
        if isinstance(self.mechanism, Gaussian):
            return self.mechanism.sensitivity.neighbours
        return Neighbours.ADD_REMOVE

    @property
    def sd(self) -> float:
        return self.mechanism.sd / self.bounds.scale

    @property
    def noise(self) -> str:
        half_width = self.mechanism.error_bound(CONFIDENCE) / self.bounds.scale
        law = "Laplace" if isinstance(self.mechanism, LaplaceThreshold) else "Gaussian"
        return (
            f"discrete {law}, sd {self.sd:.3g} users: "
            f"{CONFIDENCE:.0%} of counts move by less than {half_width:.3g}"
        )

    def details(self) -> tuple[tuple[str, str], ...]:
        if not isinstance(self.mechanism, Gaussian):
            least = self.mechanism.threshold / self.bounds.scale
            groups = f"found in the data; one is released when its noisy count is above {least:.4g}"
        else:
            groups = f"{self.bounds.max_groups:,} known groups, all released"
        if self.top is not None:
            groups += f"; of these the {self.top:,} largest by noisy count"
        return (
            ("groups", groups),
            ("bound", str(self.bounds)),
            ("noise", self.noise),
            ("error bar", BAR),
            ("rules", " ".join(self.grouped.rules)),
        )

    def read_and_draw(self, key: bytes, entry: int, _progress: Progress) -> Release:
        true_tally = Tally(
            bound_contributions(
                self.dataset.table, self.by, self.bounds, key=key, groups=self.groups
            )
        )
        if isinstance(self.mechanism, Gaussian):
            groups, noisy_totals = all_known(true_tally, self.mechanism)
        else:
            groups, noisy_totals = found(true_tally, self.mechanism)
        rows = with_error_bars(
            groups,
            noisy_totals,
            self.bounds.scale,
            self.mechanism.sd,
            self.mechanism.error_bound(CONFIDENCE),
        )
        facts = facts_of(
            self.dataset,
            self.account,
            self.mechanism.event,
            verb="count_users",
            method=self.method,
            bounds=str(self.bounds),
            noise=self.noise,
            entry=entry,
            notes=(BAR, *self.grouped.rules),
            neighbours=self.neighbours,
        )
        return Release(largest_rows(rows, self.top), facts)
