"""Trial of every verb end to end on DuckDB: whether all that leaves was drawn and paid for.

A release is made of one table, without noise, and played again to quite another one, under each
relation that the verb is offered for. Noise and choices whose inputs are others then have seen the
table: they are paid for by the event of the plan, one by each part of it, or by the charges of a
filter. What came out of them was the same, so all that leaves has to be the same: rows, words and
numbers beside them, files, lines of a log. What draws cost is the matter of other trials; here no
draw gets by that no event and no charge stands for, and nothing that was not drawn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import SupportsFloat

from headcount.accounting.compose import cost
from headcount.audit.greybox import Recording, compare
from headcount.audit.said import said_and_true
from headcount.audit.verdict import Finding, Tier
from headcount.privacy.neighbours import Neighbours
from headcount.trials.payments import n_underpaid, n_unpaid, paid_for
from headcount.trials.tape import Tape
from headcount.trials.taped import LIMIT, as_shipped, heard, taped
from headcount.trials.trial import Case, Effort, Trial
from headcount.trials.verb_leaks import (
    at_half_price,
    by_size,
    early_look_by_ibis,
    equal_parts_once,
    one_for_each_row,
    rows_told,
    tables_as_they_are,
    users_beside,
    users_in_the_journal,
)
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
    FEW,
    QUICK,
    VERBS,
    finds_groups,
    tables_of,
)

ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE


def findings_of(
    verb: str, plant: Plant = as_shipped, relation: Neighbours = ADD_REMOVE
) -> list[Finding]:
    """One verb on three tables; ``plant`` puts something into the work that it hands to the door.

    Two of them differ by one user, and the third is quite another one.
    """
    subject = f"{verb}, {relation}"
    base, neighbour, another = tables_of(verb, relation)
    one = taped(base, verb, relation, None, plant)
    near, far = (taped(rows, verb, relation, one, plant) for rows in (neighbour, another))
    tape, event, charged = one.tape, one.plan.work.event, one.seen.charged
    pairs = list(zip(tape.draws, far.tape.draws, strict=False))
    n_more = abs(len(tape.draws) - len(far.tape.draws))
    private = [left.true_values != right.true_values for left, right in pairs] + [True] * n_more
    longer = max((tape, far.tape), key=lambda tape: len(tape.draws))
    nobody = finds_groups(verb) and not charged.delta
    # What is said of a table with nobody in it is the same under either relation.
    tables = FEW if relation is ADD_REMOVE else ()
    few = [heard(rows, verb, relation, Tape(), plant) for rows in tables]
    counted = {
        "errors where there is next to nothing": sum("error" in seen.texts for seen in few),
        "readings before the charge": len(one.seen.early),
        "files that hold more than their rows": one.seen.is_more_than_rows,
        "files that are left behind": len(one.seen.left_behind),
        "rows out of order": one.seen.n_out_of_order,
        "events that the ledger was not told": one.seen.events != [event],
        "calls that depend on the table": n_more,
        "names of groups that no delta paid for": nobody,
        "calls that nobody paid for": n_unpaid(longer.asked, private, event),
        "calls that cost more than was paid": n_underpaid(
            tape.asked, near.tape.draws, event, charged
        ),
    }
    limit, facts = one.plan.account.limit, json.loads(one.seen.texts["facts"])
    own = Fraction(facts["rho"]), Fraction(facts["delta"])
    drawn_for = sum(paid.rho for paid in paid_for(tape.asked, event))
    costs: dict[str, tuple[SupportsFloat, SupportsFloat]] = {
        "rho in the account": (charged.rho, cost(event).rho),
        "delta in the account": (charged.delta, cost(event).delta),
        "rho of all draws together": (charged.rho, drawn_for),
        "delta of the limit": said_and_true(LIMIT, float(limit.rho), float(limit.delta)),
        "delta that is said": said_and_true(facts["guarantee"], *map(float, own)),
    }
    return [
        *(
            finding
            for other in (near, far)
            for finding in compare(Recording((), one.left), Recording((), other.left), [], subject)
        ),
        *(Finding(Tier.GREY_BOX, subject, measure, 0, n) for measure, n in counted.items()),
        *(
            Finding(Tier.GREY_BOX, subject, part, float(paid), float(due))
            for part, (paid, due) in costs.items()
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
    verb: str,
    swap: Callable[[], AbstractContextManager[None]],
    relation: Neighbours = ADD_REMOVE,
    plant: Plant = as_shipped,
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(_effort: Effort) -> Sequence[Finding]:
        with swap():
            return findings_of(verb, plant, relation)

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
        Case("a look by Ibis before the charge", _planted("profile", early_look_by_ibis)),
        Case(
            "how many users there are, beside rows that are withheld",
            _broken("profile", tables_as_they_are, plant=users_beside),
        ),
        Case("how many users there are, in the journal", _broken("profile", users_in_the_journal)),
        Case("a charge for twice the noise", _broken("profile", at_half_price)),
        Case("equal parts of a charge once", _broken("quantiles, exponential", equal_parts_once)),
        Case("shares in the order of their size", _broken("distribution, found", by_size)),
        Case(
            "a user once for each row, by two columns",
            _broken("count_users, two columns, auto", one_for_each_row),
        ),
        Case("how many rows a condition leaves, in the log", _broken("sql, users", rows_told)),
    ),
)
