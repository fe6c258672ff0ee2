"""An opened table with its ledger account: the object that people call verbs on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headcount.ledger.account import Account
from headcount.releases.plan import Plan

if TYPE_CHECKING:
    from headcount.ledger.ledger import Ledger
    from headcount.privacy.budget import Budget
    from headcount.tables.user_table import UserTable


class Dataset:
    """A table of events, who its users are, and the budget that protects them."""

    def __init__(
        self, table: UserTable, ledger: Ledger, account: str, source: str, where: str | None
    ) -> None:
        self.table = table
        self.ledger = ledger
        self.account_name = account
        self.source = source
        self.where = where

    @property
    def account(self) -> Account:
        """The account as the ledger has it now."""
        return self.ledger.account(self.account_name)

    def count_users(
        self,
        by: Any,
        *,
        groups: Sequence[Any] | None = None,
        bound: int | None = None,
        within: float | None = None,
        method: str = "auto",
        spend: Budget | None = None,
    ) -> Plan:
        """Plan to count distinct users in each group. Nothing is read and nothing is spent.

        by:      a column, ``truncate(...)``, ``bins(...)``, or a list of these
        groups:  the groups to count, when they are public; every one of them is released.
                 Without it, groups are found in the data and only large ones are released
        bound:   in how many groups a user counts fully; the plan prints the default
        within:  the relative error to aim at, such as 0.10, instead of a bound
        method:  ``"threshold"`` bounds users and adds the same noise to all groups; ``"equal"``
                 gives all rows the same relative error; ``"peel"`` measures the largest groups
                 one by one; ``"auto"`` is the threshold, or with ``within`` what a private
                 profile of the users suggests
        spend:   what this release may cost; all that is left when not given
        """
        from headcount.releases.count_users import plan_count_users

        return plan_count_users(
            self, by, groups=groups, bound=bound, within=within, method=method, spend=spend
        )

    def distribution(
        self,
        by: Any,
        *,
        groups: Sequence[Any] | None = None,
        method: str = "auto",
        users: int | None = None,
        samples: int | None = None,
        spend: Budget | None = None,
    ) -> Plan:
        """Plan the share of each group in users' rows, averaged over users.

        Every user weighs the same, however many rows they have. Nothing is read or spent.

        by:       a column, ``truncate(...)``, ``bins(...)``, or a list of these
        groups:   the groups, when they are public; rows of others are dropped first. Without it,
                  groups are found in the data, and all others are one more share
        method:   ``"auto"``; ``"clip"`` and ``"coarse-fine"`` are its two halves in plain form;
                  ``"dense"``, ``"sparse"``, ``"gaussian"`` and ``"laplace"`` are for comparison
        users:    how many users there are, where that is public; it is paid for when not given
        samples:  about how many rows a user has, where that is public; the plan then says more
        spend:    what this release may cost; all that is left when not given
        """
        from headcount.releases.distribution import plan_distribution

        return plan_distribution(
            self, by, groups=groups, method=method, users=users, samples=samples, spend=spend
        )

    def profile(self, by: Any, *, spend: Budget | None = None) -> Plan:
        """Plan a private histogram of how many groups users are in.

        by:     a column, ``truncate(...)``, ``bins(...)``, or a list of these
        spend:  what this release may cost; all that is left when not given
        """
        from headcount.releases.profile import plan_profile

        return plan_profile(self, by, spend=spend)

    def __repr__(self) -> str:
        return f"<Dataset {self.source}, users in {self.table.user!r}, {self.account}>"
