"""Counts without a bound: users are profiled first, and the method follows.

Every row that is measured is printed; with a target, those that keep it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.contributions.pairs import Pairs
from headcount.errors import UsageError
from headcount.mechanisms.equal_error.mechanism import EqualError
from headcount.mechanisms.equal_error.stages import STAGES, Counted
from headcount.mechanisms.equal_error.tuning import AGAIN_DELTA, PEEL_RATIO, SINGLE_LOSS
from headcount.releases.facts import affordable_plan
from headcount.releases.released_profile import released_profile
from headcount.releases.request import spell_groups
from headcount.releases.rows import with_error_bars
from headcount.releases.session import Answer, Session
from headcount.results.cells import label
from headcount.results.facts import BAR_SDS, CONFIDENCE

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.contributions.listed import Groups
    from headcount.ledger.account import Account
    from headcount.privacy.spend import Zcdp
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

COLLECTING = "collecting who is in which group"
METHODS = {
    "single": "noise and threshold on the groups that are found, users weighted to norm 1",
    "peel": "select the largest group, measure it, repeat, until the budget is spent",
    "equal": "equal relative error, nearly: discover groups, choose how many, measure them twice",
}
AUTO = "one of three, chosen from a private profile of groups per user"
BOUNDS = "none to choose: a user's weight in the groups is shortened where it would cost too much"
BAR = "low to high covers the noise and what shortening users leaves out, as measured privately"
SHARED = "Rows share a part of their error: the mean of many rows is not as sure as their bars say"
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
    groups: Groups | None,
    top: int | None,
    max_value: int = 1,
) -> Plan:
    """Plan counts of groups: all that can be measured, or about nine in ten within a target.

    max_value:  how many rows of a user count in one group; with 1, users are counted
    """
    if within is not None and not 0.01 <= within <= 0.5:
        raise UsageError(
            f"within must be from 0.01 to 0.5, such as 0.10, not {within}. Nothing was charged."
        )
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
        )

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

    @property
    def promise(self) -> str:
        if not self.mechanism.withholds:
            return f"bars that hold the truth in {CONFIDENCE:.0%} of the rows, however wide"
        return f"about nine in ten rows within {self.mechanism.within:.3g} of the truth"

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
            ("promise", self.promise),
            ("profile", profile),
            *branches,
            ("bound", BOUNDS),
            ("error bar", BAR),
            ("rules", " ".join(self.rules)),
        )

    def _branches(self) -> tuple[tuple[str, str], ...]:
        shares, within = self.mechanism.shares, self.mechanism.within
        single = self.mechanism.threshold(shares.after_profile)
        discover = self.mechanism.threshold(shares.discover, 1 - AGAIN_DELTA)
        least_single = max(1.65 * single.sd / within, float(single.threshold)) / single.bounds.scale
        least_weight = discover.threshold / discover.bounds.scale
        return (
            (
                "if single",
                f"one pass would miss at most {SINGLE_LOSS:.0%} of the count: groups of about "
                f"{least_single:,.0f} users or more",
            ),
            (
                "if peel",
                "users together weigh less than "
                f"{PEEL_RATIO * least_weight:,.0f}, each 1 over the root of their groups: "
                "the largest groups, one by one",
            ),
            (
                "if equal",
                f"else: as many groups as the budget carries, if they weigh {least_weight:,.0f}"
                " or more",
            ),
        )

    def _expected(self, counted: Counted) -> str:
        within = f"{self.mechanism.within:.3g}"
        if not self.mechanism.withholds:
            if not len(counted.counts):
                return "No group stands out from the noise at this spend: spend more."
            return f"Nine in ten rows are expected within {counted.reached:.2g} of the truth."
        if not len(counted.counts):
            return (
                f"No group can be counted within {within} at this spend: spend more, or aim lower."
            )
        share = (
            f"Expected share of rows within {within} of the truth: {counted.expected_within:.1%}"
        )
        if counted.expected_within >= 0.9:
            return share + "."
        return (
            f"{share}, less than nine in ten: nine in ten are expected within "
            f"{counted.reached:.2g}. A few users are in very many groups; spend more."
        )

    def _left_out(self, counted: Counted) -> tuple[str, ...]:
        lost = counted.lost
        if lost is None or not len(counted.counts):
            return ()
        return (
            f"Shortening users left out {lost.mean:.1%} of a count, put back here: "
            f"{lost.largest:.1%} of the largest rows, {lost.smallest:.1%} of the smallest.",
            f"{SHARED}.",
        )

    def _notes(self, counted: Counted, withheld: pa.Table) -> tuple[str, ...]:
        """What is withheld comes first where it is larger than what is shown."""
        method = f"Method {counted.method!r}: {counted.why}."
        rest = (self._expected(counted), BAR + ".", *self._left_out(counted), *self.rules)
        if not withheld.num_rows:
            return (method, *rest)
        largest = withheld.take([int(np.argmax(withheld["count"]))]).to_pylist()[0]
        name = ", ".join(repr(label(largest[column])) for column in list(largest)[:-4])
        half_width = (largest["high"] - largest["low"]) / 2
        told = (
            f"{withheld.num_rows:,} measured rows are withheld: their bars are wider than "
            f"{self.mechanism.within:.3g} of the count allows. The largest is {name}, about "
            f"{largest['count']:,} ± {half_width:,.0f}. They are paid for: look at "
            "release.withheld. A count without within= would be another question, charged anew."
        )
        middle = float(np.median(counted.counts)) if len(counted.counts) else 0.0
        if largest["count"] > middle:
            return (told, method, *rest)
        return (method, told, *rest)

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
        rows, withheld = (
            with_error_bars(
                pairs.groups.take(some.positions), some.counts, 1, some.sds, BAR_SDS * some.sds
            )
            for some in (counted, counted.withheld)
        )
        return Answer(
            rows,
            withheld=withheld if withheld.num_rows else None,
            method=METHODS[counted.method],
            bounds=BOUNDS,
            noise=f"discrete Gaussian, as much as each count allows: {self.promise}",
            notes=self._notes(counted, withheld),
        )
