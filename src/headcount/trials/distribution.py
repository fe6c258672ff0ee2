"""Trial of ``Distribution``: what one user moves at every stage, against what was charged for it.

A release is made of one table, without noise, and written down. It is made again of the neighbour,
with every outcome that was written down: both take the same path, and each stage costs what its
inputs differ by over the noise that would have been drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headcount.audit.verdict import Finding, Tier
from headcount.contributions.distribution import KEPT, NORM, Residuals, UserShares
from headcount.contributions.distribution_rows import listed_counts
from headcount.contributions.groups import USER, group_rows
from headcount.contributions.store import Store
from headcount.mechanisms import binomial_selection, equal_error_size, gaussian, radius
from headcount.mechanisms import distribution as module
from headcount.mechanisms import distribution_run as run_module
from headcount.mechanisms.distribution import Distribution
from headcount.privacy.lattice import KEPT_BITS, SHARE_BITS
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.tables import open_table
from headcount.trials.seam import swapped, writing_filter
from headcount.trials.trial import Case, Effort, Trial

Integers = npt.NDArray[np.int64]
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


@dataclass
class Tape:
    """What reached the primitives, and what came out."""

    charges: list[Zcdp] = field(default_factory=list)
    inputs: list[tuple[Any, list[int]]] = field(default_factory=list)
    outcomes: list[Any] = field(default_factory=list)


@contextmanager
def taped(tape: Tape, played: Tape | None) -> Iterator[None]:
    """Primitives that write down their inputs; with a tape to play, their outcomes are its."""

    def outcome(law: Any, values: Integers, own: Any) -> Any:
        tape.inputs.append((law, [int(value) for value in values]))
        tape.outcomes.append(own if played is None else played.outcomes[len(tape.outcomes)])
        return tape.outcomes[-1]

    def noisy(true_counts: Integers, law: Any, _entropy: object = None) -> Any:
        return outcome(law, true_counts, true_counts)

    def select(scores: Integers, rate: Fraction, _entropy: object) -> Any:
        return outcome(rate, scores, int(np.argmax(scores)))

    with ExitStack() as stack:
        stack.enter_context(swapped(module, "Filter", writing_filter(tape.charges)))
        for place in (gaussian, run_module):
            stack.enter_context(swapped(place, "noisy", noisy))
        for place in (radius, equal_error_size, binomial_selection):
            stack.enter_context(swapped(place, "select", select))
        yield


def released(one_user: Counts, plan: Distribution, played: Tape | None) -> Tape:
    """One release of the table with this user in it."""
    users = [*base_users(), one_user]
    rows = [(u, g) for u, counts in enumerate(users) for g, n in counts.items() for _ in range(n)]
    table = pa.table({"user": [u for u, _ in rows], "item": [g for _, g in rows]})
    source = open_table(table, user="user")
    tape = Tape()
    with Store(source.engine) as store, taped(tape, played):
        grouped = group_rows(source, "item", list(range(N_GROUPS)))
        plan.draw(UserShares(listed_counts(grouped), N_GROUPS, store))
    return tape


def cost_of(law: Any, left: Sequence[int], right: Sequence[int]) -> float:
    """What the inputs of one call cost: by Gaussian or Laplace noise, or by a selection's range."""
    moved = [a - b for a, b in zip(left, right, strict=True)]
    if isinstance(law, Fraction):
        return float(((max(moved) - min(moved)) * law) ** 2 / 8)
    if hasattr(law, "sigma_squared"):
        return float(sum(part**2 for part in moved) / (2 * law.sigma_squared))
    return float((sum(map(abs, moved)) / law.scale) ** 2 / 2)


def stages(method: str, relation: Neighbours, pair: tuple[Counts, Counts]) -> list[Finding]:
    """One release on two tables, stage by stage and in all."""
    plan = Distribution.calibrate(LIMIT, method, relation, samples=ROWS)
    one = released(pair[0], plan, None)
    other = released(pair[1], plan, one)
    subject = f"{method}, {relation}, a user of {pair[0]} and of {pair[1]}"
    calls = [
        (law, cost_of(law, left, right))
        for (law, left), (_, right) in zip(one.inputs, other.inputs, strict=True)
    ]
    in_all = sum(found for _, found in calls)
    findings = [Finding(Tier.GREY_BOX, subject, "rho in all", float(LIMIT.rho), in_all)]
    paid = [float(charge.rho) for charge in one.charges]
    findings.append(Finding(Tier.GREY_BOX, subject, "charges", float(LIMIT.rho), sum(paid)))
    if method in ("dense", "sparse"):  # one charge pays for the selections of all groups
        paid = [*paid[:-1], *[paid[-1]] * (len(calls) - len(paid) + 1)]
    paid += [0.0] * (len(calls) - len(paid))
    for stage, ((_, found), claimed) in enumerate(zip(calls, paid, strict=False)):
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
    shipped = run_module.Run.clip_distance

    def shorter(run: Any, norm_squared: int, *, centred: bool) -> Sensitivity:
        return shipped(run, norm_squared, centred=False)

    return swapped(run_module.Run, "clip_distance", shorter)


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

    def median(run: Any, true_users: Callable[[], Integers], rho: Fraction) -> int:
        choice = radius.Radius.calibrate(Zcdp(rho), run.plan.neighbours)
        return choice.draw(true_users(), run.entropy)

    return swapped(run_module.Run, "median", median)


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
