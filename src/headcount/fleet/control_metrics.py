"""What a fleet looks like by the clock, for Prometheus: rounds, budgets, and what is late.

A round counts as what the control API shows it as. How far a driver has come, and how long a count
took, are nowhere in these numbers; nor is how many reports there are.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, get_args

from headcount.fleet.control_views import State
from headcount.fleet.metrics import Sample, metric
from headcount.ledger.ledger import Ledger
from headcount.ledger.statement.bar import share_spent

if TYPE_CHECKING:
    from headcount.fleet.control import Control
    from headcount.fleet.control_views import RoundShown


def metrics_of(control: Control) -> bytes:
    """All of it."""
    tasks, now = control.store.tasks(), control.store.now()
    rounds = [(one, shown) for one in tasks for shown in control.rounds(one)]
    states = Counter(shown.state for _, shown in rounds)
    ledger = Ledger(control.ledger)
    accounts = [ledger.account(name) for name in sorted({one.account for one in tasks})]
    spent: list[Sample] = [({"account": a.name}, float(share_spent(a))) for a in accounts]
    by_state: list[Sample] = [({"state": one}, states[one]) for one in get_args(State)]
    late = [_late(shown, now, control.delay) for _, shown in rounds]
    return b"".join(
        (
            metric("tasks", "gauge", "Tasks that were applied.", [({}, len(tasks))]),
            metric("rounds", "gauge", "Rounds by state, by the clock.", by_state),
            metric(
                "late_delays",
                "gauge",
                "Most delays by which a round is late that is not shown; 0 is on time.",
                [({}, max(late, default=0))],
            ),
            metric("budget_spent_ratio", "gauge", "Share of an account that is spent.", spent),
        )
    )


def _late(shown: RoundShown, now: int, delay: int) -> int:
    """By how many whole delays a round is late, that closed and is not shown."""
    if shown.state != "closing":
        return 0
    return max(0, (now - shown.closes_at) // delay - 1)
