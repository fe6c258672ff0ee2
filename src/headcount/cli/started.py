"""What was answered to ``headcount start``, as a plan, as a command, and as Python."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import headcount as hc
from headcount.tables.kinds import in_python

if TYPE_CHECKING:
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan
    from headcount.tables.by import GroupBy

OFTEN = {"once": "1/4", "monthly": "1/12", "weekly": "1/52", "daily": "1/365"}
"""How often, and what share of the budget each release gets: then it lasts for a year."""
ONCE = "once"
TODAY = "$(date +%F)"


@dataclass(frozen=True, slots=True)
class Started:
    """The answers so far. Each new one is held against a plan, which charges nothing."""

    source: str
    ledger: str | None
    account: str | None
    user: str = ""
    verb: str = "count_users"
    by: tuple[GroupBy, ...] = ()
    budget: str | None = None
    within: float | None = None
    often: str = ONCE
    opened: dict[tuple[str, str | None], Dataset] = field(default_factory=dict)
    """Once for each answer that matters: not every question opens the table anew."""

    def data(self) -> Dataset:
        """The table, with its account, or with the budget that a release would open one with."""
        known = (self.user, self.budget)
        if known not in self.opened:
            self.opened[known] = self._opened(hc.Budget(epsilon=self.budget or 1))
        return self.opened[known]

    def _opened(self, budget: hc.Budget) -> Dataset:
        said: dict[str, Any] = {"ledger": self.ledger, "account": self.account}
        try:
            return hc.open(self.source, user=self.user, **said)
        except hc.NoAccountError:
            return hc.open(self.source, user=self.user, budget=budget, **said)

    def plan(self) -> Plan:
        """What would be released."""
        target = {} if self.within is None else {"within": self.within}
        plan: Plan = getattr(self.data(), self.verb)(
            list(self.by), spend=OFTEN[self.often], **target
        )
        return plan

    @property
    def has_account(self) -> bool:
        """Whether the budget of these people is decided."""
        data = self.data()
        return data.ledger.find_account(data.account_name) is not None

    @property
    def account_said(self) -> str:
        """The account in words."""
        return str(self.data().account)

    def with_user(self, user: str) -> Started:
        """Whose rows these are."""
        if not user:
            raise hc.UsageError("Name a column, such as user_id. Nothing was charged.")
        asked = replace(self, user=user)
        asked.data()
        return asked

    def with_count(self, verb: str, by: list[GroupBy]) -> Started:
        """What is counted, by what."""
        return replace(self, verb=verb, by=tuple(by)).checked()

    def with_budget(self, epsilon: str) -> Started:
        """What may ever be spent."""
        return replace(self, budget=epsilon).checked()

    def with_target(self, within: float | None) -> Started:
        """How good rows must be."""
        return replace(self, within=within).checked()

    def with_share(self, often: str) -> Started:
        """How often it is released."""
        return replace(self, often=often).checked()

    def checked(self) -> Started:
        """The same, if it can be planned."""
        self.plan()
        return self

    @property
    def key(self) -> str:
        """What names a release that is repeated; the day comes behind it."""
        words = "-".join([self.verb, *map(str, self.by)])
        return re.sub(r"[^A-Za-z0-9]+", "-", words).strip("-")

    @property
    def command(self) -> str:
        """What to write in a shell, where the day is put in by itself."""
        options = {"--user": [self.user], "--by": [str(part) for part in self.by]}
        if self.within is not None:
            options["--within"] = [repr(self.within)]
        options["--spend"] = [OFTEN[self.often]]
        for name in ("budget", "ledger", "account"):
            if getattr(self, name) is not None:
                options[f"--{name}"] = [getattr(self, name)]
        said = [
            f"{name}={shlex.quote(value)}" if value[:1] == "-" else f"{name} {shlex.quote(value)}"
            for name, values in options.items()
            for value in values
        ]
        if self.often != ONCE:
            said.append(f'--fresh --key "{self.key}-{TODAY}"')
        verb = self.verb.replace("_", "-")
        return " ".join(["headcount", verb, shlex.quote(self.source), *said])

    @property
    def python(self) -> str:
        """The same in Python."""
        opened = [repr(self.source), f"user={self.user!r}"]
        if self.budget is not None:
            opened.append(f"budget=hc.Budget(epsilon={self.budget!r})")
        for name in ("ledger", "account"):
            if getattr(self, name) is not None:
                opened.append(f"{name}={getattr(self, name)!r}")
        counted = [f"by=[{', '.join(map(in_python, self.by))}]"]
        if self.within is not None:
            counted.append(f"within={self.within!r}")
        counted.append(f"spend={OFTEN[self.often]!r}")
        once = self.often == ONCE
        again = "" if once else f'fresh=True, key=f"{self.key}-{{date.today()}}"'
        return "\n".join(
            [
                *([] if once else ["from datetime import date", ""]),
                "import headcount as hc",
                "",
                f"data = hc.open({', '.join(opened)})",
                f"plan = data.{self.verb}({', '.join(counted)})",
                f"release = plan.release({again})",
                "print(release)",
            ]
        )
