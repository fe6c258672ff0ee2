"""``count_users`` within a target error: users are profiled first, and the method follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headcount.accounting.tail import upper_point
from headcount.contributions.equal_error import Pairs
from headcount.contributions.equal_error_store import Store
from headcount.errors import UsageError
from headcount.mechanisms.equal_error import EqualError
from headcount.mechanisms.equal_error_public import PEEL_RATIO, SINGLE_LOSS
from headcount.releases.facts import CONFIDENCE, facts_of, planned
from headcount.releases.release import Release
from headcount.releases.rows import with_error_bars

if TYPE_CHECKING:
    from headcount.ledger.account import Account
    from headcount.privacy.spend import Zcdp
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan
    from headcount.releases.run import Progress

METHODS = {
    "single": "noise and threshold on the groups that are found, users weighted to norm 1",
    "peel": "select the largest group, measure it, repeat, until the budget is spent",
    "equal": "equal relative error: discover groups, choose how many, measure them twice",
}
AUTO = "one of three, chosen from a private profile of groups per user"
BOUNDS = "none to choose: a user's weight in the groups is shortened where it would cost too much"
BAR = "low to high covers the noise and what shortening users leaves out, as measured privately"


def plan_equal(
    dataset: Dataset, by: Any, rules: tuple[str, ...], limit: Zcdp, within: float, method: str
) -> Plan:
    """Plan counts of groups found in the data, about nine in ten within the target."""
    if not 0.01 <= within <= 0.5:
        raise UsageError(f"within must be from 0.01 to 0.5, such as 0.10, not {within}.")
    account = dataset.account
    mechanism = EqualError.calibrate(limit, within, method)
    count = _EqualCount(dataset, account, by, mechanism, rules)
    return planned(
        dataset,
        account,
        mechanism.event,
        count.read_and_draw,
        verb="count_users",
        by=by,
        arguments=(("method", method), ("within", within)),
        title=f"count users within {within:.3g}",
        method=AUTO if method == "auto" else METHODS["equal"],
        details=count.details(),
    )


@dataclass(frozen=True, slots=True)
class _EqualCount:
    dataset: Dataset
    account: Account
    by: Any
    mechanism: EqualError
    rules: tuple[str, ...]

    @property
    def promise(self) -> str:
        return f"about nine in ten rows within {self.mechanism.within:.3g} of the truth"

    def details(self) -> tuple[tuple[str, str], ...]:
        shares, limit = self.mechanism.shares, self.mechanism.limit
        branches = self._branches() if self.mechanism.method == "auto" else ()
        return (
            ("groups", "found in the data; those that can keep the promise are released"),
            ("promise", self.promise),
            ("profile", f"{float(shares.profile / limit.rho):.0%} of the budget: groups per user"),
            *branches,
            ("bound", BOUNDS),
            ("error bar", BAR),
            ("rules", " ".join(self.rules)),
        )

    def _branches(self) -> tuple[tuple[str, str], ...]:
        shares, within = self.mechanism.shares, self.mechanism.within
        single = self.mechanism.threshold(shares.after_profile)
        discover = self.mechanism.threshold(shares.discover)
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

    @staticmethod
    def _below(expected: float) -> str:
        if expected >= 0.9:
            return ""
        return ", less than nine in ten: a few users are in very many groups; spend more"

    def read_and_draw(self, key: bytes, entry: int, _progress: Progress) -> Release:
        with Store(self.dataset.table.engine) as store:
            pairs = Pairs(self.dataset.table, self.by, store, key=key)
            counted = self.mechanism.draw(pairs)
        rows = with_error_bars(
            pairs.groups.take(counted.positions),
            counted.counts,
            1,
            counted.sds,
            upper_point((1 - CONFIDENCE) / 2) * counted.sds,
        )
        facts = facts_of(
            self.dataset,
            self.account,
            self.mechanism.event,
            verb="count_users",
            method=METHODS[counted.method],
            bounds=BOUNDS,
            noise=f"discrete Gaussian, as much as each count allows: {self.promise}",
            entry=entry,
            notes=(
                f"Method {counted.method!r}: {counted.why}.",
                f"Expected share of rows within {self.mechanism.within:.3g} of the truth: "
                f"{counted.expected_within:.1%}{self._below(counted.expected_within)}.",
                BAR + ".",
                *self.rules,
            ),
        )
        return Release(rows, facts)
