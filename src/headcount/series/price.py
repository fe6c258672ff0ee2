"""What a year of a series costs, from its file and the calendar alone: nothing is opened.

A window pays the whole of every release that it is a part of: that of its day, of its week, and of
its month. A person who is in several windows pays for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction

from headcount.accounting.convert import share_of, shown, spend_of, zcdp_of
from headcount.ledger.account import Account
from headcount.ledger.presence import Presence, presences, same_in_all
from headcount.ledger.windows import Windows
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.series.calendar import windows
from headcount.series.file import Repeated, SeriesFile


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a series would release and cost in so many days from its next window on. Print it."""

    account: str
    """The account that pays."""
    unit: str
    """What a window is: a day, a week or a month."""
    limit: Zcdp
    """What each window may spend."""
    dearest: Zcdp
    """What the window pays that pays the most."""
    first_over: date | None
    """The first window that could not pay for all of its releases."""
    lines: tuple[str, ...]
    """One for each release: how often, and what it costs."""
    presence: tuple[Presence, ...]
    """What somebody pays at the most who is in several windows, at the whole budget of each."""

    @property
    def fits(self) -> bool:
        """Whether every window can pay for all releases that it is a part of."""
        return self.first_over is None

    @property
    def exit_code(self) -> int:
        """What ``headcount run --dry-run`` ends with: 3 where a window could not pay."""
        return 0 if self.fits else 3

    def __str__(self) -> str:
        return "\n".join(self._said())

    def _said(self) -> Iterator[str]:
        yield from self.lines
        of = f"rho {float(self.dearest.rho):g} of {float(self.limit.rho):g}"
        yield f"one {self.unit} pays at most {of}, delta {float(self.dearest.delta):g} of " + (
            f"{float(self.limit.delta):g} for thresholds"
        )
        if not self.fits:
            yield (
                f"That is more than it may: from {self.first_over} on a release would be refused. "
                "Spend less, or set a larger budget before the account is opened."
            )
        yield f"one user within one {self.unit} is protected; whoever is there for longer pays"
        for one in self.presence:
            epsilon = f"epsilon {shown(one.epsilon, up=True)} at delta {float(one.delta):.3g}"
            yield f"  {one.words:<10}  rho {float(one.rho):<8g}  {epsilon}"
        yield same_in_all(self.unit)
        yield "Nothing was opened, read or charged."


def dry_run(file: SeriesFile, today: date, days: int) -> DryRun:
    """What the windows of so many days from today on would release and pay."""
    limit, stated = zcdp_of(file.budget), file.budget.stated_delta
    last = today + timedelta(days=days - 1)
    paid: dict[date, Zcdp] = {}
    lines = []
    for release in file.releases:
        spend, n = cost_of(release, limit, stated), 0
        for window in windows(release.every, max(release.start, today), last):
            n += 1
            for unit in windows(file.window.to, window.first, window.last):
                paid[unit.first] = paid.get(unit.first, Zcdp(Fraction(0))) + spend
        often = f"{n:,} window{'' if n == 1 else 's'} in {days:,} days"
        lines.append(
            f"{release.name}: {release.verb} every {release.every}, {often}, "
            f"rho {float(spend.rho):g} each"
        )
    over = sorted(day for day, spend in paid.items() if not spend <= limit)
    dearest = max(paid.values(), key=lambda one: (not one <= limit, one.rho), default=Zcdp(0))
    return DryRun(
        account=file.account,
        unit=file.window.to,
        limit=limit,
        dearest=dearest,
        first_over=over[0] if over else None,
        lines=tuple(lines),
        presence=tuple(presences(_account(file))),
    )


def _account(file: SeriesFile) -> Account:
    """The account as the first release opens it."""
    of = Windows.of(file.window.column, file.window.to, file.zone, file.budget)
    return Account.new(file.account, Neighbours.ADD_REMOVE, file.lifetime, of)


def cost_of(release: Repeated, limit: Zcdp, stated: Fraction) -> Zcdp:
    """The most that a release takes from each of its windows."""
    if isinstance(release.spend, Fraction):
        return share_of(release.spend, limit)
    return spend_of(release.spend, limit, stated)
