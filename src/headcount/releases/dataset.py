"""An opened table with its ledger account: the object that people call verbs on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headcount.releases.opened import Opened
from headcount.releases.plan import Plan
from headcount.releases.verbs import planned
from headcount.screens import visible

if TYPE_CHECKING:
    from datetime import date

    from headcount.privacy.exact import Number
    from headcount.releases.choices import (
        EventsMethod,
        FrequenciesMethod,
        PerUser,
        QuantilesMethod,
        RangesMethod,
        SharesMethod,
        SqlMethod,
        UsersMethod,
    )
    from headcount.releases.facts import Spend
    from headcount.tables.by import By


class Dataset(Opened):
    """A table of events, who its users are, and the budget that protects them.

    Any number of threads may plan and release from one: each release has a connection of its own.
    What one release may cost is always said: ``spend=hc.Budget(epsilon=1)``, or a share of the
    account's whole limit, ``spend="1/10"``.
    """

    def during(self, first: str | date, last: str | date | None = None) -> Dataset:
        """The rows of these windows alone, where the account has a budget for each window.

        Each window pays what a release is said to spend, and no other pays anything.

        first:  a window, or a part of the calendar that is several whole ones: ``"2026-03-01"``,
                ``"2026-03"``, ``"2026"``, ``"2026-W10"``; or the first of several
        last:   the last of several, included
        """
        return self._during(first, last)

    def count_users(
        self,
        by: By,
        *,
        groups: Sequence[Any] | None = None,
        bound: int | None = None,
        within: float | None = None,
        top: int | None = None,
        method: UsersMethod = "auto",
        spend: Spend | None = None,
    ) -> Plan:
        """Plan to count distinct users in each group. Nothing is read and nothing is spent.

        by:      a column, ``truncate(...)``, ``bins(...)``, or a list of these
        groups:  the groups to count, when they are public; every one of them is released.
                 Without it, groups are found in the data and only large ones are released
        bound:   in how many groups a user counts fully; then the bars cover the noise only
        within:  the relative error to aim at, such as 0.10; rows that cannot keep it are withheld
        top:     only the largest groups, so many of them
        method:  ``"threshold"`` bounds users, at 20 groups if no bound is given, and adds the
                 same noise to all groups; ``"laplace"`` counts users in one group or ``bound``,
                 also where users are replaced; ``"equal"`` gives all rows nearly the same
                 relative error; ``"peel"`` measures the largest groups one by one; ``"sample"``
                 shows exact counts of a secret sample; ``"auto"`` is what a private profile of
                 the users suggests, with bars for noise and what is left out; with ``top`` up to
                 100 it peels, with up to 63 listed groups it counts users in all of them, of
                 more it measures each, and with a ``bound`` it bounds users
        spend:   what this release may cost: a ``Budget``, or a share such as ``"1/10"``
        """
        return planned(
            "count_users",
            self,
            by=by,
            groups=groups,
            bound=bound,
            within=within,
            top=top,
            method=method,
            spend=spend,
        )

    def count_events(
        self,
        by: By,
        *,
        groups: Sequence[Any] | None = None,
        top: int | None = None,
        within: float | None = None,
        bound: float | None = None,
        method: EventsMethod = "auto",
        debias: bool = False,
        spend: Spend | None = None,
    ) -> Plan:
        """Plan to count rows in each group. Nothing is read and nothing is spent.

        by:      a column, ``truncate(...)``, ``bins(...)``, or a list of these
        groups:  the groups to count, when they are public; every one of them is released.
                 Without it, groups are found in the data and only large ones are released
        top:     release only so many of the largest noisy counts
        within:  the relative error to aim at, such as 0.10, for groups that are found
        bound:   for how many events one user counts, when that is public; without it, the bound
                 is chosen privately, where what it leaves out and the noise are least together
        method:  where groups are found, ``"auto"`` measures as many as the budget carries, and what
                 it leaves out of each; ``"gaussian"`` and ``"laplace"`` noise take one bound for
                 all, and their bars cover the noise only. Of a list ``"auto"`` is ``"gaussian"``
        debias:  undo what the bound takes from users who are alike; see how-to/count-events
        spend:   what this release may cost: a ``Budget``, or a share such as ``"1/10"``
        """
        return planned(
            "count_events",
            self,
            by=by,
            groups=groups,
            top=top,
            within=within,
            bound=bound,
            method=method,
            debias=debias,
            spend=spend,
        )

    def distribution(
        self,
        by: By,
        *,
        groups: Sequence[Any] | None = None,
        method: SharesMethod = "auto",
        users: int | None = None,
        samples: int | None = None,
        spend: Spend | None = None,
    ) -> Plan:
        """Plan the share of each group in users' rows, averaged over users.

        Every user counts the same, however many rows they have. Nothing is read or spent.

        by:       a column, ``truncate(...)``, ``bins(...)``, or a list of these
        groups:   the groups, when they are public; rows of others are dropped first. Without it,
                  groups are found in the data, and all others are one more share
        method:   ``"auto"``; ``"clip"`` and ``"coarse-fine"`` are its two halves in plain form;
                  ``"dense"``, ``"sparse"``, ``"gaussian"`` and ``"laplace"`` are for comparison
        users:    how many users there are, where that is public; it is paid for when not given
        samples:  about how many rows a user has, where that is public; the plan then says more
        spend:    what this release may cost: a ``Budget``, or a share such as ``"1/10"``
        """
        return planned(
            "distribution",
            self,
            by=by,
            groups=groups,
            method=method,
            users=users,
            samples=samples,
            spend=spend,
        )

    def profile(self, by: By, *, spend: Spend | None = None) -> Plan:
        """Plan a private histogram of how many groups users are in.

        by:     a column, ``truncate(...)``, ``bins(...)``, or a list of these
        spend:  what this release may cost: a ``Budget``, or a share such as ``"1/10"``
        """
        return planned("profile", self, by=by, spend=spend)

    def quantiles(
        self,
        of: str | None,
        *,
        at: Sequence[Number] | Number = (0.5,),
        bounds: tuple[Number, Number],
        step: Number | None = None,
        per_user: PerUser = "median",
        method: QuantilesMethod = "auto",
        spend: Spend | None = None,
    ) -> Plan:
        """Plan quantiles of a number over users. Nothing is read and nothing is spent.

        of:        a column of numbers; ``None`` takes how many rows each user has
        at:        which quantiles, such as ``[0.25, 0.5, 0.75]``
        bounds:    public ends; values beyond are moved to them
        step:      the width of the public cells; by default one integer, or 1/4096 of the bounds
        per_user:  the one value of a user with many: ``"median"``, ``"mean"``, ``"sum"``,
                   ``"min"``, ``"max"`` or ``"sampled"``
        method:    ``"hierarchy"`` adds noise to counts of cells at many levels; ``"exponential"``
                   also chooses each quantile by itself; ``"auto"`` is the better of these.
                   ``"sample"``, ``"sample-levels"`` and ``"sample-search"`` show exact counts of
                   secret samples instead: of the cells, of each level, of each step of a search
        spend:     what this release may cost: a ``Budget``, or a share such as ``"1/10"``
        """
        return planned(
            "quantiles",
            self,
            of=of,
            at=at,
            bounds=bounds,
            step=step,
            per_user=per_user,
            method=method,
            spend=spend,
        )

    def count_ranges(
        self,
        of: str | None,
        ranges: Sequence[tuple[Number | None, Number | None]] | Sequence[Number],
        *,
        per_user: PerUser = "median",
        method: RangesMethod = "auto",
        spend: Spend | None = None,
    ) -> Plan:
        """Plan to count users by the range their value is in. Nothing is read or spent.

        of:        a column of numbers; ``None`` takes how many rows each user has
        ranges:    public pairs, from a number up to and without another; they may overlap, and
                   ``None`` leaves an end open. Plain numbers are the ends of ranges side by side
        per_user:  the one value of a user with many, as for ``quantiles``
        method:    ``"hierarchy"`` adds noise to counts at several levels; ``"auto"`` takes it.
                   ``"sample"`` and ``"sample-levels"`` show exact counts of secret samples
        spend:     what this release may cost: a ``Budget``, or a share such as ``"1/10"``
        """
        return planned(
            "count_ranges",
            self,
            of=of,
            ranges=ranges,
            per_user=per_user,
            method=method,
            spend=spend,
        )

    def frequencies(
        self,
        by: By,
        *,
        groups: Sequence[Any] | None = None,
        at_most: int | None = None,
        buckets: int | None = None,
        bound: int | None = None,
        method: FrequenciesMethod = "auto",
        spend: Spend | None = None,
    ) -> Plan:
        """Plan to release how many groups have each number of users, but not which groups.

        by:       a column, ``truncate(...)``, ``bins(...)``, or a list of these
        groups:   the groups to look at, when they are public
        at_most:  how many groups there can be, when that is public; paid for when not given
        buckets:  hash groups into so many, for ``"laplace"`` when the groups are not public
        bound:    how many groups of a user are counted; chosen from a private profile if not given
        method:   ``"central"`` adds noise to sorted counts; ``"laplace"`` to every group or bucket,
                  as pan-private and shuffled counters do; ``"auto"`` is central without buckets
        spend:    what this release may cost: a ``Budget``, or a share such as ``"1/10"``
        """
        return planned(
            "frequencies",
            self,
            by=by,
            groups=groups,
            at_most=at_most,
            buckets=buckets,
            bound=bound,
            method=method,
            spend=spend,
        )

    def sql(
        self,
        query: str,
        *,
        groups: Sequence[Any] | None = None,
        within: float | None = None,
        bound: float | None = None,
        method: SqlMethod = "auto",
        spend: Spend | None = None,
    ) -> Plan:
        """Plan what a query in SQL asks, where a verb means the same. Nothing is read or spent.

        ``SELECT page, COUNT(DISTINCT user_id) FROM events WHERE country = 'SE' GROUP BY page
        ORDER BY 2 DESC LIMIT 20`` is ``count_users("page", top=20)`` of those rows: the same plan,
        and one answer. ``COUNT(*)`` is ``count_events``. All else is refused, with the nearest
        query that works; see how-to/sql.

        query:   one SELECT over this table, by the file's name without its ending, the table's
                 name, or ``events`` where it has none
        groups:  the groups to count, when they are public, as in the verb
        within:  the relative error to aim at, such as 0.10
        bound:   for how much a user counts, as in the verb
        method:  how, as in the verb
        spend:   what this release may cost: a ``Budget``, or a share such as ``"1/10"``
        """
        return planned(
            "sql",
            self,
            query=query,
            groups=groups,
            within=within,
            bound=bound,
            method=method,
            spend=spend,
        )

    def __repr__(self) -> str:
        return (
            f"<Dataset {visible(self.account_name)}, users in {self.table.user!r}, {self.account}>"
        )
