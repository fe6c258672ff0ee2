"""What ``hc.open`` makes of a window: the windows of an account, and what it refuses of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.errors import UsageError
from headcount.ledger.presence import windows_in
from headcount.ledger.windows import Windows
from headcount.privacy.argument import NOTHING
from headcount.privacy.neighbours import Neighbours
from headcount.releases.windows import window_in
from headcount.tables.windows import check_window, window_of

if TYPE_CHECKING:
    from headcount.ledger.account import Account
    from headcount.privacy.budget import Budget
    from headcount.tables.by import Truncate
    from headcount.tables.user_table import UserTable

EXAMPLE = "window=hc.truncate('time', 'day'), budget=hc.Budget(rho=0.015, per='day')"


def windows_asked(
    cut: Truncate | None,
    budget: Budget | None,
    lifetime: Budget | None,
    neighbours: Neighbours,
    table: UserTable,
) -> Windows | None:
    """The windows that an account is opened with, or held to where it is there."""
    if lifetime is not None and lifetime.per is not None:
        raise UsageError(f"lifetime is the limit of all windows together: no per=. {NOTHING}")
    if cut is None:
        if lifetime is not None or (budget is not None and budget.per is not None):
            what = "lifetime=" if lifetime is not None else "per="
            raise UsageError(f"{what} is for an account with windows: {EXAMPLE}. {NOTHING}")
        return None
    if neighbours is Neighbours.REPLACE:
        raise UsageError(
            f"neighbours='replace' takes the number of users for public, and that of each {cut.to} "
            f"is not: leave it out, or the window. {NOTHING}"
        )
    if budget is None or budget.per != cut.to:
        said = "nothing" if budget is None else f"per={budget.per!r}"
        raise UsageError(
            f"With a window of a {cut.to}, budget= is what each {cut.to} may spend, and it says "
            f"{said}. Write budget=hc.Budget(rho=0.015, per={cut.to!r}); what all of them "
            "may spend together is lifetime=. To use an account that is open, leave window= out. "
            f"{NOTHING}"
        )
    window = window_of(cut, table.kind(cut.column))
    return Windows.of(window.column, window.unit, window.zone, budget)


def check_windowed(account: Account, table: UserTable) -> None:
    """Refuse a table whose rows cannot be told apart by the windows of an account."""
    window, of = window_in(account), windows_in(account)
    assert window is not None  # noqa: S101  of an account that has some
    check_window(window, table.kind(of.column))
    if of.column == table.user:
        raise UsageError(f"The column {of.column!r} names the users and no time. {NOTHING}")
    if dict(table.said).get("trusted_view") is not None:
        raise UsageError(
            "A view that is vouched for may take the time of a row from other rows of its user, "
            f"which would then be in more than one {of.unit}: an account with windows takes views "
            f"that can be looked into, and tables, and nothing else. {NOTHING}"
        )
