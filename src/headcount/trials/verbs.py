"""Trial of every verb end to end on DuckDB: whether all that it draws was paid for.

A release is made of one table, without noise, and played again to quite another one. Noise and
choices whose inputs are others then have seen the table: they are paid for by the event of the
plan, one by each part of it, or by the charges of a filter. What they cost is the matter of other
trials; here no draw gets by that no event and no charge stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from headcount.accounting.compose import cost
from headcount.accounting.laplace import laplace_cost
from headcount.audit.neighbours import heavy
from headcount.audit.verdict import Finding, Tier
from headcount.contributions.events import users_of
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.radius import Radius
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.privacy.event import Composed, Event, Filtered, SampleThreshold
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.releases.plan import Plan
from headcount.releases.run import Work
from headcount.releases.session import Answer, Session
from headcount.releases.verbs import VERBS as STATED
from headcount.trials.door import one_key, opened, released
from headcount.trials.given import given
from headcount.trials.seam import Asked, Charge, Choice, Limit, Noise
from headcount.trials.tables import GROUP, arrow_table
from headcount.trials.tape import Tape
from headcount.trials.trial import Case, Effort, Trial

Plant = Callable[[Work], Work]
N_USERS, N_GROUPS = 400, 6
GROUPS = [f"g{j}" for j in range(N_GROUPS)]
ONE = heavy(N_USERS, N_GROUPS)
OTHER = tuple(
    (f"w{i}", group, 1 + (i + j) % 3)
    for i in range(N_USERS // 3)
    for j, group in enumerate(GROUPS)
    if j <= i % N_GROUPS
)
"""Fewer users, in some of the same groups, with more rows: there is no true number that stays."""
VICTIM = tuple(("victim", group, 40) for group in GROUPS)
"""One more user, as heavy as can be in groups that others are in."""

WAYS: dict[str, dict[str, Any]] = {
    "count_users, equal": {"by": GROUP, "within": 0.2, "method": "equal"},
    "count_users, auto": {"by": GROUP, "within": 0.2},
    "count_users, peel": {"by": GROUP, "within": 0.2, "method": "peel"},
    "count_users, top": {"by": GROUP, "top": 2},
    "count_users, laplace": {"by": GROUP, "bound": 1, "method": "laplace"},
    "count_users, sample": {"by": GROUP, "method": "sample"},
    "count_events, equal": {"by": GROUP, "within": 0.2, "method": "equal"},
    "count_events, a public bound": {"by": GROUP, "groups": GROUPS, "bound": 2},
    "count_events, debiased": {"by": GROUP, "groups": GROUPS, "bound": 1, "debias": True},
    "distribution, listed": {"by": GROUP, "groups": GROUPS},
    "distribution, found": {"by": GROUP},
    "frequencies": {"by": GROUP},
    "frequencies, a public bound": {"by": GROUP, "bound": 3},
    "frequencies, at most 60": {"by": GROUP, "at_most": 60, "bound": 3},
    "frequencies, buckets": {"by": GROUP, "buckets": 61, "bound": 3},
    "profile": {"by": GROUP},
    "quantiles, hierarchy": {"of": None, "bounds": (0, 32), "method": "hierarchy"},
    "quantiles, sample": {"of": None, "bounds": (0, 32), "method": "sample"},
    "count_ranges": {"of": None, "ranges": [0, 4, 8, 16]},
}
"""What is asked; the verb is what comes before the comma."""
VERBS = WAYS | {
    verb: {"by": GROUP}
    for verb, stated in STATED.items()
    if "by" in stated.own and not any(way.split(",")[0] == verb for way in WAYS)
}
"""These, and verbs that nothing is said of here."""
QUICK = (
    "count_users, peel",
    "distribution, found",
    "frequencies",
    "profile",
    *(VERBS.keys() - WAYS.keys()),
)


def taped(rows: Any, verb: str, played: Tape | None, plant: Plant) -> tuple[Tape, Event]:
    """One release of the table, and what its plan says it pays for."""
    tape = Tape(played=played)
    with opened(arrow_table(rows), epsilon=4) as data:
        plan: Plan = getattr(data, verb.split(",")[0])(**VERBS[verb], spend="1")
        released(replace(plan, work=plant(plan.work)), tape, one_key)
    return tape, plan.work.event


def parts_of(event: Event) -> list[Event]:
    """An event as its parts, each of which stands for one draw, or for a filter and its charges.

    A sample's stands for none: the engine tosses its coins, under the key of the release.
    """
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


def as_shipped(work: Work) -> Work:
    """Nothing is planted."""
    return work


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


def n_underpaid(asked: Sequence[Asked], other: Sequence[Noise | Choice], event: Event) -> int:
    """How many draws cost more, on tables that differ by a user, than what was paid for them."""
    payments = [cost(part) for part in parts_of(event) if not isinstance(part, Filtered)]
    others, underpaid = iter(other), 0
    for one in asked:
        if isinstance(one, Charge):
            payments.append(one.spend)
        elif isinstance(one, Noise | Choice):
            right = next(others, None)
            paid = payments.pop(0) if payments else Zcdp(0)
            if right is not None and len(right.true_values) == len(one.true_values):
                underpaid += cost_of(one, right) > float(paid.rho) * (1 + 1e-6)
    return underpaid


def findings_of(verb: str, plant: Plant = as_shipped) -> list[Finding]:
    """One verb on two tables; ``plant`` puts something into the work that it hands to the door."""
    one, event = taped(ONE, verb, None, plant)
    other, _ = taped(OTHER, verb, one, plant)
    pairs = list(zip(one.draws, other.draws, strict=False))
    n_more = abs(len(one.draws) - len(other.draws))
    private = [left.true_values != right.true_values for left, right in pairs] + [True] * n_more
    longer = max((one, other), key=lambda tape: len(tape.draws))
    return [
        Finding(Tier.GREY_BOX, verb, "calls that depend on the table", 0, n_more),
        Finding(
            Tier.GREY_BOX,
            verb,
            "calls that nobody paid for",
            0,
            n_unpaid(longer.asked, private, event),
        ),
        Finding(
            Tier.GREY_BOX,
            verb,
            "calls that cost more than was paid",
            0,
            n_underpaid(one.asked, taped(ONE + VICTIM, verb, one, plant)[0].draws, event),
        ),
    ]


def _examined(plant: Plant, verbs: Sequence[str]) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        some = verbs if effort is Effort.FULL or len(verbs) == 1 else QUICK
        return [finding for verb in some for finding in findings_of(verb, plant)]

    return examined


def also(draw: Callable[[int, Any], object], *, last: bool = False) -> Plant:
    """A verb that draws something more, of how many users there are, before or after all else."""

    def planted(work: Work) -> Work:
        def read_and_draw(session: Session) -> Answer:
            true_users = int(users_of(work.table).ask()[0])
            if not last:
                draw(true_users, session.chance)
            answer = work.read_and_draw(session)
            if last:
                draw(true_users, session.chance)
            return answer

        return replace(work, read_and_draw=read_and_draw)

    return planted


def a_count(n_users: int, chance: Any) -> object:
    """How many users there are, with noise."""
    mechanism = Gaussian.calibrate(Sensitivity.of_sum(1), Zcdp(1))
    return mechanism.draw(given(mechanism.sensitivity, np.array([n_users], np.int64)), chance)


def a_choice(n_users: int, chance: Any) -> object:
    """A choice by how many users there are."""
    cells = np.array([n_users, n_users // 2, n_users], np.int64)
    choice = Radius(Fraction(1), Neighbours.ADD_REMOVE)
    return choice.draw(given(choice.sensitivity, cells), chance)


TRIAL = Trial(
    "verbs",
    (
        Case("as shipped", _examined(as_shipped, tuple(VERBS)), is_mutant=False),
        Case(
            "a count beside the profile",
            _examined(also(a_count), ("profile",)),
        ),
        Case(
            "a choice before a distribution",
            _examined(also(a_choice), ("distribution, listed",)),
        ),
        Case(
            "a count before frequencies",
            _examined(also(a_count), ("frequencies",)),
        ),
    ),
)
