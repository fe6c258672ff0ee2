"""Trial of ``EqualError``: what one user moves at every stage, against what the stage was charged.

Each query is put to two tables that differ by one user. The mechanism goes on with the answer of
one of them, so both take the same path, and the noise is left out: a stage costs what its answers
differ by, over the noise that would have been drawn.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headcount.accounting.filter import Filter
from headcount.audit.verdict import Finding, Tier
from headcount.contributions import pairs as pairs_module
from headcount.contributions.equal_error import levels as levels_module
from headcount.contributions.equal_error.known import ClippedPairs, KnownPairs
from headcount.contributions.equal_error.norm_limits import NormLimits
from headcount.contributions.pairs import Pairs
from headcount.contributions.store import Store
from headcount.mechanisms.equal_error import stages as stages_module
from headcount.mechanisms.equal_error import tuning as tuning_module
from headcount.mechanisms.equal_error.mechanism import EqualError
from headcount.mechanisms.gaussian import Gaussian
from headcount.privacy.query import Query
from headcount.privacy.spend import Zcdp
from headcount.tables import open_table
from headcount.trials.given import given
from headcount.trials.seam import Recorder, swapped
from headcount.trials.trial import Case, Effort, Trial

Integers = npt.NDArray[np.int64]
N_GROUPS = 40
N_USERS = 600
LIMIT = Zcdp(2, Fraction(1, 100))
VICTIMS = {
    "one user in every group": range(N_GROUPS),
    "one user in one group": range(1),
    "one user in the ten rarest": range(N_GROUPS - 10, N_GROUPS),
}
STAGES = 8
STAGES_AGAIN = 4
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


@dataclass
class Log(Recorder):
    """A chance that pairs what is drawn with what was charged, and keeps what it finds."""

    subject: str = ""
    moved: list[int] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def paid(self) -> float:
        """What was charged for this query; a query that nobody charged is worth nothing."""
        charges = self.charges[len(self.findings) :]
        return float(charges[0].rho) if charges else 0.0

    def noisy(self, true_counts: Integers, law: Any) -> Integers:
        """No noise: the answer itself, and a finding from how far the two tables are apart."""
        squared = sum(part**2 for part in self.moved)
        self.found("rho", self.paid(), float(squared / (2 * law.sigma_squared)))
        return true_counts

    def select(self, scores: Integers, epsilon_over_range: Fraction) -> int:
        """The best candidate, and a finding from the range of the difference."""
        epsilon = (max(self.moved) - min(self.moved)) * epsilon_over_range
        # Also when all sums move alike: a score may stop at the allowance and not move at all.
        epsilon = max(epsilon, max(map(abs, self.moved)) * epsilon_over_range)
        self.found("rho", self.paid(), float(epsilon**2 / 8))
        return int(np.argmax(scores))

    def found(self, measure: str, claimed: float, value: float) -> None:
        """Write a finding down, with the number of the stage."""
        subject = f"{self.subject}, stage {len(self.findings) + 1}"
        self.findings.append(Finding(Tier.GREY_BOX, subject, measure, claimed, value))


@dataclass
class Twin:
    """Puts every query to both tables, and answers for the one with the user."""

    one: Any
    other: Any
    log: Log
    n_later: int = 0
    """How many groups do not leave a discovery."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def asked(*arguments: Any, **named: Any) -> Any:
            left = getattr(self.one, name)(*_sides(arguments, "one"), **named)
            right = getattr(self.other, name)(*_sides(arguments, "other"), **named)
            if isinstance(left, KnownPairs | ClippedPairs | Pairs):
                return Twin(left, right, self.log)
            if left is None:
                return None
            if isinstance(left, Query):
                return self.both(left, right)
            return [self.both(*queries) for queries in zip(left, right, strict=True)]

        return asked

    def both(self, left: Query[Integers], right: Query[Integers]) -> Query[Integers]:
        """The question to both tables at once, when it is asked."""

        def ask() -> Integers:
            true_values = left.ask()
            self.log.moved = (np.ravel(true_values) - np.ravel(right.ask())).tolist()
            return true_values

        return Query(left.sensitivity, ask)

    def discover(self, bounds: Any, draw: Callable[[Query[Integers]], Any]) -> Integers:
        """Both tables have the same groups, so their totals can be put side by side."""
        queries: list[Query[Integers]] = []

        def everything(query: Query[Integers]) -> tuple[npt.NDArray[np.intp], Integers]:
            queries.append(query)
            return _everything(query.ask())

        left, right = (side.discover(bounds, everything) for side in (self.one, self.other))
        claimed = queries[0].sensitivity
        n_found = len(left) - self.n_later
        for side in (self.one, self.other):
            side.groups = side.groups.slice(0, n_found)
        left, right = left[:n_found], right[:n_found]
        kept, totals = draw(self.both(given(claimed, left), given(claimed, right)))
        if len(kept) < len(left):
            raise ValueError("every group of the trial is above the threshold")
        noisy: Integers = totals
        return noisy


