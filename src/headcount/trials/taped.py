"""A release of a verb as a user makes it, drawn from a tape and played again to another table."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from headcount.contributions.tally import Tally
from headcount.privacy.neighbours import Neighbours
from headcount.releases.dataset import Dataset
from headcount.releases.plan import Plan
from headcount.releases.run import Work
from headcount.trials.caller import Seen, asked
from headcount.trials.door import one_key
from headcount.trials.payments import paid_for
from headcount.trials.seam import swapped
from headcount.trials.tables import written
from headcount.trials.tape import Tape
from headcount.trials.verb_plants import Plant
from headcount.trials.ways import FILES, SAMPLED, VERBS, table_of

EPSILON, DELTA = 4, 1e-2
LIMIT = f"epsilon {EPSILON} at delta {DELTA}"
"""What the account is opened with."""


@dataclass(frozen=True, slots=True)
class Taped:
    """One release of a table: what was drawn, what was planned and charged, and what left."""

    tape: Tape
    plan: Plan
    seen: Seen
    left: Mapping[str, str]
    """All that must be the same for another table."""


def heard(rows: Any, verb: str, relation: Neighbours, tape: Tape, plant: Plant) -> Seen:
    """One release of the table, drawn from the tape."""

    def ask(data: Dataset) -> Plan:
        plan: Plan = getattr(data, verb.split(",")[0])(**{"spend": "1", **VERBS[verb]})
        return replace(plan, work=plant(plan.work))

    with in_order(tape):
        return asked(
            source_of(rows, verb),
            ask,
            epsilon=EPSILON,
            delta=DELTA,
            chance=tape,
            new_key=one_key,
            neighbours=str(relation),
        )


def taped(rows: Any, verb: str, relation: Neighbours, played: Taped | None, plant: Plant) -> Taped:
    """One release of the table, or one played to it; an error of it is raised."""
    tape = Tape(played=None if played is None else played.tape)
    if played is not None:
        tape.paid = paid_for(played.tape.asked, played.plan.work.event)
    seen = heard(rows, verb, relation, tape, plant)
    if seen.release is None or seen.plan is None:
        raise RuntimeError(f"{verb}, {relation}: {seen.texts['error']}")
    return Taped(tape, seen.plan, seen, seen.texts | ({} if verb in SAMPLED else seen.rows))


def source_of(rows: Any, verb: str) -> Any:
    """A table in memory, or what writes a file of it."""
    table = table_of(rows, verb)
    if verb not in FILES:
        return table
    return lambda folder: written(table, folder, FILES[verb])


def in_order(tape: Tape) -> AbstractContextManager[None]:
    """Groups in the order of their names, whatever that of the engine: tapes are of one order.

    A group that only one of two tables has is the last of them.
    """
    shipped = Tally.parts

    def parts(tally: Tally, **_options: Any) -> Any:
        tape.totals = tally.contributions.sensitivity
        return shipped(tally, ordered=True)

    return swapped(Tally, "parts", parts)


def as_shipped(work: Work) -> Work:
    """Nothing is planted."""
    return work
