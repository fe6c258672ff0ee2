"""Two tables that differ by one user, asked together: a stage costs what answers differ by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from headcount.audit.verdict import Finding, Tier
from headcount.contributions.equal_error.known import ClippedPairs, KnownPairs
from headcount.contributions.pairs import Pairs
from headcount.privacy.query import Query
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given
from headcount.trials.lone_groups import least_shown, shown_alone
from headcount.trials.seam import Integers, Recorder


@dataclass
class Log(Recorder):
    """A chance that pairs what is drawn with what was charged, and keeps what it finds."""

    subject: str = ""
    moved: list[int] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    n_stages: int = 0
    """How many queries were drawn for."""

    def paid(self) -> Zcdp:
        """What was charged for this query; a query that nobody charged is worth nothing."""
        charges = self.charges[self.n_stages :]
        return charges[0] if charges else Zcdp(0)

    def noisy(self, true_counts: Integers, law: Any) -> Integers:
        """No noise: the answer itself, and a finding from how far the two tables are apart."""
        squared = sum(part**2 for part in self.moved)
        self.stage(float(squared / (2 * law.sigma_squared)))
        return true_counts

    def select(self, scores: Integers, epsilon_over_range: Fraction) -> int:
        """The best candidate, and a finding from the range of the difference."""
        epsilon = (max(self.moved) - min(self.moved)) * epsilon_over_range
        # Also when all sums move alike: a score may stop at the allowance and not move at all.
        epsilon = max(epsilon, max(map(abs, self.moved)) * epsilon_over_range)
        self.stage(float(epsilon**2 / 8))
        return int(np.argmax(scores))

    def stage(self, rho: float) -> None:
        """What a stage costs against what it was charged."""
        paid = self.paid()
        self.n_stages += 1
        self.found("rho", float(paid.rho), rho)

    def found(self, measure: str, claimed: float, value: float) -> None:
        """Write a finding down, with the number of the stage."""
        subject = f"{self.subject}, stage {self.n_stages}"
        self.findings.append(Finding(Tier.GREY_BOX, subject, measure, claimed, value))

    def in_all(self, limit: Zcdp) -> list[Finding]:
        """All that was charged against what may be spent."""
        rho = float(sum(charge.rho for charge in self.charges))
        delta = float(sum(charge.delta for charge in self.charges))
        return [
            Finding(Tier.GREY_BOX, self.subject, "rho in all", float(limit.rho), rho),
            Finding(Tier.GREY_BOX, self.subject, "delta in all", float(limit.delta), delta),
        ]


@dataclass
class Twin:
    """Puts every query to both tables, and answers for the one with the user."""

    one: Any
    other: Any
    log: Log
    n_later: int = 0
    """How many groups do not leave a discovery."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def asked(*arguments: Any, **named: Any) -> Any:
            left = getattr(self.one, name)(*_sides(arguments, "one"), **named)
            right = getattr(self.other, name)(*_sides(arguments, "other"), **named)
            if isinstance(left, KnownPairs | ClippedPairs | Pairs):
                return Twin(left, right, self.log)
            if left is None:
                return None
            if isinstance(left, Query):
                return self.both(left, right)
            return [self.both(*queries) for queries in zip(left, right, strict=True)]

        return asked

    def both(self, left: Query[Integers], right: Query[Integers]) -> Query[Integers]:
        """The question to both tables at once, when it is asked."""

        def ask() -> Integers:
            true_values = left.ask()
            self.log.moved = (np.ravel(true_values) - np.ravel(right.ask())).tolist()
            return true_values

        return Query(left.sensitivity, ask)

    def discover(self, bounds: Any, draw: Callable[[Query[Integers]], Any]) -> Integers:
        """Both tables have the same groups, so their totals can be put side by side."""
        queries: list[Query[Integers]] = []

        def everything(query: Query[Integers]) -> tuple[npt.NDArray[np.intp], Integers]:
            queries.append(query)
            return _everything(query.ask())

        left, right = (side.discover(bounds, everything) for side in (self.one, self.other))
        claimed = queries[0].sensitivity
        n_found = len(left) - self.n_later
        for side in (self.one, self.other):
            side.groups = side.groups.slice(0, n_found)
        left, right = left[:n_found], right[:n_found]
        paid = self.log.paid()
        kept, totals = draw(self.both(given(claimed, left), given(claimed, right)))
        leaves = shown_alone(claimed, *least_shown(draw, claimed, self.log))
        self.log.found("delta", float(paid.delta), leaves)
        if len(kept) < len(left):
            raise ValueError("every group of the trial is above the threshold")
        noisy: Integers = totals
        return noisy


class ListedTwin(Twin):
    """The same for groups that are listed."""

    @property
    def differences(self) -> Query[Integers]:
        """To both tables at once."""
        return self.both(self.one.differences, self.other.differences)

    @property
    def users(self) -> Query[Integers]:
        """To both tables at once."""
        return self.both(self.one.users, self.other.users)


def _sides(arguments: Sequence[Any], side: str) -> list[Any]:
    """What a question to one of the tables is about."""
    return [getattr(one, side) if isinstance(one, Twin) else one for one in arguments]


def _everything(true_totals: Integers) -> tuple[npt.NDArray[np.intp], Integers]:
    return np.arange(len(true_totals)), true_totals
