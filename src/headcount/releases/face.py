"""The short face of a plan: what you will get, how good, and what it takes of the budget."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from headcount.results.facts import CONFIDENCE

if TYPE_CHECKING:
    from headcount.ledger.account import Account
    from headcount.privacy.spend import Zcdp

Lines = tuple[tuple[str, str], ...]

NUMBERS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
)  # fmt: skip
GET = ("groups", "ranges", "describes", "cells")
"""Lines of a plan that say which rows there will be; the first that it has is shown."""
GOOD = ("promise", "noise", "missed")
"""Lines of a plan that say how far rows will be off; the first that it has is shown."""
MEANING = ("listed", "value", "meaning", "may be empty")
WINDOWS = ("windows", "pays", "presence")
"""Lines of a plan on windows: what somebody pays who is in many is never left out."""
BAR = "error bar"
MOVE = f"{CONFIDENCE:.0%} of "
UNKNOWN = "not known before the release, where every row has its bar"


def gist(details: Lines) -> Lines:
    """What rows there will be, and how far they will be off, from the lines of a plan."""
    said = dict(details)
    get = [("you get", _subject(name, said[name])) for name in GET if name in said][:1]
    good = [_error(name, said[name]) for name in GOOD if name in said][:1] or [UNKNOWN]
    meaning = [(name, said[name]) for name in MEANING if name in said]
    bar = [(BAR, said[BAR])] if BAR in said else []
    windows = [(name, said[name]) for name in WINDOWS if name in said]
    return (*get, *meaning, ("error", good[0]), *bar, *windows)


def _subject(name: str, text: str) -> str:
    """The line with its subject: in a whole plan that is the line's name."""
    if text.startswith("found"):
        return f"{name} {text}"
    return f"{name}: {text}" if text[:1].isdigit() and name not in text else text


def _error(name: str, text: str) -> str:
    """How far rows move; whoever wants to know the law of the noise asks for the whole plan."""
    if name != "noise":
        return text
    return text[text.index(MOVE) :] if MOVE in text else text.removeprefix("discrete Gaussian, ")


def share_words(account: Account, spend: Zcdp, of: str = "the budget") -> str:
    """What a release takes of the whole budget, and how many more like it there is room for.

    Costs add up in rho and in the delta of thresholds, so that shares of these add up too, as
    epsilons do not. The scarcer of the two counts.
    """
    more = _more(account, spend)
    share = percent(share_of_limit(account, spend))
    return f"{share} of {of}; {_how_many(more)} like this after it"


def share_of_limit(account: Account, spend: Zcdp) -> Fraction:
    """The same share as a number."""
    return max(_parts(spend, account.limit), default=Fraction(0))


def _parts(spend: Zcdp, of: Zcdp) -> list[Fraction]:
    pairs = ((spend.rho, of.rho), (spend.delta, of.delta))
    return [Fraction(part) / Fraction(whole) for part, whole in pairs if part and whole]


def _more(account: Account, spend: Zcdp) -> int:
    left = account.left
    pairs = ((spend.rho, left.rho), (spend.delta, left.delta))
    fits = [math.floor(Fraction(has) / Fraction(part)) for part, has in pairs if part]
    return max(0, min(fits, default=1) - 1)


def _how_many(more: int) -> str:
    if not more:
        return "no more"
    return f"about {NUMBERS[more] if more < len(NUMBERS) else f'{_rounded(more):,}'} more"


def _rounded(number: int) -> int:
    """Two digits of a large number: nobody plans the thousandth release to the unit."""
    scale = 10 ** max(0, len(str(number)) - 2)
    return number // scale * scale


def percent(share: Fraction) -> str:
    """A share of the budget for people, who are never told nothing."""
    if share < Fraction(1, 1000):
        return "less than 0.1 %"
    if share < Fraction(1, 100):
        return f"{float(100 * share):.1f} %"
    return f"{float(100 * share):.0f} %"
