"""Trial of ``EqualError``: what one user moves at every stage, against what the stage was charged.

Each query is put to two tables that differ by one user. The mechanism goes on with the answer of
one of them, so both take the same path, and the noise is left out: a stage costs what its answers
differ by, over the noise that would have been drawn.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from fractions import Fraction

import pyarrow as pa

from headcount.audit.verdict import Finding, Tier
from headcount.contributions.listed_pairs import ListedPairs
from headcount.contributions.pairs import Pairs
from headcount.contributions.store import Store
from headcount.mechanisms.equal_error import tuning as tuning_module
from headcount.mechanisms.equal_error.listed import EqualErrorListed
from headcount.mechanisms.equal_error.mechanism import EqualError
from headcount.mechanisms.equal_error.overlooked import Overlooked
from headcount.mechanisms.equal_error.reading import Crowd
from headcount.privacy.spend import Zcdp
from headcount.tables import open_table
from headcount.trials.equal_error_mutants import (
    delta_twice,
    every_cell_below,
    free_bias,
    free_heaps,
    free_heavy,
    free_large,
    free_weights,
    more_delta,
    no_cap,
    no_clip,
    no_norm,
    no_values,
    sharp_looks,
    short_reach,
    whole_weights,
    whole_weights_of_a_list,
    whole_weights_of_heaps,
    wide_clip,
)
from headcount.trials.seam import swapped
from headcount.trials.trial import Case, Effort, Trial
from headcount.trials.twin import ListedTwin, Log, Twin

N_GROUPS = 40
N_USERS = 600
LIMIT = Zcdp(2, Fraction(1, 100))
VICTIMS = {
    "one user in every group": range(N_GROUPS),
    "one user in one group": range(1),
    "one user in the ten rarest": range(N_GROUPS - 10, N_GROUPS),
}
STAGES = 11
STAGES_OF_ROWS = 2
"""Users by their rows, and by their rows in each group."""
STAGES_AGAIN = 5 + 2 * tuning_module.MOST_OVERLOOKED - 1
"""Those of a second discovery; and looks that each see a large group, whose users are counted."""
LISTED_CALLS = {"equal": STAGES - 1, "single": 2, "centred": 3}
"""How often the branches of a list draw; where groups are listed, none is overlooked."""
N_LATER = 15
"""Groups that only a second discovery finds."""
ROWS, MAX_VALUE = 60, 50
USERS_AND_ROWS = (1, MAX_VALUE)


def base_pairs() -> list[tuple[int, int]]:
    """Users in four groups each, the first groups in most of them."""
    pairs = []
    for user in range(N_USERS):
        first = user % 8
        pairs += [(user, group % N_GROUPS) for group in (first, user, user * 7, user * 11 + 3)]
    return pairs


@contextmanager
def opened(rows: list[tuple[int, int]], max_value: int) -> Iterator[Pairs]:
    """The pairs of a table, in the engine."""
    table = pa.table({"user": [u for u, _ in rows], "item": [g for _, g in rows]})
    source = open_table(table, user="user")
    with Store(source.engine) as store:
        yield Pairs(source, "item", store, key=bytes(32), max_value=max_value)


@contextmanager
def opened_list(rows: list[tuple[int, int]], groups: list[int]) -> Iterator[ListedPairs]:
    """The pairs of a table with the groups of a list, in the engine."""
    table = pa.table({"user": [u for u, _ in rows], "item": [g for _, g in rows]})
    source = open_table(table, user="user")
    with Store(source.engine) as store:
        yield ListedPairs(source, "item", groups, store)


def stages(victim: str, max_value: int = 1, n_later: int = 0) -> list[Finding]:
    """One release on two tables, stage by stage; with a value, of rows; or with two discoveries."""
    again = ", groups found later" if n_later else ""
    log = Log(subject=f"{victim}{again}" if max_value == 1 else f"{victim}, {ROWS} rows in each")
    base = base_pairs()
    with ExitStack() as stack:
        times = 1 if max_value == 1 else ROWS
        more = base + [(N_USERS, group) for group in VICTIMS[victim]] * times
        one, other = (stack.enter_context(opened(rows, max_value)) for rows in (more, base))
        # As where users are in very many groups: then large ones are looked for.
        stack.enter_context(swapped(Crowd, "most_groups", property(lambda _crowd: 2.0**20)))
        if n_later:
            stack.enter_context(swapped(tuning_module, "AGAIN_ROWS", 10))
            # As where they stand out by far: some tens of users are all that these groups have.
            stack.enter_context(swapped(Overlooked, "reach", property(lambda _looks: 9)))
        mechanism = EqualError.calibrate(LIMIT, 0.10, "equal", max_value=max_value)
        mechanism.draw(Twin(one, other, log, n_later), log)
    n_stages = STAGES + STAGES_OF_ROWS * (max_value > 1) + (STAGES_AGAIN if n_later else 0)
    n_seen = log.n_stages
    if n_seen < n_stages:
        raise ValueError(f"{n_seen} stages were seen, not {n_stages}")
    undeclared = n_seen - n_stages
    last = Finding(Tier.GREY_BOX, log.subject, "calls that were not declared", 0, undeclared)
    return [*log.findings, *log.in_all(LIMIT), last]


def listed_stages(victim: str, method: str = "equal") -> list[Finding]:
    """One release of a list on two tables, stage by stage; nobody is in the last of the groups."""
    log = Log(subject=f"{victim}, listed, {method}")
    base = base_pairs()
    more = base + [(N_USERS, group) for group in VICTIMS[victim]]
    groups = [*range(N_GROUPS), N_GROUPS]
    with ExitStack() as stack:
        one, other = (stack.enter_context(opened_list(rows, groups)) for rows in (more, base))
        mechanism = EqualErrorListed.calibrate(LIMIT, len(groups), 0.10, method)
        mechanism.draw(ListedTwin(one, other, log), log)
    n_seen, n_stages = log.n_stages, LISTED_CALLS[method]
    undeclared = Finding(Tier.GREY_BOX, log.subject, "other calls", 0, abs(n_seen - n_stages))
    return [*log.findings, *log.in_all(LIMIT), undeclared]


def _listed(
    broken: Callable[[], AbstractContextManager[None]], methods: Sequence[str] = ("equal",)
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        victims = EVERY if effort is Effort.FULL else EVERY[:1]
        with broken():
            chosen = itertools.product(victims, methods)
            return list(itertools.chain.from_iterable(listed_stages(*one) for one in chosen))

    return examined


def _examined(
    broken: Callable[[], AbstractContextManager[None]],
    victims: Sequence[str],
    max_values: Sequence[int] = USERS_AND_ROWS[:1],
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        chosen = itertools.product(victims if effort is Effort.FULL else victims[:1], max_values)
        with broken():
            return list(itertools.chain.from_iterable(stages(*one) for one in chosen))

    return examined


def _again(effort: Effort) -> Sequence[Finding]:
    chosen = EVERY if effort is Effort.FULL else EVERY[:1]
    found = [stages(victim, n_later=N_LATER) for victim in chosen]
    return list(itertools.chain.from_iterable(found))


def _as_shipped(effort: Effort) -> Sequence[Finding]:
    listed = _listed(nullcontext, tuple(LISTED_CALLS))
    return [
        *_examined(nullcontext, EVERY, USERS_AND_ROWS)(effort),
        *_again(effort),
        *listed(effort),
    ]


def _delta_twice(effort: Effort) -> Sequence[Finding]:
    """All of delta for either discovery: what both may let out is more than was asked for."""
    with delta_twice():
        return _again(effort)


def _looking(
    broken: Callable[[], AbstractContextManager[None]],
) -> Callable[[Effort], Sequence[Finding]]:
    """Where there are large groups beside those that are discovered."""

    def examined(_effort: Effort) -> Sequence[Finding]:
        with broken():
            return stages(EVERY[0], n_later=N_LATER)

    return examined


EVERY = tuple(VICTIMS)
TRIAL = Trial(
    "equal_error",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case("all of delta twice", _delta_twice),
        Case("a discovery of more delta than is charged", _examined(more_delta, EVERY[:1])),
        Case("a size query without its cap", _examined(no_cap, EVERY[:1])),
        Case("no clip when rows are measured", _examined(no_clip, EVERY[:1])),
        Case("a clip wider than is said", _examined(wide_clip, EVERY[:1])),
        Case("a reach that leaves users out", _examined(short_reach, EVERY[:1])),
        Case("no norm on class totals", _examined(no_norm, EVERY[:1])),
        Case("rows forgotten in the norm", _examined(no_values, EVERY[1:2], USERS_AND_ROWS[1:])),
        Case("whole weights of heaps", _examined(whole_weights_of_heaps, EVERY[:1], (MAX_VALUE,))),
        Case("heaps that are not charged", _examined(free_heaps, EVERY[:1], (MAX_VALUE,))),
        Case("whole weights in discovery", _examined(whole_weights, EVERY[:1])),
        Case("whole weights of a list", _listed(whole_weights_of_a_list)),
        Case("weights of a list that are not charged", _listed(free_weights)),
        Case("a list without a clip", _listed(no_clip)),
        Case("a bias query that is not charged", _examined(free_bias, EVERY[:1])),
        Case("a look at twice the epsilon that is charged", _looking(sharp_looks)),
        Case("large groups counted without charge", _looking(free_large)),
        Case("heavy users counted without charge", _examined(free_heavy, EVERY[:1])),
        Case("a user in many cells", _examined(every_cell_below, EVERY[:1])),
    ),
)
