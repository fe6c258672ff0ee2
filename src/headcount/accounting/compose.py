"""From events to costs, and from costs to totals.

Reference: Bun and Steinke 2016 (Gaussian noise and composition); Canonne, Kamath and Steinke 2020
(discrete Gaussian noise has the same rho); Dong, Durfee and Rogers 2020 (bounded range).
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from headcount.accounting.laplace import laplace_cost
from headcount.errors import LedgerError
from headcount.privacy.event import (
    Composed,
    Event,
    Filtered,
    GaussianNoise,
    GaussianThreshold,
    LaplaceNoise,
    LaplaceThreshold,
    Rounds,
    SampleThreshold,
    Selection,
    Windowed,
)
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

PAIR = 4
"""What a group of two users costs, in rho, over what one does."""


def bounded_range_cost(epsilon: Fraction) -> Zcdp:
    """A mechanism of bounded range ``epsilon`` costs an eighth of its square."""
    return Zcdp(epsilon**2 / 8)


def cost(event: Event) -> Zcdp:
    """What an event costs, from its parameters alone."""
    match event:
        case GaussianNoise(l2_squared=distance, sigma_squared=variance):
            return Zcdp(distance / (2 * variance))
        case LaplaceNoise(l1=distance, scale=scale):
            return Zcdp(laplace_cost(distance, scale))
        case Selection(epsilon=epsilon):
            return bounded_range_cost(epsilon)
        case GaussianThreshold(l2_squared=distance, sigma_squared=variance, delta=delta):
            return Zcdp(distance / (2 * variance), delta)
        case LaplaceThreshold(l1=distance, scale=scale, delta=delta):
            return Zcdp(laplace_cost(distance, scale), delta)
        case Filtered(rho=rho, delta=delta):
            return Zcdp(rho, delta)
        case SampleThreshold(rho=rho, delta=delta):
            return Zcdp(rho, delta)
        case Composed(events=events):
            return total(cost(part) for part in events)
        case Windowed(times=times, event=part):
            each = cost(part)
            return Zcdp(times * each.rho, times * each.delta)
        case Rounds(events=events, n=n):
            one = total(cost(part) for part in events)
            return Zcdp(n * one.rho, n * one.delta)


def total(spends: Iterable[Zcdp]) -> Zcdp:
    """Costs add up, also when each release was chosen after seeing the earlier ones."""
    result = Zcdp(0)
    for spend in spends:
        result = result + spend
    return result


def cost_in_account(spend: Zcdp, stated: Neighbours, account: Neighbours) -> Zcdp:
    """What a cost stated for one neighbour relation takes from an account of another.

    Replacing a user is removing one and adding one, and a group of two costs four times the rho.
    That step is proved for rho alone, so a cost with a delta is not carried over.
    """
    if stated is account:
        return spend
    if stated is Neighbours.REPLACE:
        raise LedgerError(
            "This release needs a public number of users, and the account protects that number "
            "(add-remove). Nothing was charged. Open an account with neighbours='replace'."
        )
    if spend.delta > 0:
        raise LedgerError(
            "A thresholded release stated for add-remove cannot be charged to a replace account. "
            "Nothing was charged. Use known groups, or an add-remove account."
        )
    return Zcdp(PAIR * spend.rho)