def _sides(arguments: Sequence[Any], side: str) -> list[Any]:
    """What a question to one of the tables is about."""
    return [getattr(one, side) if isinstance(one, Twin) else one for one in arguments]


def _everything(true_totals: Integers) -> tuple[npt.NDArray[np.intp], Integers]:
    return np.arange(len(true_totals)), true_totals


@contextmanager
def opened(rows: list[tuple[int, int]], max_value: int) -> Iterator[Pairs]:
    """The pairs of a table, in the engine."""
    table = pa.table({"user": [u for u, _ in rows], "item": [g for _, g in rows]})
    source = open_table(table, user="user")
    with Store(source.engine) as store:
        yield Pairs(source, "item", store, key=bytes(32), max_value=max_value)


def stages(victim: str, max_value: int = 1, n_later: int = 0) -> list[Finding]:
    """One release on two tables, stage by stage; with a value, of rows; or with two discoveries."""
    again = ", groups found later" if n_later else ""
    log = Log(subject=f"{victim}{again}" if max_value == 1 else f"{victim}, {ROWS} rows in each")
    base = base_pairs()
    with ExitStack() as stack:
        times = 1 if max_value == 1 else ROWS
        more = base + [(N_USERS, group) for group in VICTIMS[victim]] * times
        one, other = (stack.enter_context(opened(rows, max_value)) for rows in (more, base))
        if n_later:
            stack.enter_context(swapped(tuning_module, "AGAIN_ROWS", 10))
        mechanism = EqualError.calibrate(LIMIT, 0.10, "equal", max_value=max_value)
        mechanism.draw(Twin(one, other, log, n_later), log)
    n_stages = STAGES + (max_value > 1) + (STAGES_AGAIN if n_later else 0)
    n_seen = len(log.findings)
    if n_seen < n_stages:
        raise ValueError(f"{n_seen} stages were seen, not {n_stages}")
    undeclared = n_seen - n_stages
    last = Finding(Tier.GREY_BOX, log.subject, "calls that were not declared", 0, undeclared)
    return [*log.findings, last]


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


def _no_cap(users: Any, clip: Any, cap: Any, unit_bits: int) -> Any:
    share = 1 - (clip.cast("float64") / users["hc_norm"].cast("float64")).sqrt()
    lost = users["hc_sum"].cast("float64") * share / cap.cast("float64") * (1 << unit_bits)
    return lost.floor().cast("int64")


def no_cap() -> AbstractContextManager[None]:
    """A user's loss counts for all it is, not up to one unit."""
    return swapped(levels_module, "_loss", _no_cap)


def _clipped_at(wider: Callable[[int], int]) -> AbstractContextManager[None]:
    """Users are clipped elsewhere than the question says."""

    class Wider(ClippedPairs):
        def __init__(
            self, known: KnownPairs, index: Integers, weights: Integers, clip: int
        ) -> None:
            super().__init__(known, index, weights, wider(clip))
            self.claimed = ClippedPairs(known, index, weights, clip)

        def totals(self, value_bits: int) -> Query[Integers]:
            claimed = self.claimed.totals(value_bits).sensitivity
            return replace(super().totals(value_bits), sensitivity=claimed)

    def clipped(known: KnownPairs, index: Integers, weights: Integers, clip: int) -> Any:
        return Wider(known, index, weights, clip)

    return swapped(KnownPairs, "clipped", clipped)


def no_clip() -> AbstractContextManager[None]:
    """Users keep all their weight when rows are measured."""
    return _clipped_at(lambda _clip: 1 << 62)


def wide_clip() -> AbstractContextManager[None]:
    """Users are clipped at twice the norm, as if what large rows have more of were free."""
    return _clipped_at(lambda clip: 4 * clip)


