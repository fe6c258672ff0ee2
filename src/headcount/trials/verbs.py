"""Trial of every verb end to end on DuckDB: whether all that leaves was drawn and paid for.

A release is made of one table, without noise, and played again to quite another one, under each
relation that the verb is offered for. Noise and choices whose inputs are others then have seen the
table: they are paid for by the event of the plan, one by each part of it, or by the charges of a
filter. What came out of them was the same, so all that leaves has to be the same: rows, words and
numbers beside them, files, lines of a log. What draws cost is the matter of other trials; here no
draw gets by that no event and no charge stands for, and nothing that was not drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from headcount.audit.greybox import Recording, compare
from headcount.audit.verdict import Finding, Tier
from headcount.contributions.tally import Tally
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.releases.dataset import Dataset
from headcount.releases.plan import Plan
from headcount.releases.run import Work
from headcount.trials.caller import asked
from headcount.trials.door import one_key
from headcount.trials.payments import n_underpaid, n_unpaid, paid_for
from headcount.trials.seam import swapped
from headcount.trials.tables import arrow_table, written
from headcount.trials.tape import Tape
from headcount.trials.trial import Case, Effort, Trial
from headcount.trials.verb_plants import (
    Plant,
    a_choice,
    a_count,
    also,
    as_a_stage,
    beside,
    early_look,
    groups_of_the_few,
    noisy_groups,
    one_user_for_two,
    ten_deltas,
    true_groups,
    true_users,
    users_told,
    without_delta,
)
from headcount.trials.ways import (
    ADD_REMOVE_ONLY,
    FILES,
    OTHER,
    QUICK,
    SAMPLED,
    VERBS,
    finds_groups,
    tables_of,
)

ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE


@dataclass(frozen=True, slots=True)
class Taped:
    """One release of a table: what was drawn, what was planned and charged, and what left."""

    tape: Tape
    plan: Plan
    charged: Zcdp
    left: Mapping[str, str]
    n_early: int
    """How often the table was read before the charge."""


def taped(rows: Any, verb: str, relation: Neighbours, played: Taped | None, plant: Plant) -> Taped:
    """One release of the table, or one played to it; an error of it is raised."""
    tape = Tape(played=None if played is None else played.tape)
    if played is not None:
        tape.paid = paid_for(played.tape.asked, played.plan.work.event)

    def ask(data: Dataset) -> Plan:
        plan: Plan = getattr(data, verb.split(",")[0])(**{"spend": "1", **VERBS[verb]})
        return replace(plan, work=plant(plan.work))

    with in_order(tape):
        seen = asked(
            source_of(rows, verb),
            ask,
            epsilon=4,
            delta=1e-2,
            chance=tape,
            new_key=one_key,
            neighbours=str(relation),
        )
    if seen.release is None or seen.plan is None:
        raise RuntimeError(f"{verb}, {relation}: {seen.texts['error']}")
    rows_left = [seen.release.to_arrow(), seen.release.withheld]
    texts = ["" if table is None else str(table.to_pylist()) for table in rows_left]
    shown = {} if verb in SAMPLED else dict(zip(("rows", "rows withheld"), texts, strict=True))
    return Taped(tape, seen.plan, seen.charged, seen.texts | shown, seen.n_early)


def source_of(rows: Any, verb: str) -> Any:
    """A table in memory, or what writes a file of it."""
    table = arrow_table(rows)
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


def findings_of(
    verb: str, plant: Plant = as_shipped, relation: Neighbours = ADD_REMOVE
) -> list[Finding]:
    """One verb on three tables; ``plant`` puts something into the work that it hands to the door.

    Two of them differ by one user, and the third is quite another one.
    """
    subject = f"{verb}, {relation}"
    base, neighbour = tables_of(verb, relation)
    one = taped(base, verb, relation, None, plant)
    near, far = (taped(rows, verb, relation, one, plant) for rows in (neighbour, OTHER))
    tape, event = one.tape, one.plan.work.event
    pairs = list(zip(tape.draws, far.tape.draws, strict=False))
    n_more = abs(len(tape.draws) - len(far.tape.draws))
    private = [left.true_values != right.true_values for left, right in pairs] + [True] * n_more
    longer = max((tape, far.tape), key=lambda tape: len(tape.draws))
    return [
        *(
            finding
            for other in (near, far)
            for finding in compare(Recording((), one.left), Recording((), other.left), [], subject)
        ),
        Finding(Tier.GREY_BOX, subject, "readings before the charge", 0, one.n_early),
        Finding(Tier.GREY_BOX, subject, "calls that depend on the table", 0, n_more),
        Finding(
            Tier.GREY_BOX,
            subject,
            "names of groups that no delta paid for",
            0,
            finds_groups(verb) and not one.charged.delta,
        ),
        Finding(
            Tier.GREY_BOX,
            subject,
            "calls that nobody paid for",
            0,
            n_unpaid(longer.asked, private, event),
        ),
        Finding(
            Tier.GREY_BOX,
            subject,
            "calls that cost more than was paid",
            0,
            n_underpaid(tape.asked, near.tape.draws, event, one.charged),
        ),
    ]


def relations_of(verb: str) -> list[Neighbours]:
    """The relations that a verb is offered for."""
    return [ADD_REMOVE] if verb in ADD_REMOVE_ONLY else [ADD_REMOVE, REPLACE]


def _as_shipped(effort: Effort) -> Sequence[Finding]:
    return [
        finding
        for verb in (VERBS if effort is Effort.FULL else QUICK)
        for relation in relations_of(verb)
        for finding in findings_of(verb, relation=relation)
    ]


def _planted(verb: str, plant: Plant) -> Callable[[Effort], Sequence[Finding]]:
    return lambda _effort: findings_of(verb, plant)


def _broken(
    verb: str, swap: Callable[[], AbstractContextManager[None]], relation: Neighbours = ADD_REMOVE
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(_effort: Effort) -> Sequence[Finding]:
        with swap():
            return findings_of(verb, relation=relation)

    return examined


TRIAL = Trial(
    "verbs",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case("a count beside the profile", _planted("profile", also(a_count))),
        Case("a choice before a distribution", _planted("distribution, listed", also(a_choice))),
        Case("a count before frequencies", _planted("frequencies", also(a_count))),
        Case(
            "how many groups there are, in a note",
            _planted("frequencies, at most 60", beside(true_groups)),
        ),
        Case(
            "how many groups there are, with noise that nobody paid for",
            _planted("profile", beside(noisy_groups)),
        ),
        Case(
            "how many users there are, among the facts",
            _planted("count_ranges", beside(true_users, stated=True)),
        ),
        Case(
            "how many groups there are, in a note of auto for few users",
            _broken("count_users, auto, few users", groups_of_the_few),
        ),
        Case("how many users there are, as a stage", _planted("profile", as_a_stage)),
        Case("a look at the table before the charge", _planted("profile", early_look)),
        Case("how many users there are, in what a dataset says", _broken("profile", users_told)),
        Case(
            "noise for one user where one becomes another",
            _broken("profile", one_user_for_two, REPLACE),
        ),
        Case("a threshold without its delta", _planted("count_users, laplace", without_delta)),
        Case("a threshold for ten times its delta", _broken("count_users, laplace", ten_deltas)),
    ),
)
