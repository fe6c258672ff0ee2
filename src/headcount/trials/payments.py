"""Whether each draw of a release was paid for, and paid enough.

Noise and choices are paid for by the event of a plan, one by each part of it, or by the charges of
a filter, in the order in which they are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from headcount.accounting.compose import cost
from headcount.accounting.laplace import laplace_cost
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.privacy.event import Composed, Event, Filtered, SampleThreshold, Windowed
from headcount.privacy.spend import Zcdp
from headcount.trials.seam import Asked, Charge, Choice, Limit, Noise


def parts_of(event: Event) -> list[Event]:
    """An event as its parts, each of which stands for one draw, or for a filter and its charges.

    A sample's stands for none: the engine tosses its coins, under the key of the release.
    """
    if isinstance(event, Windowed):
        return parts_of(event.event)
    if isinstance(event, Composed):
        return [part for one in event.events for part in parts_of(one)]
    return [] if isinstance(event, SampleThreshold) else [event]


def n_unpaid(asked: Sequence[Asked], private: Sequence[bool], event: Event) -> int:
    """How many draws were made, and filters opened, that nothing had paid for by then.

    private:  for each draw, whether its inputs are more than what was published before. Those that
              are not need no payment, and where there is one for them it is used up all the same
    """
    filters = [cost(part) for part in parts_of(event) if isinstance(part, Filtered)]
    payments = [cost(part) for part in parts_of(event) if not isinstance(part, Filtered)]
    n_draws = unpaid = 0
    for one in asked:
        if isinstance(one, Charge):
            payments.append(one.spend)
        elif isinstance(one, Limit):
            # A filter is the event's, or within another, which was charged for all of it.
            of = filters or payments
            unpaid += not (of and one.limit <= of.pop())
        elif isinstance(one, Noise | Choice):
            unpaid += private[n_draws] and not payments
            del payments[:1]
            n_draws += 1
    return unpaid


def cost_of(left: Noise | Choice, right: Noise | Choice) -> float:
    """What a draw costs that is made of one or the other numbers, and has the law of the first.

    Groups that are found come in any order; in that of their size no two tables are farther apart
    than they are, so this is what it costs at the least.
    """
    if isinstance(left, Choice):
        moved = np.subtract(left.true_values, right.true_values, dtype=np.float64)
        return float((moved.max() - moved.min()) * float(left.rate)) ** 2 / 8
    one, other = (np.sort(np.array(draw.true_values, np.float64)) for draw in (left, right))
    moved = one - other
    if isinstance(left.law, DiscreteLaplace):
        return float(laplace_cost(Fraction(float(np.abs(moved).sum())), left.law.scale))
    return float((moved**2).sum() / (2 * float(left.law.sigma_squared)))


def n_underpaid(
    asked: Sequence[Asked], other: Sequence[Noise | Choice], event: Event, charged: Zcdp
) -> int:
    """How many draws cost more, on tables that differ by a user, than what was paid for them.

    charged:  what the account paid for all of the event: more than its cost where the event is
              stated for another relation, and then more for each part
    """
    times = float(charged.rho / cost(event).rho)
    draws = [one for one in asked if isinstance(one, Noise | Choice)]
    underpaid = 0
    for one, right, paid in zip(draws, other, paid_for(asked, event), strict=False):
        if len(right.true_values) == len(one.true_values):
            underpaid += cost_of(one, right) > times * float(paid.rho) * (1 + 1e-6)
    return underpaid


def paid_for(asked: Sequence[Asked], event: Event) -> list[Zcdp]:
    """What was paid for each draw, by a part of the event or by a charge of a filter.

    A charge that opens a filter within another pays for no draw: that filter's own charges do.
    """
    filters = [part for part in parts_of(event) if isinstance(part, Filtered)]
    payments = [cost(part) for part in parts_of(event) if not isinstance(part, Filtered)]
    paid = []
    for one in asked:
        if isinstance(one, Charge):
            payments.append(one.spend)
        elif isinstance(one, Limit):
            if filters:
                filters.pop()
            elif payments:
                payments.pop()
        elif isinstance(one, Noise | Choice):
            paid.append(payments.pop(0) if payments else Zcdp(0))
    return paid
