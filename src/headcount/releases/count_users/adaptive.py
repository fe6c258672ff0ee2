"""Counts without a bound: users are profiled first, and the method follows.

Every row that is measured is printed; with a target, those that keep it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headcount.contributions.pairs import Pairs
from headcount.errors import UsageError
from headcount.mechanisms.equal_error.forecast import (
    SEVERAL,
    least_single,
    least_usual,
    most_few,
)
from headcount.mechanisms.equal_error.mechanism import EqualError
from headcount.mechanisms.equal_error.stages import STAGES
from headcount.mechanisms.equal_error.tuning import SINGLE_LOSS
from headcount.releases.count_users.forecast import expected_cases
from headcount.releases.count_users.notes import BAR, notes_of, promise_of, shown_and_withheld
from headcount.releases.earlier import earlier_count
from headcount.releases.expected import Case
from headcount.releases.facts import affordable_plan
from headcount.releases.released_profile import released_profile
from headcount.releases.released_sizes import released_sizes
from headcount.releases.request import spell_groups
from headcount.releases.session import Answer, Session

if TYPE_CHECKING:
    from headcount.contributions.listed import Groups
    from headcount.ledger.account import Account
    from headcount.privacy.spend import Zcdp
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

COLLECTING = "collecting who is in which group"
METHODS = {
    "single": (
        "noise and threshold on the groups that are found; users in many groups count for less in "
        "each"
    ),
    "peel": "select the largest group, measure it, repeat, until the budget is spent",
    "equal": "equal relative error, nearly: find groups, choose how many, measure them twice",
}
SURE = {METHODS[way]: way for way in ("single", "equal")}
"""Ways that a table takes at other spends too; few users for one are many for another."""
AUTO = "one of three, chosen from a private profile of groups per user"
BOUNDS = "none to choose: users in very many groups count for less in each, where that costs less"
IN_FOUR = f"where users are in {SEVERAL} groups each"
LARGE = 200
"""Groups of so many users are what a small spend may miss; people are told then."""
AIM = 0.10
"""Without a target, how exact a row should be: it decides how many groups are measured."""


def plan_equal(
    dataset: Opened,
    by: Any,
    rules: tuple[str, ...],
    limit: Zcdp,
    within: float | None,
    method: str,
    *,
    groups: Groups | None = None,
    top: int | None,
    max_value: int = 1,
) -> Plan:
    """Plan counts of groups: all that can be measured, or about nine in ten within a target.

    max_value:  how many rows of a user count in one group; with 1, users are counted
    """
    check_within(within)
    # A profile is of groups per user, all groups: not of those in a list, and not of rows.
    known = groups is not None or max_value > 1
    released = None if known else released_profile(dataset, by)
    profile, profiled_by = released or (None, None)
    mechanism = EqualError.calibrate(
        limit,
        AIM if within is None else within,
        method,
        top=top,
        profile=profile,
        max_value=max_value,
        withholds=within is not None,
    )
    account = dataset.account
    return _EqualCount(dataset, account, by, groups, mechanism, profiled_by, rules).plan(within)


def check_within(within: float | None) -> None:
    """Refuse a target that nothing could keep, or that says nothing."""
    if within is not None and not 0.01 <= within <= 0.5:
        raise UsageError(
            f"within must be from 0.01 to 0.5, such as 0.10, not {within}. Nothing was charged."
        )


@dataclass(frozen=True, slots=True)
class _EqualCount:
    dataset: Opened
    account: Account
    by: Any
    groups: Groups | None
    mechanism: EqualError
    profiled_by: int | None
    rules: tuple[str, ...]

    def plan(self, within: float | None) -> Plan:
        """The plan of it; ``within`` as it was given."""
        mechanism = self.mechanism
        is_open = mechanism.profile is None and mechanism.method == "auto"
        return affordable_plan(
            self.dataset,
            self.account,
            mechanism.event,
            self.read_and_draw,
            verb=self.verb,
            by=self.by,
            groups=self.groups,
            arguments=(
                ("method", mechanism.method),
                ("within", within),
                ("groups", spell_groups(self.groups)),
                # Not which profile is there by now: a question that was answered stays answered.
                ("top", mechanism.top),
            ),
            title=self.title,
            method=AUTO if is_open else METHODS[self.branch],
            stages=(COLLECTING, *STAGES),
            details=self.details(),
            expects=self.expects,
        )

    def expects(self) -> tuple[Case, ...]:
        """The error that rows are chosen for, and what earlier releases say of their number."""
        if self.groups is not None:
            return expected_cases(self.mechanism, None)
        earlier = earlier_count(self.dataset, self.verb, self.by, METHODS.values())
        way = None if earlier is None else SURE.get(earlier.method)
        sizes = released_sizes(self.dataset, self.by, self.verb)
        cases = expected_cases(self.mechanism, sizes, way, earlier if way == "equal" else None)
        if earlier is None:
            return cases
        return (*cases[:-1], replace(cases[-1], notes=(*cases[-1].notes, earlier.note)))

    @property
    def verb(self) -> str:
        return "count_users" if self.mechanism.max_value == 1 else "count_events"

    @property
    def branch(self) -> str:
        profile = self.mechanism.profile
        return "equal" if profile is None else self.mechanism.branch(profile.crowd)

    @property
    def title(self) -> str:
        verb = self.verb.replace("_", " ")
        return f"{verb} within {self.mechanism.within:.3g}" if self.mechanism.withholds else verb

    def details(self) -> tuple[tuple[str, str], ...]:
        shares, limit = self.mechanism.shares, self.mechanism.limit
        from_where = "found in the data" if self.groups is None else f"{len(self.groups):,} listed"
        how_many = "those" if self.mechanism.top is None else f"the {self.mechanism.top:,} largest"
        which = "can keep the promise" if self.mechanism.withholds else "the budget can measure"
        if self.profiled_by is None:
            profile = f"{float(shares.profile / limit.rho):.0%} of the budget: groups per user"
            branches = self._branches() if self.mechanism.method == "auto" else ()
        else:
            profile = f"of entry {self.profiled_by}, released before: it costs nothing again"
            branches = ()
        return (
            ("groups", f"{from_where}; {how_many} that {which} are released"),
            *self._may_be_empty(),
            ("promise", promise_of(self.mechanism)),
            ("profile", profile),
            *branches,
            ("bound", BOUNDS),
            ("error bar", BAR),
            ("rules", " ".join(self.rules)),
        )

    def _may_be_empty(self) -> tuple[tuple[str, str], ...]:
        """Said where only large groups can be found, whatever the table is."""
        one_pass = self.mechanism.threshold(self.mechanism.shares.after_profile)
        least = min(one_pass.threshold / one_pass.bounds.scale, self.mechanism.least_weight)
        if self.groups is not None or least < LARGE:
            return ()
        return (
            (
                "may be empty",
                f"groups of fewer than about {float(f'{least:.2g}'):,.0f} users are hardly "
                "ever found at this spend, nor larger ones of people who are in many groups; it is "
                "charged also if no row is shown",
            ),
        )

    def _branches(self) -> tuple[tuple[str, str], ...]:
        mechanism = self.mechanism
        return (
            (
                "if single",
                f"nearly all users are in one group (one pass would miss at most {SINGLE_LOSS:.1%} "
                f"of the count): groups of about {least_single(mechanism):,.0f} users or more, in "
                "one pass",
            ),
            (
                "if peel",
                f"there are fewer than about {most_few(mechanism):,.0f} users, {IN_FOUR}: the "
                "largest groups, one by one",
            ),
            (
                "if equal",
                "otherwise: as many groups as the budget can measure, each of about "
                f"{least_usual(mechanism):,.0f} users or more, {IN_FOUR}",
            ),
        )

    def read_and_draw(self, session: Session) -> Answer:
        session.progress(COLLECTING)
        pairs = Pairs(
            self.dataset.table,
            self.by,
            session.store,
            key=session.key,
            groups=self.groups,
            max_value=self.mechanism.max_value,
        )
        counted = self.mechanism.draw(pairs, session.chance, progress=session.progress)
        rows, withheld = shown_and_withheld(pairs.groups, counted)
        return Answer(
            rows,
            withheld=withheld if withheld.num_rows else None,
            method=METHODS[counted.method],
            bounds=BOUNDS,
            noise=f"discrete Gaussian, as much as each count allows: {promise_of(self.mechanism)}",
            notes=notes_of(
                counted,
                withheld,
                pairs.groups.take(counted.unmeasured),
                self.mechanism,
                self.rules,
            ),
        )
