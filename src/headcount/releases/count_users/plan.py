"""``count_users``: how many distinct users there are in each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from headcount.contributions.bound import bound as bound_contributions
from headcount.contributions.bound import bound_each_window
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
from headcount.releases.count_users.adaptive import AIM, plan_equal
from headcount.releases.count_users.listed import MOST_GROUPS, WHOLE_BAR, plan_listed
from headcount.releases.count_users.long_list import plan_long_list
from headcount.releases.count_users.peel import plan_peel
from headcount.releases.expected import NOT_LEFT_OUT, OFF, Case, limited
from headcount.releases.facts import affordable_plan, limit_for, require_add_remove
from headcount.releases.released_sizes import released_sizes, with_sizes
from headcount.releases.request import spell_groups
from headcount.releases.rows import EachGroup, largest_rows
from headcount.releases.session import Answer, Session
from headcount.releases.wide.wide import Wide
from headcount.releases.windows import Over, over_windows
from headcount.results.facts import CONFIDENCE, NOISE_ONLY

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.contributions.listed import Groups
    from headcount.mechanisms.protocol import CountsEvery, CountsLarge
    from headcount.privacy.budget import Budget
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

DEFAULT_BOUND = 20
DEFAULT_MAX_GROUPS = 10_000
LATTICE_BITS = 12
MOST_PEELED = 100  # beyond, finding groups one by one costs more than it saves
FIND_OTHERWISE = "List the groups, or find them with method='laplace' or method='sample'."
BAR = f"low to high covers the {NOISE_ONLY}, not what the bound leaves out of the count"


def plan_count_users(
    dataset: Opened,
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
    over = over_windows(dataset.table.windows, Over.EACH)
    adapts = within is not None or (groups is None and bound is None and over is None)
    if method == "auto" and adapts and within is None and top is not None and top <= MOST_PEELED:
        method = "peel"
    if method in ("peel", "equal") or (method == "auto" and adapts):
        _check_adaptive(account, bound, method)
        rules = grouped.rules
        if method == "peel":
            target = AIM if within is None else within
            return plan_peel(dataset, by, rules, limit, target, groups=given, top=top)
        if given is not None:
            return plan_long_list(dataset, by, rules, limit, within, method, groups=given, top=top)
        return plan_equal(dataset, by, rules, limit, within, method, top=top)
    if within is not None:
        raise UsageError(f"method={method!r} takes a bound and has no target; leave within= out.")
    if method == "sample":
        from headcount.releases.count_users.sample import plan_sample

        return plan_sample(dataset, by, given, grouped, bound, limit, top)
    adds = account.neighbours is Neighbours.ADD_REMOVE
    is_plain = method == "auto" and bound is None and over is None and adds
    if is_plain and given is not None and groups is not None and len(given) > 1:
        if len(given) <= MOST_GROUPS:
            return plan_listed(dataset, by, grouped, groups, limit, top)
        return plan_long_list(
            dataset, by, grouped.rules, limit, within, method, groups=given, top=top
        )
    bounds, mechanism, how = _noise(account, grouped, bound, method, limit)
    # Laplace noise: what somebody in several windows pays is not proved to be a multiple.
    how_over = None if method == "laplace" else over
    return _Count(dataset, account, by, given, grouped, bounds, mechanism, how, top, how_over).plan(
        groups
    )


def _check_adaptive(account: Account, bound: int | None, method: str) -> None:
    if bound is not None:
        raise UsageError(
            f"method={method!r} has no bound, with a target or without; leave bound= out, or "
            "within= and method=."
        )
    require_add_remove(account, "A count that finds its groups or has a target", FIND_OTHERWISE)


def _noise(
    account: Account, grouped: Grouped, bound: int | None, method: str, limit: Zcdp
) -> tuple[Bounds, CountsEvery | CountsLarge, str]:
    """The bounds, what adds noise to counts within them, and how that is called."""
    n_known = None if grouped.listed is None else len(grouped.listed)
    bounds = _bounds(bound, n_known)
    if method == "laplace":
        if n_known is not None:
            raise UsageError("method='laplace' finds groups itself; leave groups= or method= out.")
        bounds = Bounds(bound or 1, bound or 1)
        laplace = LaplaceThreshold.calibrate(bounds.max_groups, limit, account.neighbours)
        return bounds, laplace, "Laplace noise and threshold on the groups that are found"
    if n_known is None:
        require_add_remove(account, "method='threshold'", FIND_OTHERWISE)
        gaussian = GaussianThreshold.calibrate(bounds, limit)
        return bounds, gaussian, "noise and threshold on the groups that are found"
    sensitivity = bounds.sensitivity(account.neighbours, n_known)
    known = Gaussian.calibrate(sensitivity, Zcdp(limit.rho))
    return bounds, known, "noise on every known group"


def _bounds(bound: int | None, n_known: int | None) -> Bounds:
    full_groups = DEFAULT_BOUND if bound is None else bound
    max_groups = max(DEFAULT_MAX_GROUPS, full_groups) if n_known is None else n_known
    if max_groups <= full_groups:
        return Bounds(max_groups, max_groups)
    return Bounds(max_groups, full_groups, LATTICE_BITS)


@dataclass(frozen=True, slots=True)
class _Count:
    """One planned count: how to read it, draw it, and describe it."""

    dataset: Opened
    account: Account
    by: Any
    groups: Groups | None
    grouped: Grouped
    bounds: Bounds
    mechanism: CountsEvery | CountsLarge
    method: str
    top: int | None
    over: Over | None = None
    """How several windows are bounded, where there are several."""

    def plan(self, groups: Sequence[Any] | None) -> Plan:
        """The plan of it; ``groups`` as they were given."""
        bounds = self.bounds
        return affordable_plan(
            self.dataset,
            self.account,
            self.mechanism.event,
            self.read_and_draw,
            verb="count_users",
            by=self.by,
            groups=groups,
            arguments=(
                ("groups", spell_groups(self.groups)),
                ("bounds", [bounds.max_groups, bounds.full_groups, bounds.lattice_bits]),
                ("top", self.top),
            ),
            title="count users",
            method=self.method,
            details=self.details(),
            neighbours=self.neighbours,
            expects=self.expects,
            wide=self.wide,
            over=self.over,
        )

    def expects(self) -> tuple[Case, ...]:
        """The noise, which is public; rows of found groups, where their sizes were released."""
        error = self.mechanism.error_bound(OFF) / self.bounds.scale
        notes = (NOT_LEFT_OUT,) if self.leaves_out else ()
        if self.mechanism.threshold is None:
            return (limited(Case(error, rows=self.bounds.max_groups, notes=notes), self.top),)
        least = self.mechanism.threshold / self.bounds.scale
        case = Case(error, least=least, notes=notes)
        return (limited(with_sizes(case, released_sizes(self.dataset, self.by)), self.top),)

    @property
    def neighbours(self) -> Neighbours:
        return self.mechanism.sensitivity.neighbours

    @property
    def leaves_out(self) -> bool:
        """Whether a user may be in more groups than they count fully in: of a short list, none."""
        return self.groups is None or self.bounds.max_groups > self.bounds.full_groups

    @property
    def noise(self) -> str:
        each = self.each
        return (
            f"{self.mechanism.law.name}, sd {each.sd:.3g} users: "
            f"{CONFIDENCE:.0%} of counts move by less than {each.half_width:.3g}"
        )

    def details(self) -> tuple[tuple[str, str], ...]:
        if self.mechanism.threshold is None:
            groups = f"{self.bounds.max_groups:,} known groups, all released"
        else:
            least = self.mechanism.threshold / self.bounds.scale
            groups = f"found in the data; one is released when its noisy count is above {least:.4g}"
        if self.top is not None:
            groups += f"; of these the {self.top:,} largest by noisy count"
        return (
            ("groups", groups),
            ("bound", str(self.bounds)),
            ("noise", self.noise),
            ("error bar", BAR if self.leaves_out else WHOLE_BAR),
            ("rules", " ".join(self.grouped.rules)),
        )

    @property
    def each(self) -> EachGroup:
        return EachGroup(self.mechanism, self.bounds.scale)

    @property
    def wide(self) -> Wide | None:
        """How rows go to files, where none of them needs the others."""
        return Wide(self.tally, self.each, self.answer) if self.top is None else None

    def tally(self, session: Session) -> Tally:
        if self.over is None:
            contributions = bound_contributions(
                self.dataset.table, self.by, self.bounds, key=session.key, groups=self.groups
            )
        else:
            contributions = bound_each_window(
                self.dataset.table,
                self.by,
                self.bounds,
                session.store,
                key=session.key,
                groups=self.groups,
            )
        return Tally(contributions, self.neighbours)

    def read_and_draw(self, session: Session) -> Answer:
        rows = self.each.draw(self.tally(session), session.chance)
        return self.answer(largest_rows(rows, self.top))

    def answer(self, rows: pa.Table) -> Answer:
        return Answer(
            rows,
            method=self.method,
            bounds=str(self.bounds),
            noise=self.noise,
            notes=(BAR if self.leaves_out else WHOLE_BAR, *self.grouped.rules),
            bars=NOISE_ONLY if self.leaves_out else "",
        )
