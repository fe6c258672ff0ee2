"""Releases of an account with windows: who pays for one, how often, and what a plan says of it.

To a verb the account of a release is that of its windows: the budget of one of them, and what is
left of the scarcest. So a share of the budget is a share of a window's, and all that a verb knows
of one user holds for one user within one window [WN2]; over several only where it says how [WN4].
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

from headcount.errors import BudgetError, UsageError
from headcount.ledger.account import refusal
from headcount.ledger.presence import presence_words, windows_in
from headcount.ledger.windows import WindowBalance
from headcount.ledger.windows import refusal as window_refusal
from headcount.privacy.argument import NOTHING
from headcount.privacy.during import During, Window
from headcount.privacy.event import Windowed
from headcount.privacy.spend import Zcdp
from headcount.privacy.unit import User, UserWithin

if TYPE_CHECKING:
    from headcount.ledger.account import Account
    from headcount.ledger.ledger import Ledger
    from headcount.privacy.event import Event

MOST_EACH = 1_200
"""So many windows are told apart by one query: three years of days."""
Lines = tuple[tuple[str, str], ...]


class Over(Enum):
    """How a verb that has a proof over several windows bounds what is in them [WN4]."""

    EACH = "bounds are per user and {unit}; of several {unit}s the largest weight counts"
    """Each window by itself; a user who is in all of them pays for each."""
    PERSON = (
        "bounds are per user over all of it, and the noise is that for a user who is exchanged, "
        "since one {unit} may change all that is kept of them"
    )
    """The user over all windows; the noise is made for replacement."""


def window_in(account: Account) -> Window | None:
    """What a window of an account is, if it has any."""
    of = account.windows
    return None if of is None else Window(of.column, of.unit, of.zone)


def unit_of(user: str, window: Window | None) -> User | UserWithin:
    """Who is protected: a user, or a user within one window."""
    return User(user) if window is None else UserWithin(user, window.unit, window.clock)


def scarcest(book: Ledger, account: Account, during: During) -> Account:
    """The account as its windows have it: the budget of each, and the most spent of any."""
    of = windows_in(account)
    balances = (
        book.window_balances(account.name, during.first, during.last)
        if _is_open(book, account)
        else []
    )
    spent = Zcdp(
        max((one.spent.rho for one in balances), default=0),
        max((one.spent.delta for one in balances), default=0),
    )
    return replace(account, limit=of.limit, spent=spent, stated_delta=of.stated_delta, windows=None)


def _is_open(book: Ledger, account: Account) -> bool:
    return book.find_account(account.name) is not None


def charged_event(event: Event, during: During | None, over: Over | None) -> Event:
    """What the ledger is charged: the event for each window, and how often a person pays it."""
    if during is None:
        return event
    if over is None and during.n > 1:
        raise UsageError(
            f"This release is about {during}, and nothing is proved of it for more than one "
            f"{during.window.unit}: what one user gives is bounded over all their rows, and one "
            f"{during.window.unit} of them could change all of it. Release each "
            f"{during.window.unit} by itself. Over several there are count_users with bound=, and "
            f"count_events of listed groups. {NOTHING}"
        )
    times = during.n if over is Over.EACH else 1
    return Windowed(during.first, during.last, times, event)


def over_windows(during: During | None, how: Over) -> Over | None:
    """How a verb bounds several windows, where its release is about several."""
    if during is None or during.n == 1:
        return None
    if how is Over.EACH and during.n > MOST_EACH:
        raise UsageError(
            f"These are {during.n:,} {during.window.unit}s, and at most {MOST_EACH:,} can be "
            f"bounded each by itself in one release. {NOTHING}"
        )
    return how


def of_one_window(event: Event) -> Event:
    """What each window pays."""
    return event.event if isinstance(event, Windowed) else event


def check_windows_pay(
    book: Ledger, account: Account, during: During, spend: Zcdp, event: Event
) -> None:
    """Refuse at plan time what a window, or the account beside it, cannot pay now."""
    times = event.times if isinstance(event, Windowed) else 1
    whole = Zcdp(times * spend.rho, times * spend.delta)
    if account.has_limit and not whole <= account.left:
        raise BudgetError(refusal(account, whole))
    of = windows_in(account)
    short = WindowBalance(during.first, of.named(during.first), of.limit, Zcdp(0))
    if spend <= of.limit:
        found = scarcest_of(book, account, during, spend)
        if found is None:
            return
        short = found
    raise BudgetError(window_refusal(account.name, of, short, spend))


def scarcest_of(
    book: Ledger, account: Account, during: During, spend: Zcdp
) -> WindowBalance | None:
    """The first window that cannot pay."""
    if not _is_open(book, account):
        return None
    balances = book.window_balances(account.name, during.first, during.last)
    return next((one for one in balances if not spend <= one.left), None)


def window_lines(account: Account, during: During, event: Event, spend: Zcdp) -> Lines:
    """What a plan says of windows: which, what each pays, and what somebody in all of them does."""
    of, times = windows_in(account), event.times if isinstance(event, Windowed) else 1
    unit = during.window.unit
    each = f"that {unit}'s" if during.n == 1 else f"each {unit}'s"
    pays = (
        f"rho {float(spend.rho):.6g} of {each} {float(of.limit.rho):.6g}; a person present in all "
        f"of them pays {times:,} x that"
    )
    return (("windows", str(during)), ("pays", pays), ("presence", presence_words(account)))


def bounds_line(during: During, over: Over | None) -> str:
    """Who is bounded."""
    unit = during.window.unit
    if during.n == 1 or over is None:
        return f"bounds are per user and {unit}"
    return over.value.format(unit=unit)


def need_during(window: Window) -> UsageError:
    """The refusal of a verb that does not say which windows it is about."""
    return UsageError(
        f"This account has a budget for each {window.unit}{window.clock}: say which a release is "
        "about. In Python: data.during('2026-03-01').count_users(...); in a shell: --during "
        f"2026-03-01. {NOTHING}"
    )


def no_windows(account: str) -> UsageError:
    """The refusal of windows in an account that has none."""
    return UsageError(
        f"Account {account!r} has one budget for all time and no windows: leave during out. An "
        "account has windows from its opening on: hc.open(..., window=hc.truncate('time', 'day'), "
        f"budget=hc.Budget(rho=0.015, per='day')). {NOTHING}"
    )