def no_values() -> AbstractContextManager[None]:
    """How long a user's vector is is found from the weights of groups, without the rows in them."""
    shipped = KnownPairs.with_numbers

    def unweighed(known: KnownPairs, pairs: Any, *_names: str, **columns: Integers) -> Any:
        return shipped(known, pairs, **columns)

    return swapped(KnownPairs, "with_numbers", unweighed)


def short_reach() -> AbstractContextManager[None]:
    """Who may be beyond a clip is told from a tenth of the weights: some are never clipped."""
    shipped = NormLimits.beyond

    def too_few(reach: NormLimits, index: Integers, weights: Integers, clip: int) -> Any:
        return shipped(reach, index, weights // 10, clip)

    return swapped(NormLimits, "beyond", too_few)


def no_norm() -> AbstractContextManager[None]:
    """Users keep all they add to the classes."""
    shipped = KnownPairs._clipped_sums

    def unclipped(known: KnownPairs, per_user: Any, entries: Any, _norm: int) -> Any:
        return shipped(known, per_user, entries, 1 << 60)

    return swapped(KnownPairs, "_clipped_sums", unclipped)


def whole_weights() -> AbstractContextManager[None]:
    """Users weigh one in every group when groups are discovered, however many they have."""
    return swapped(pairs_module, "exact_weight", lambda n, bounds: n * 0 + bounds.scale)


def free_bias() -> AbstractContextManager[None]:
    """The last query is not charged."""
    shipped = stages_module.Run.noisy

    def noisy(run: Any, query: Query[Integers], rho: Fraction) -> Any:
        if rho != run.plan.shares.bias:
            return shipped(run, query, rho)
        mechanism = Gaussian.calibrate(query.sensitivity, Zcdp(rho))
        return mechanism.draw(query, run.chance), mechanism.sd

    return swapped(stages_module.Run, "noisy", noisy)


def _again(effort: Effort) -> Sequence[Finding]:
    chosen = EVERY if effort is Effort.FULL else EVERY[:1]
    found = [stages(victim, n_later=N_LATER) for victim in chosen]
    return list(itertools.chain.from_iterable(found))


def _as_shipped(effort: Effort) -> Sequence[Finding]:
    return [*_examined(nullcontext, EVERY, USERS_AND_ROWS)(effort), *_again(effort)]


def _delta_twice(effort: Effort) -> Sequence[Finding]:
    """All of delta for either discovery: what both may let out is more than was asked for."""
    findings: list[Finding] = []
    with swapped(tuning_module, "AGAIN_DELTA", Fraction(1, 2)), _no_filter() as spent:
        shipped = stages_module.Run.discovered

        def discovered(run: Any, pairs: Any, rho: Fraction, _part: Fraction = Fraction(1)) -> Any:
            return shipped(run, pairs, rho, Fraction(1))

        with swapped(stages_module.Run, "discovered", discovered):
            findings += _again(effort)
    claimed = float(LIMIT.delta)
    return [*findings, Finding(Tier.GREY_BOX, "both", "delta", claimed, float(sum(spent)))]


@contextmanager
def _no_filter() -> Iterator[list[Fraction]]:
    """A filter that refuses nothing, and what was charged of delta."""
    spent: list[Fraction] = []

    def charge(budget: Filter, spend: Zcdp) -> None:
        spent.append(spend.delta)

    with swapped(Filter, "charge", charge):
        yield spent


EVERY = tuple(VICTIMS)
TRIAL = Trial(
    "equal_error",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case("all of delta twice", _delta_twice),
        Case("a size query without its cap", _examined(no_cap, EVERY[:1])),
        Case("no clip when rows are measured", _examined(no_clip, EVERY[:1])),
        Case("a clip wider than is said", _examined(wide_clip, EVERY[:1])),
        Case("a reach that leaves users out", _examined(short_reach, EVERY[:1])),
        Case("no norm on class totals", _examined(no_norm, EVERY[:1])),
        Case("rows forgotten in the norm", _examined(no_values, EVERY[1:2], USERS_AND_ROWS[1:])),
        Case("whole weights in discovery", _examined(whole_weights, EVERY[:1])),
        Case("a bias query that is not charged", _examined(free_bias, EVERY[:1])),
    ),
)
