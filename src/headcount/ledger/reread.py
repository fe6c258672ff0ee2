"""Read a ledger's history with another accountant.

Entries keep what was done, mechanism and parameters, and not only what it cost then. An accountant
that is found to be tighter later can therefore say what the same history amounts to. It states; it
does not refund: the account's own sum stays, and so does its limit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

from headcount.accounting.compose import cost, total
from headcount.accounting.convert import stated_epsilon
from headcount.ledger.account import Entry
from headcount.privacy.event import Event

T = TypeVar("T")


def reread(entries: Sequence[Entry], accountant: Callable[[Sequence[Event]], T]) -> T:
    """What an accountant says of these entries' events, in the order they were charged."""
    return accountant([entry.event for entry in entries])


def epsilon_by_rho(delta: Fraction) -> Callable[[Sequence[Event]], Fraction]:
    """The accountant of this version: add up rho, then state epsilon at ``delta``."""
    return lambda events: stated_epsilon(total(cost(event) for event in events), delta)
