"""What an entry must have cost, worked out again from its event.

An entry may have cost more than today's accountant asks for, never less. Most costs are a line of
arithmetic. That of a sample is a number that was certified when it was planned, on a grid of
losses; it is certified anew here, and may lie ``GRID`` above the old one, since grids differ.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from headcount.accounting.compose import cost, cost_in_account
from headcount.accounting.sampling.solver import certified_rho, reach_of
from headcount.ledger.account import units_up
from headcount.ledger.storable import LARGEST
from headcount.privacy.event import (
    Composed,
    Event,
    Rounds,
    SampleThreshold,
    Windowed,
    from_record,
)
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

GRID = Fraction(1, 100)
WINDOWED = f'"{Windowed.kind}"'
NOTHING = Composed(())
COARSEST = 40
"""No sample of use has losses this many times below its rate, for each root of a sample."""


def least_units(event: str, stated: str, account: str) -> tuple[int, int]:
    """The least that a charge for this event takes from an account, in whole units."""
    windows = windows_in(event)
    if windows is None:
        return _least_units(event, stated, account)
    # That of a window is worked out once for all windows that pay the same.
    rho, delta = _least_units(windows.event, stated, account)
    return windows.times * rho, windows.times * delta


@dataclass(frozen=True, slots=True)
class Asked:
    """The windows that an entry charged, and the event that each of them paid for, as text."""

    first: int
    last: int
    times: int
    event: str


@lru_cache(maxsize=16)
def windows_in(event: str) -> Asked | None:
    """The windows that an entry of this event charged; nothing for an event without."""
    if WINDOWED not in event:
        return None
    record = json.loads(event)
    if record["kind"] != Windowed.kind:
        return None
    first, last, times = (int(record[name]) for name in ("first", "last", "times"))
    inner = json.dumps(record["event"], sort_keys=True)
    written = {"first": str(first), "last": str(last), "times": str(times)}
    if record != {"kind": Windowed.kind, **written, "event": record["event"]} or WINDOWED in inner:
        # Not as it is written: refused with what is wrong.
        from_record(record)
    # What no charge can be for is refused by the event itself; what is in it does not matter.
    Windowed(first, last, times, NOTHING)
    return Asked(first, last, times, inner)


@lru_cache(maxsize=1 << 12)
def _least_units(event: str, stated: str, account: str) -> tuple[int, int]:
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
    elif isinstance(event, Composed | Rounds):
        for part in event.events:
            yield from _samples(part)
    elif isinstance(event, Windowed):
        yield from _samples(event.event)


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
