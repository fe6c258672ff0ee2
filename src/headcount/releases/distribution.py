"""``distribution``: what share of a whole each group is, averaged over users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headcount.accounting.tail import upper_point
from headcount.contributions.distribution import UserShares
from headcount.contributions.distribution_found import FoundShares
from headcount.contributions.distribution_rows import listed_counts
from headcount.contributions.groups import Grouped, group_rows
from headcount.contributions.store import Store
from headcount.mechanisms.distribution import Distribution
from headcount.mechanisms.distribution_run import Learned
from headcount.releases.facts import CONFIDENCE, facts_of, limit_for, planned
from headcount.releases.release import Release
from headcount.releases.request import spell_groups
from headcount.releases.rows import with_share_bars

if TYPE_CHECKING:
    from headcount.contributions.listed import Groups
    from headcount.ledger.account import Account
    from headcount.privacy.budget import Budget
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan
    from headcount.releases.stages import Progress

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
MEANING = "each user's share of their own rows, averaged over users: all users weigh the same"
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
    dataset: Dataset,
    by: Any,
    *,
    groups: Sequence[Any] | None,
    method: str,
    users: int | None,
    samples: int | None,
    spend: Budget | Fraction,
) -> Plan:
    """Plan shares of known groups, or of groups that are found and one for all others."""
    account = dataset.account
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
    return planned(
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
    dataset: Dataset
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
                f"found in the data, if users weigh about {least:,.0f} or more there, each 1 over "
                "the root of their groups; all others are one share"
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

    def read_and_draw(self, key: bytes, entry: int, progress: Progress) -> Release:
        engine = self.dataset.table.engine
        with Store(engine) as store:
            if self.grouped.listed is not None:
                progress(LISTED)
                shares = UserShares(listed_counts(self.grouped), len(self.grouped.listed), store)
                learned = self.mechanism.draw(shares)
                names = self._listed_names()
            else:
                progress(FOUND)
                found = FoundShares(self.dataset.table, self.by, store, key=key)
                learned = self.mechanism.draw_found(found)
                names = with_other(found.groups)
        return self._release(names, learned, entry)

    def _listed_names(self) -> pa.Table:
        listed = self.grouped.listed
        assert listed is not None  # noqa: S101  asked of listed groups only
        return listed.arrow(self.grouped.names, {})

    def _release(self, names: pa.Table, learned: Learned, entry: int) -> Release:
        half_width = upper_point((1 - CONFIDENCE) / 2) * learned.sds
        rows = with_share_bars(names, learned.shares, learned.sds, half_width)
        facts = facts_of(
            self.dataset,
            self.account,
            self.mechanism.event,
            verb="distribution",
            method=HOW[self.mechanism.method],
            bounds=BOUNDS,
            noise=f"typical sd {float(np.median(learned.sds)):.2g} of a share",
            entry=entry,
            notes=(f"Method: {learned.why}.", MEANING + ".", self.bar + ".", *self.rules),
            neighbours=self.account.neighbours,
            value="share",
        )
        return Release(rows, facts)


def with_other(found: pa.Table) -> pa.Table:
    """The groups that were found and, last, one row for all others.

    That row has no group; a column of its own tells it from a group that is really missing.
    """
    last = pa.table({field.name: pa.nulls(1, field.type) for field in found.schema})
    both = pa.concat_tables([found, last])
    return both.append_column(OTHER, pa.array([False] * found.num_rows + [True]))
