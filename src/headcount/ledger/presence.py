"""What is promised to whoever is in many windows, where one window has the budget.

What is released window by window composes for somebody who is in several of them [WN3]: so many
times the rho, and so many times the delta of thresholds. No promise for one window is stated
without this, nor this without its last sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from headcount.accounting.convert import epsilon_at, shown

if TYPE_CHECKING:
    from headcount.ledger.account import Account
    from headcount.ledger.windows import Windows

HOW_LONG = {
    "hour": ((1, "an hour"), (24, "a day"), (168, "a week"), (720, "30 days"), (8760, "a year")),
    "day": ((1, "a day"), (7, "a week"), (30, "30 days"), (365, "a year"), (3650, "ten years")),
    "week": ((1, "a week"), (4, "four weeks"), (52, "a year"), (520, "ten years")),
    "month": ((1, "a month"), (12, "a year"), (60, "five years"), (120, "ten years")),
}
"""How many windows somebody may be in, and what people call that."""
IN_A_SENTENCE = {"hour": (24, 168, 8760), "day": (7, 30, 365), "week": (4, 52), "month": (12, 120)}


@dataclass(frozen=True, slots=True)
class Presence:
    """What somebody pays at the most who is in so many windows."""

    n: int
    words: str
    rho: Fraction
    epsilon: Fraction
    delta: Fraction


def presences(account: Account) -> list[Presence]:
    """The table of an account with windows, at the whole budget of each."""
    of = windows_in(account)
    return [_presence(account, of, n, words) for n, words in HOW_LONG[of.unit]]


def windows_in(account: Account) -> Windows:
    """The windows of an account that has some."""
    assert account.windows is not None  # noqa: S101  asked of such accounts alone
    return account.windows


def _presence(account: Account, of: Windows, n: int, words: str) -> Presence:
    rho, delta = n * of.limit.rho, n * of.limit.delta
    if account.has_limit:
        # The other limit holds for everybody, however many windows they are in.
        rho, delta = min(rho, account.limit.rho), min(delta, account.limit.delta)
    at = of.noise_delta
    return Presence(n, words, rho, epsilon_at(rho, at), min(Fraction(1), delta + at))


def same_in_all(unit: str) -> str:
    """The sentence that no table of windows is shown without."""
    return (
        f"Facts that are the same every {unit}, such as a home country, have the protection of all "
        f"the {unit}s together."
    )


def presence_words(account: Account) -> str:
    """The table in two sentences and the last one."""
    of = windows_in(account)
    by_number = {one.n: one for one in presences(account)}
    one = by_number[1]
    clock = f" ({of.zone})" if of.zone else ""
    several = "; ".join(
        f"{'' if not at else 'in '}{n:,}{f' {of.unit}s' if not at else ''}: {_at(by_number[n])}"
        for at, n in enumerate(IN_A_SENTENCE[of.unit])
    )
    return (
        f"With the whole budget of each {of.unit}, one user within one {of.unit}{clock} is "
        f"protected at epsilon {_at(one)}. Someone present in {several}. {same_in_all(of.unit)}"
    )


def _at(one: Presence) -> str:
    return f"{shown(one.epsilon)} at delta {float(one.delta):.3g}"
