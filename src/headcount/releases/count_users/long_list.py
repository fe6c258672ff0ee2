"""``count_users`` of listed groups, of more than noise around half of the users is best for.

Every group of the list is measured. Nothing has to be found, so no delta is spent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headcount.contributions.listed_pairs import ListedPairs
from headcount.mechanisms.equal_error.listed import LISTED_STAGES, EqualErrorListed
from headcount.mechanisms.equal_error.tuning import PEEL_RATIO, SINGLE_LOSS
from headcount.releases.count_users.adaptive import AIM, BOUNDS, COLLECTING, check_within
from headcount.releases.count_users.notes import BAR, notes_of, promise_of, shown_and_withheld
from headcount.releases.expected import OFF, OFF_SDS, Case, limited
from headcount.releases.facts import affordable_plan
from headcount.releases.request import spell_groups
from headcount.releases.rows import below_zero
from headcount.releases.session import Answer, Session

if TYPE_CHECKING:
    from headcount.contributions.listed import Groups
    from headcount.privacy.spend import Zcdp
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

HALF = "where a user in four groups counts as half a user"
METHODS = {
    "single": "noise on every known group; users in many groups count for less in each",
    "centred": "noise on every known group, and on the number of users in any of them",
    "equal": "equal relative error, nearly: guess sizes, choose how much noise, measure twice",
}
WHEN = {
    "single": "users are in one of the groups, nearly all of them",
    "centred": "users are few, or in much of the list",
    "equal": "users are many, and in several of the groups",
}
AUTO = "one of three, chosen from a private profile of listed groups per user"


def plan_long_list(
    dataset: Opened,
    by: Any,
    rules: tuple[str, ...],
    limit: Zcdp,
    within: float | None,
    method: str,
    *,
    groups: Groups,
    top: int | None,
) -> Plan:
    """Plan counts of all listed groups; with a target, of those that keep it."""
    check_within(within)
    mechanism = EqualErrorListed.calibrate(
        limit,
        len(groups),
        AIM if within is None else within,
        method,
        top=top,
        withholds=within is not None,
    )
    count = _LongList(dataset, by, groups, mechanism, rules)
    return affordable_plan(
        dataset,
        dataset.account,
        mechanism.event,
        count.read_and_draw,
        verb="count_users",
        by=by,
        groups=groups,
        arguments=(
            ("method", f"listed, {method}"),
            ("within", within),
            ("groups", spell_groups(groups)),
            ("top", top),
        ),
        title="count users" if within is None else f"count users within {within:.3g}",
        method=AUTO if method == "auto" else METHODS[method],
        stages=(COLLECTING, *LISTED_STAGES),
        details=count.details(),
        expects=count.expects,
    )


@dataclass(frozen=True, slots=True)
class _LongList:
    dataset: Opened
    by: Any
    groups: Groups
    mechanism: EqualErrorListed
    rules: tuple[str, ...]

    def expects(self) -> tuple[Case, ...]:
        """The noise of two of the ways is public; of the third, what users allow."""
        mechanism = self.mechanism
        n_rows = None if mechanism.withholds else len(self.groups)
        errors = {
            "single": OFF_SDS * mechanism.single_sd,
            "centred": mechanism.centred.error_bound(OFF),
            "equal": None,
        }
        some = errors if mechanism.method == "auto" else {mechanism.method: ""}
        is_one = len(some) == 1
        return tuple(
            limited(Case(errors[way], rows=n_rows, when="" if is_one else WHEN[way]), mechanism.top)
            for way in some
        )

    def details(self) -> tuple[tuple[str, str], ...]:
        mechanism = self.mechanism
        which = "those that can keep the promise are" if mechanism.withholds else "all"
        groups = f"{len(self.groups):,} known groups, {which} released"
        if mechanism.method != "centred" and not mechanism.withholds:
            groups += ", or none where most of the counts would be left out"
        if mechanism.top is not None:
            groups += f"; of these the {mechanism.top:,} largest by noisy count"
        share = float(mechanism.shares.profile / mechanism.limit.rho)
        return (
            ("groups", groups),
            ("promise", promise_of(mechanism)),
            ("profile", f"{share:.0%} of the budget: listed groups per user"),
            *(self._branches() if mechanism.method == "auto" else ()),
            ("bound", BOUNDS),
            ("error bar", BAR),
            ("rules", " ".join(self.rules)),
        )

    def _branches(self) -> tuple[tuple[str, str], ...]:
        mechanism = self.mechanism
        few = PEEL_RATIO * mechanism.least_weight
        return (
            (
                "if single",
                f"nearly all users are in one group (one pass would miss at most {SINGLE_LOSS:.1%} "
                "of the count): one pass",
            ),
            (
                "if centred",
                f"there are fewer than about {few:,.0f} users, {HALF}, or counting heavy users for "
                f"less would cost more: noise of sd {mechanism.centred.sd:.3g} users, and nothing "
                "is left out",
            ),
            ("if equal", "otherwise: large groups with less relative noise than small ones"),
        )

    def read_and_draw(self, session: Session) -> Answer:
        session.progress(COLLECTING)
        pairs = ListedPairs(self.dataset.table, self.by, self.groups, session.store)
        counted = self.mechanism.draw(pairs, session.chance, progress=session.progress)
        names = pairs.every_name()
        rows, withheld = shown_and_withheld(names, counted)
        unmeasured = names.take(counted.unmeasured)
        return Answer(
            rows,
            withheld=withheld if withheld.num_rows else None,
            method=METHODS[counted.method],
            bounds=BOUNDS,
            noise=f"discrete Gaussian, as much as each count allows: {promise_of(self.mechanism)}",
            notes=(
                *notes_of(counted, withheld, unmeasured, self.mechanism, self.rules),
                *below_zero(rows),
            ),
        )
