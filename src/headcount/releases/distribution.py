"""``distribution``: what share of a whole each group is, averaged over users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headcount.accounting.tail import upper_point
from headcount.contributions.distribution.found import FoundShares
from headcount.contributions.distribution.rows import listed_counts
from headcount.contributions.distribution.shares import UserShares
from headcount.contributions.groups import Grouped, group_rows
from headcount.errors import UsageError
from headcount.mechanisms.distribution.mechanism import Distribution
from headcount.mechanisms.distribution.stages import Learned
from headcount.privacy.argument import NOTHING
from headcount.releases.facts import affordable_plan, limit_for
from headcount.releases.request import spell_groups
from headcount.releases.rows import with_share_bars
from headcount.releases.session import Answer, Session
from headcount.results.facts import CONFIDENCE

if TYPE_CHECKING:
    from headcount.contributions.listed import Groups
    from headcount.ledger.account import Account
    from headcount.privacy.budget import Budget
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

LISTED = "summing users' shares of the listed groups"
FOUND = "finding groups, then summing users' shares of them"
OTHER = "other"
HOW = {
    "auto": "a coarse centre, then what users differ from it by, clipped; or plain clipping",
    "clip": "users' shares clipped to a typical length, one sum",
    "coarse-fine": "a coarse centre, then what users differ from it by, in its plain form",
    "dense": "hypothesis selection among binomials, group by group (for comparison)",
    "gaussian": "one sum of users' shares with Gaussian noise (for comparison)",
    "laplace": "one sum of users' shares with Laplace noise (for comparison)",
    "sparse": "hypothesis selection, and presence alone for small groups (for comparison)",
}
MEANING = "each user's share of their own rows, averaged over users: every user counts the same"
BOUNDS = "none to choose: users' shares are shortened to a length that is chosen privately"
BAR = (
    "low to high covers the noise; users who differ much from the rest count less, and what that "
    "shifts is not in it"
)
RESOLUTION = "low to high is the resolution of the method's grid, or its noise for small groups"
NOT_FOR = (
    "few users, users with a row or two, or with all rows in one group: more rows of others do not "
    "help there; users who are not alike: shares lean to typical ones"
)


def plan_distribution(
    dataset: Opened,
    by: Any,
    *,
    groups: Sequence[Any] | None,
    method: str,
    users: int | None,
    samples: int | None,
    spend: Budget | Fraction,
) -> Plan:
    """Plan shares of known groups, or of groups that are found and one for all others."""
    account, during = dataset.account, dataset.table.windows
    if during is not None and users is not None:
        raise UsageError(
            f"users= is how many users there are, and how many each {during.window.unit} has is "
            f"protected: leave it out. It is paid for then. {NOTHING}"
        )
    grouped = group_rows(dataset.table, by, groups)
    mechanism = Distribution.calibrate(
        limit_for(account, spend),
        method,
        account.neighbours,
        found=groups is None,
        users=users,
        samples=samples,
    )
    shares = _Shares(dataset, account, by, grouped.given, grouped, mechanism)
    return affordable_plan(
        dataset,
        account,
        mechanism.event,
        shares.read_and_draw,
        verb="distribution",
        by=by,
        groups=groups,
        arguments=(
            ("groups", spell_groups(grouped.given)),
            ("method", method),
            ("users", users),
            ("samples", samples),
        ),
        title="distribution",
        method=HOW[method],
        stages=(FOUND,) if groups is None else (LISTED,),
        details=shares.details(),
        neighbours=account.neighbours,
    )


@dataclass(frozen=True, slots=True)
class _Shares:
    dataset: Opened
    account: Account
    by: Any
    groups: Groups | None
    grouped: Grouped
    mechanism: Distribution

    @property
    def bar(self) -> str:
        return RESOLUTION if self.mechanism.method in ("dense", "sparse") else BAR

    @property
    def rules(self) -> tuple[str, ...]:
        rules = self.grouped.rules
        if self.groups is not None:
            return (
                *rules,
                "Rows of groups that are not listed are dropped before shares are made.",
            )
        return (*rules, "Rows of groups that are not found count in one other share.")

    def details(self) -> tuple[tuple[str, str], ...]:
        mechanism = self.mechanism
        if self.groups is None:
            least = mechanism.threshold.threshold / mechanism.threshold.bounds.scale
            groups = (
                f"found in the data, from about {least:,.0f} users on, where a user in four groups "
                "counts as half a user; all others are one share"
            )
        else:
            groups = f"{len(self.grouped.listed or ()):,} known groups, all released"
        number = (
            "public" if mechanism.users is not None else "private: 1% of the cost is to know it"
        )
        return (
            ("meaning", MEANING),
            ("groups", groups),
            ("users", number),
            *self._regime(),
            ("bound", BOUNDS),
            ("error bar", self.bar),
            ("not for", NOT_FOR),
            ("rules", " ".join(self.rules)),
        )

    def _regime(self) -> tuple[tuple[str, str], ...]:
        """What public facts say of how samples and groups compare."""
        samples = self.mechanism.samples
        if self.groups is None or samples is None:
            return ()
        n_groups = len(self.grouped.listed or ())
        if n_groups <= samples:
            text = (
                f"dense, {n_groups:,} groups and {samples:,} rows a user: noise falls as its root"
            )
        else:
            text = (
                f"sparse, {n_groups:,} groups and {samples:,} rows a user: most of what a user "
                "differs by is chance, and small shares are drawn to what is likely"
            )
        return (("regime", text),)

    def read_and_draw(self, session: Session) -> Answer:
        if self.grouped.listed is not None:
            session.progress(LISTED)
            counted, n_groups = listed_counts(self.grouped), len(self.grouped.listed)
            shares = UserShares(counted, n_groups, session.store, self.account.neighbours)
            learned = self.mechanism.draw(shares, session.chance)
            names = self._listed_names()
        else:
            session.progress(FOUND)
            found = FoundShares(self.dataset.table, self.by, session.store, key=session.key)
            learned = self.mechanism.draw_found(found, session.chance)
            names = with_other(found.groups)
        return self._answer(names, learned)

    def _listed_names(self) -> pa.Table:
        listed = self.grouped.listed
        assert listed is not None  # noqa: S101  asked of listed groups only
        return listed.arrow(self.grouped.names, {})

    def _answer(self, names: pa.Table, learned: Learned) -> Answer:
        half_width = upper_point((1 - CONFIDENCE) / 2) * learned.sds
        rows = with_share_bars(names, learned.shares, learned.sds, half_width)
        return Answer(
            rows,
            method=HOW[self.mechanism.method],
            bounds=BOUNDS,
            noise=f"typical sd {float(np.median(learned.sds)):.2g} of a share",
            notes=(f"Method: {learned.why}.", MEANING + ".", self.bar + ".", *self.rules),
            value="share",
        )


def with_other(found: pa.Table) -> pa.Table:
    """The groups that were found and, last, one row for all others.

    That row has no group; a column of its own tells it from a group that is really missing.
    """
    last = pa.table({field.name: pa.nulls(1, field.type) for field in found.schema})
    both = pa.concat_tables([found, last])
    return both.append_column(OTHER, pa.array([False] * found.num_rows + [True]))
