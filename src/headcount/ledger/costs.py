"""What an entry must have cost, worked out again from its event.

An entry may have cost more than today's accountant asks for, never less. Most costs are a line of
arithmetic. That of a sample is a number that was certified when it was planned, on a grid of
losses; it is certified anew here, and may lie ``GRID`` above the old one, since grids differ.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from headcount.accounting.compose import cost, cost_in_account
from headcount.accounting.sampling.solver import certified_rho, reach_of
from headcount.ledger.account import units_up
from headcount.ledger.storable import LARGEST
from headcount.privacy.event import Composed, Event, SampleThreshold, from_record
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

GRID = Fraction(1, 100)
COARSEST = 40
"""No sample of use has losses this many times below its rate, for each root of a sample."""


@lru_cache(maxsize=1 << 12)
def least_units(event: str, stated: str, account: str) -> tuple[int, int]:
    """The least that a charge for this event takes from an account, in whole units."""
    spend = cost(from_record(json.loads(event)))
    rho, delta = units_up(cost_in_account(spend, Neighbours(stated), Neighbours(account)))
    return min(rho, LARGEST), delta


def understated(event: str, stated: str) -> bool:
    """Whether an event claims less for a sample than it costs."""
    return any(
        _too_cheap(part, Neighbours(stated)) for part in _samples(from_record(json.loads(event)))
    )


def _samples(event: Event) -> Iterator[SampleThreshold]:
    if isinstance(event, SampleThreshold):
        yield event
    elif isinstance(event, Composed):
        for part in event.events:
            yield from _samples(part)


@lru_cache(maxsize=1 << 12)
def _too_cheap(event: SampleThreshold, neighbours: Neighbours) -> bool:
    if not 0 < event.rate < 1 or event.rho <= 0 or event.delta <= 0:
        return True
    # A claim far below the cost would ask for a grid that never ends; a coarse one refutes it too.
    least = -math.log1p(-float(event.rate)) * math.sqrt(event.n_samples) / COARSEST
    reach = max(reach_of(Zcdp(event.rho, event.delta)), min(least, 8.0))
    certified = certified_rho(
        event.rate, int(event.threshold), int(event.n_samples), event.delta, neighbours, reach
    )
    return certified > event.rho * (1 + GRID)
