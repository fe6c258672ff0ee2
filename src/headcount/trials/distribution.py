"""Trial of ``Distribution``: what one user moves at every stage, against what was charged for it.

A release is made of one table, without noise, and written down. It is made again of the neighbour,
with every outcome that was written down: both take the same path, and each stage costs what its
inputs differ by over the noise that would have been drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

from headcount.accounting.laplace import laplace_cost
from headcount.audit.verdict import Finding, Tier
from headcount.contributions.distribution.rows import listed_counts
from headcount.contributions.distribution.shares import KEPT, NORM, Residuals, UserShares
from headcount.contributions.groups import USER, group_rows
from headcount.contributions.store import Store
from headcount.mechanisms.distribution import stages as stages_module
from headcount.mechanisms.distribution.mechanism import Distribution
from headcount.mechanisms.radius import Radius
from headcount.privacy.lattice import KEPT_BITS, SHARE_BITS
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query
from headcount.privacy.spend import Zcdp
from headcount.tables import open_table
from headcount.trials.seam import Choice, Integers, Noise, swapped
from headcount.trials.tape import Tape
from headcount.trials.trial import Case, Effort, Trial

Counts = dict[int, int]
ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
N_USERS, ROWS, N_GROUPS = 240, 40, 4
LIMIT = Zcdp(2)
ALL_FIRST, ALL_SECOND, RARE, EVEN = {0: 40}, {1: 40}, {3: 5}, {0: 10, 1: 10, 2: 10, 3: 10}
PAIRS: dict[Neighbours, tuple[tuple[Counts, Counts], ...]] = {
    ADD: ((ALL_FIRST, {}), (RARE, {}), (EVEN, {})),
    REPLACE: ((ALL_FIRST, ALL_SECOND), (RARE, ALL_FIRST)),
}
"""One user's rows by group, on either side. The two in one group each are opposite of the centre,
so that nothing less than two clips is between them."""
METHODS = ("auto", "coarse-fine", "clip", "gaussian", "laplace", "dense", "sparse")


def base_users() -> list[Counts]:
    """Users with about as many rows in each of two groups, and a few in two more."""
    users = []
    for user in range(N_USERS):
        lean = user % 5 - 2
        few = user % 3
        users.append({0: 18 + lean, 1: 20 - lean - few, 2: 2, 3: few})
    return users


def released(one_user: Counts, plan: Distribution, played: Tape | None) -> Tape:
    """One release of the table with this user in it."""
    users = [*base_users(), one_user]
    rows = [(u, g) for u, counts in enumerate(users) for g, n in counts.items() for _ in range(n)]
    table = pa.table({"user": [u for u, _ in rows], "item": [g for _, g in rows]})
    source = open_table(table, user="user")
    tape = Tape(played=played)
    with Store(source.engine) as store:
        grouped = group_rows(source, "item", list(range(N_GROUPS)))
        shares = UserShares(listed_counts(grouped), N_GROUPS, store, plan.neighbours)
        plan.draw(shares, tape)
    return tape


def cost_of(left: Noise | Choice, right: Noise | Choice) -> float:
    """What the inputs of one call cost: by Gaussian or Laplace noise, or by a selection's range."""
    moved = [a - b for a, b in zip(left.true_values, right.true_values, strict=True)]
    if isinstance(left, Choice):
        return float(((max(moved) - min(moved)) * left.rate) ** 2 / 8)
    law = left.law
    if hasattr(law, "sigma_squared"):
        return float(sum(part**2 for part in moved) / (2 * law.sigma_squared))
    return float(laplace_cost(Fraction(sum(map(abs, moved))), law.scale))


