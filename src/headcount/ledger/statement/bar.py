"""The budget as a bar: how much of it is spent. In rho, since rho is what adds up."""

from __future__ import annotations

from fractions import Fraction

from headcount.ledger.account import Account
from headcount.privacy.spend import Zcdp

WIDTH = 40
ADDING_UP = (
    "Shares add up; epsilons do not: two releases of epsilon 1 cost less than one of epsilon 2"
)


def share_spent(account: Account) -> Fraction:
    """The share of the limit that is spent: of rho or of delta, whichever has come further."""
    return share_of(account, account.spent)


def share_of(account: Account, spend: Zcdp) -> Fraction:
    """The share of the limit that one charge took, so that the shares add up to what is spent."""
    if is_of_delta(account):
        return spend.delta / account.limit.delta
    return spend.rho / account.limit.rho


def is_of_delta(account: Account) -> bool:
    """Whether thresholds have used up more of their delta than everything has of rho."""
    limit, spent = account.limit, account.spent
    return limit.delta > 0 and spent.delta / limit.delta > spent.rho / limit.rho


def percent(account: Account) -> str:
    """The share spent as a person reads it; never 0 % when something was, nor 100 % too early."""
    return percent_of(share_spent(account))


def percent_of(share: Fraction) -> str:
    """A share as a person reads it, by the same rule."""
    if share in (0, 1):
        return f"{int(share * 100)} %"
    return f"{min(max(float(share) * 100, 0.1), 99.9):.1f} %"


def text_bar(account: Account, width: int = WIDTH) -> str:
    """A bar for the terminal."""
    full = round(share_spent(account) * width)
    return "█" * full + "░" * (width - full)


def svg_bar(account: Account) -> str:
    """A bar for a page, complete in itself."""
    filled = float(share_spent(account)) * 600
    return (
        '<svg viewBox="0 0 600 24" width="100%" height="24" role="img" '
        f'aria-label="{percent(account)} of the budget is spent" preserveAspectRatio="none">'
        '<rect width="600" height="24" fill="#dde3ea"/>'
        f'<rect width="{filled:.1f}" height="24" fill="#b3541e"/></svg>'
    )
