"""A plan: what a release would do and cost, before anything is read or spent."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from headcount.accounting.compose import cost, cost_in_account
from headcount.accounting.convert import epsilon_at, shown
from headcount.ledger.account import Account
from headcount.privacy.spend import Zcdp
from headcount.releases.arguments import checked_release
from headcount.releases.run import Progress, Work, run

if TYPE_CHECKING:
    from headcount.ledger.ledger import Ledger
    from headcount.releases.release import Release


def _silent(_stage: str) -> None:
    """The default progress: none."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What would be released, by which method, at what cost. Print it; then ``release()`` it.

    A plan has one idempotency key. Releasing it twice charges once and shows the same rows.
    """

    work: Work
    ledger: Ledger
    account: Account
    title: str
    method: str
    details: tuple[tuple[str, str], ...]
    key: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def spend(self) -> Zcdp:
        """What the ledger will be charged."""
        stated, account = self.work.neighbours, self.account.neighbours
        return cost_in_account(cost(self.work.event), stated, account)

    @property
    def epsilon(self) -> Fraction:
        """The release's own epsilon at the account's delta."""
        return epsilon_at(self.spend.rho, self.account.stated_delta - self.account.limit.delta)

    def release(self, *, key: str | None = None, progress: Progress = _silent) -> Release:
        """Charge the ledger, read the table, draw the noise, and return what may be published."""
        said = checked_release(key=key, progress=progress)
        key = self.key if said["key"] is None else said["key"]
        return run(self.work, self.ledger, self.account.name, key, progress)

    def _left_after(self) -> str:
        after = Account(
            self.account.name,
            self.account.neighbours,
            self.account.limit,
            self.account.spent + self.spend,
            self.account.stated_delta,
        )
        return f"epsilon {shown(after.epsilon_left)} of {shown(after.epsilon_limit)}"

    def __repr__(self) -> str:
        return f"<Plan {self.title}: {self.method}, epsilon {shown(self.epsilon)}>"

    def __str__(self) -> str:
        lines = [
            ("method", self.method),
            *self.details,
            (
                "cost",
                f"epsilon {shown(self.epsilon)} at delta "
                f"{float(self.account.stated_delta):.3g}, from account {self.account.name!r}",
            ),
            ("left after", self._left_after()),
            ("so far", "nothing was read and nothing was charged"),
        ]
        width = max(len(name) for name, _ in lines)
        return "\n".join(
            [f"Plan: {self.title}", *(f"  {name:<{width}}  {text}" for name, text in lines)]
        )