def stages(method: str, relation: Neighbours, pair: tuple[Counts, Counts]) -> list[Finding]:
    """One release on two tables, stage by stage and in all."""
    plan = Distribution.calibrate(LIMIT, method, relation, samples=ROWS)
    one = released(pair[0], plan, None)
    other = released(pair[1], plan, one)
    subject = f"{method}, {relation}, a user of {pair[0]} and of {pair[1]}"
    n_more = abs(len(one.draws) - len(other.draws))
    findings = [Finding(Tier.GREY_BOX, subject, "calls that depend on the table", 0, n_more)]
    calls = [cost_of(*both) for both in zip(one.draws, other.draws, strict=False)]
    in_all = sum(calls)
    findings.append(Finding(Tier.GREY_BOX, subject, "rho in all", float(LIMIT.rho), in_all))
    paid = [float(charge.rho) for charge in one.charges]
    findings.append(Finding(Tier.GREY_BOX, subject, "charges", float(LIMIT.rho), sum(paid)))
    if method in ("dense", "sparse"):  # one charge pays for the selections of all groups
        paid = [*paid[:-1], *[paid[-1]] * (len(calls) - len(paid) + 1)]
    paid += [0.0] * (len(calls) - len(paid))
    for stage, (found, claimed) in enumerate(zip(calls, paid, strict=False)):
        findings.append(
            Finding(Tier.GREY_BOX, f"{subject}, stage {stage + 1}", "rho", claimed, found)
        )
    return findings


def _examined(
    broken: Callable[[], AbstractContextManager[None]],
    methods: Sequence[str],
    relations: Sequence[Neighbours],
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = []
        with broken():
            for relation in relations:
                for method in methods if effort is Effort.FULL else methods[:1]:
                    every = effort is Effort.FULL and method == "auto"
                    for pair in PAIRS[relation] if every else PAIRS[relation][:1]:
                        findings += stages(method, relation, pair)
        return findings

    return examined


def root_two() -> AbstractContextManager[None]:
    """Replaced residuals are taken to be root two clips apart, as vectors of one sign are."""
    shipped = Residuals.clipped

    def shorter(residuals: Residuals, norm_squared: int) -> Query[Integers]:
        query = shipped(residuals, norm_squared)
        if residuals._centre is None:
            return query
        far = query.sensitivity
        return replace(query, sensitivity=replace(far, l2_squared=far.l2_squared / 2))

    return swapped(Residuals, "clipped", shorter)


def no_clip() -> AbstractContextManager[None]:
    """Users are not shortened."""

    def kept(residuals: Any, _norm_squared: int) -> Any:
        users = residuals._norms
        return users.select(USER, **{KEPT: users[NORM] * 0 + (1 << KEPT_BITS)})

    return swapped(Residuals, "_kept_users", kept)


def own_groups_only() -> AbstractContextManager[None]:
    """The length of a residual without the groups a user has no rows in."""
    shipped = Residuals._kept_users

    def kept(residuals: Any, norm_squared: int) -> Any:
        left_out = 0 if residuals._centre is None else int((residuals._centre**2).sum())
        return shipped(residuals, min(norm_squared + left_out, 1 << 2 * SHARE_BITS + 1))

    return swapped(Residuals, "_kept_users", kept)


def free_length() -> AbstractContextManager[None]:
    """The length is chosen without a charge, at the rate of a charge."""

    def median(run: Any, users: Query[Integers], rho: Fraction) -> int:
        choice = Radius.calibrate(Zcdp(rho), run.plan.neighbours)
        return choice.draw(users, run.chance)

    return swapped(stages_module.Run, "median", median)


TRIAL = Trial(
    "distribution",
    (
        Case("as shipped", _examined(nullcontext, METHODS, (ADD, REPLACE)), is_mutant=False),
        Case("root two clips under replacement", _examined(root_two, METHODS[:1], (REPLACE,))),
        Case("users are not clipped", _examined(no_clip, METHODS[:1], (ADD,))),
        Case("lengths of own groups only", _examined(own_groups_only, METHODS[:1], (ADD,))),
        Case("a length that is not charged", _examined(free_length, METHODS[:1], (ADD,))),
    ),
)
