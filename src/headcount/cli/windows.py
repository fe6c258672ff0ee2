"""Accounts with a budget for each window of time, as a shell opens and shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import typer

from headcount.errors import UsageError
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    from headcount.ledger.account import Account, Entry
    from headcount.ledger.ledger import Ledger
    from headcount.ledger.windows import Windows

MOST_SHOWN = 400
"""More rows than a year of days has are asked for in parts."""


WINDOW = typer.Option(
    None,
    help="A budget for each window of time: its column and hour, day, week or month, as in "
    "time:day. --budget is then the limit of all together, and may be left out.",
)
ZONE = typer.Option(
    None, help="With --window: the zone of its calendar, such as Europe/Stockholm. Else UTC."
)
EACH = typer.Option(
    None, "--budget-per-window", help="With --window: what each may ever spend, as epsilon."
)
SHOWN = typer.Option(
    None, help="What these windows have left: a day, a month, a year, or two with .. between."
)


def asked(window: str | None, zone: str | None, each: str | None, delta: str) -> Windows | None:
    """What a window is and what each may spend, as a shell says it."""
    from headcount.ledger.windows import Windows
    from headcount.privacy.budget import Budget

    if window is None:
        if zone is not None or each is not None:
            raise UsageError(
                "--zone and --budget-per-window are for --window, which says what a window is: "
                "--window time:day. Nothing was opened."
            )
        return None
    column, _, unit = window.rpartition(":")
    if not column or each is None:
        raise UsageError(
            "A window is written as its column and its unit, with what each may spend: --window "
            "time:day --budget-per-window 0.8. Nothing was opened."
        )
    return Windows.of(column, unit, zone or "UTC", Budget(epsilon=each, delta=delta))


def about(account: Account, entries: Sequence[Entry], windows: str | None) -> Sequence[Entry]:
    """The entries that any of these windows paid; all where none are asked for."""
    from headcount.privacy.event import Windowed
    from headcount.privacy.windows import ranges

    if windows is None or account.windows is None:
        return entries
    first, last = ranges(windows, account.windows.unit)
    return [
        entry
        for entry in entries
        if isinstance(entry.event, Windowed)
        and entry.event.first <= last
        and entry.event.last >= first
    ]


def paid(account: Account, entry: Entry) -> tuple[str, str, str]:
    """Epsilon, share and delta of an entry: of each window that paid, or of the account."""
    from headcount.accounting.convert import epsilon_at, shown
    from headcount.ledger.statement.bar import percent_of, share_of
    from headcount.privacy.event import Windowed

    spend, of = entry.spend, account.windows
    share = share_of(account, spend)
    at = account.noise_delta
    if isinstance(entry.event, Windowed) and of is not None:
        times, at = entry.event.times, of.noise_delta
        spend = Zcdp(spend.rho / times, spend.delta / times)
        share = spend.rho / of.limit.rho
    return shown(epsilon_at(spend.rho, at)), percent_of(share), f"{float(spend.delta):.3g}"


def lines(book: Ledger, account: Account, windows: str | None) -> Iterator[str]:
    """What windows may spend and have spent; one by one, where some are asked for."""
    from headcount.accounting.convert import epsilon_at, shown
    from headcount.ledger.statement.bar import percent_of
    from headcount.privacy.windows import FARTHEST, ranges

    of = account.windows
    if of is None:
        if windows is not None:
            yield f"  account {account.name!r} has one budget for all time and no windows"
        return

    def told(spend: Zcdp) -> str:
        return shown(epsilon_at(spend.rho, of.noise_delta))

    delta = f"{float(of.stated_delta):.3g}"
    yield f"  each {of} has a budget of its own: epsilon {told(of.limit)} at delta {delta}"
    first, last = (-FARTHEST, FARTHEST) if windows is None else ranges(windows, of.unit)
    found = book.window_balances(account.name, first, last)
    if windows is None:
        fullest = max((one.spent.rho / of.limit.rho for one in found), default=None)
        if fullest is not None:
            names = f"{found[0].name} to {found[-1].name}"
            yield (
                f"  {len(found):,} charged so far, {names}, the fullest to {percent_of(fullest)}; "
                f"one by one: --windows {found[-1].name[:7]}"
            )
        return
    if not found:
        yield f"  no {of.unit} of {windows} was charged"
    for one in found[:MOST_SHOWN]:
        yield (
            f"  {one.name}  rho {float(one.spent.rho):.6g} of {float(one.limit.rho):.6g} "
            f"({percent_of(one.spent.rho / one.limit.rho)}), delta {float(one.spent.delta):.3g} of "
            f"{float(one.limit.delta):.3g}; epsilon {told(one.left)} left"
        )
    if len(found) > MOST_SHOWN:
        yield f"  and {len(found) - MOST_SHOWN:,} more: ask for fewer"
