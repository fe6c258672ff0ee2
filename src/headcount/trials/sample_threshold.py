"""Trial of ``SampleThreshold``: laws of shown counts, and samples drawn by the engine itself."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from headcount.accounting.convert import zcdp_of
from headcount.accounting.sampling.solver import best
from headcount.audit.blackbox import audit_epsilon
from headcount.audit.divergence import delta_at, rho_beyond
from headcount.audit.law import Law, independent
from headcount.audit.neighbours import Rows
from headcount.audit.verdict import Finding, Tier
from headcount.contributions import sample as sample_module
from headcount.contributions.groups import USER, Grouped
from headcount.contributions.keep import keyed
from headcount.contributions.sample import Coins, sampled_counts
from headcount.contributions.secret import KEY
from headcount.mechanisms.sample_threshold import COIN_BITS, SampleThreshold
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.tables import open_table
from headcount.trials import tables
from headcount.trials.given import given
from headcount.trials.seam import swapped
from headcount.trials.tables import GROUP, by_copy, copied
from headcount.trials.trial import POINTS, Case, Effort, Trial

HIDDEN = None
ABSENT = -(1 << 20)
ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
Swap = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True, slots=True)
class Variant:
    """A mechanism, and what is claimed of it."""

    done: SampleThreshold
    epsilon: float
    delta: float


Make = Callable[[float, float], Variant]


def group_law(mechanism: SampleThreshold, size: int) -> Law:
    """What the mechanism shows of one group: its own coins, its own rule."""
    chance = mechanism.coin_limit / (1 << COIN_BITS)
    counts = np.arange(size + 1)
    shown, _ = mechanism.keep(given(mechanism.sensitivity, counts))
    shares = stats.binom.pmf(shown, size, chance)
    masses = {int(x): Fraction(float(share)) for x, share in zip(shown, shares, strict=True)}
    return Law({HIDDEN: max(Fraction(0), 1 - sum(masses.values(), Fraction(0))), **masses})


def sizes_of(mechanism: SampleThreshold) -> range:
    """Sizes of group among which the worst one is, for the epsilons of the points."""
    return range(
        mechanism.threshold - 1, math.ceil(mechanism.threshold / float(mechanism.rate)) + 2
    )


def _single(variant: Variant) -> Finding:
    laws = [group_law(variant.done, size) for size in sizes_of(variant.done)]
    found = max(
        delta_at(larger, smaller, variant.epsilon).low for smaller, larger in pairwise(laws)
    )
    return Finding(Tier.EXACT, _subject(variant), "delta", variant.delta, found)


def _several(variant: Variant) -> Finding:
    """All answers of one user at once, in groups of the same size."""
    found = 0.0
    for size in sizes_of(variant.done)[:: max(1, len(sizes_of(variant.done)) // 6)]:
        small, large = (group_law(variant.done, size + more) for more in (0, 1))
        if variant.done.neighbours is REPLACE:
            pair = independent([large, small]), independent([small, large])
        else:
            n = variant.done.answers
            pair = independent([large] * n), independent([small] * n)
        found = max(found, delta_at(*pair, variant.epsilon).low)
    subject = f"{_subject(variant)}, {variant.done.answers} answers, {variant.done.neighbours}"
    return Finding(Tier.EXACT, subject, "delta", variant.delta, found)


def _paid(variant: Variant) -> Finding:
    """What the event says, of many sizes: of the group that a user leaves, and of that joined."""
    done, sizes = variant.done, sizes_of(variant.done)
    some = sizes[:: max(1, len(sizes) // 6)]
    found = 0.0
    is_exchanged = done.neighbours is REPLACE
    for left, joined in product({*sizes[:3], *some}, some[::2] if is_exchanged else some[:1]):
        more, few = (group_law(done, left + one) for one in (1, 0))
        if is_exchanged:
            then, now = (group_law(done, joined + one) for one in (0, 1))
            pair = independent([more, then]), independent([few, now])
        else:
            pair = independent([more] * done.answers), independent([few] * done.answers)
        found = max(found, rho_beyond(*pair, float(done.event.delta)))
    subject = f"{_subject(variant)}, {done.answers} answers, {done.neighbours}"
    measure = f"rho at delta {float(done.event.delta):g}"
    return Finding(Tier.EXACT, subject, measure, float(done.event.rho), found)


def _subject(variant: Variant) -> str:
    done = variant.done
    return f"epsilon {variant.epsilon:g}, rate {float(done.rate):.3g}, threshold {done.threshold}"


def shipped(epsilon: float, delta: float) -> Variant:
    """The best rate and threshold for one sample at (epsilon, delta)."""
    chosen = best(epsilon, delta, ADD_REMOVE)
    return Variant(SampleThreshold(chosen.rate, chosen.threshold, Zcdp(0)), epsilon, delta)


def charged(epsilon: float, delta: float, answers: int, neighbours: Neighbours) -> Variant:
    """As an account of this budget pays for it."""
    limit = zcdp_of(Budget(epsilon=epsilon, delta=delta))
    done = SampleThreshold.calibrate(limit, answers=answers, neighbours=neighbours)
    return Variant(done, epsilon, delta)


def lambert(epsilon: float, delta: float) -> Variant:
    """The threshold as printed, and the rate that goes with it."""
    w = float(special.lambertw(math.log(1 / (math.e * delta)) / math.e).real)
    threshold = max(2, round(math.e * w))
    rate = Fraction(math.floor(-math.expm1(-epsilon) / threshold * (1 << 24)), 1 << 24)
    return Variant(SampleThreshold(rate, threshold, Zcdp(0)), epsilon, delta)


def changed(change: Callable[[SampleThreshold], SampleThreshold]) -> Make:
    """The best one, changed without a new certificate."""

    def make(epsilon: float, delta: float) -> Variant:
        variant = shipped(epsilon, delta)
        return replace(variant, done=change(variant.done))

    return make


def rounded_up(mechanism: SampleThreshold) -> SampleThreshold:
    """The rate rounded up to two digits, more or less."""
    return replace(mechanism, rate=Fraction(math.ceil(mechanism.rate * 64) + 1, 64))


def visible_cohort(mechanism: SampleThreshold) -> SampleThreshold:
    """A thousand users wanted, and who is contacted can be seen: those take part nearly always."""
    rate = 1000 / (1000 + 10 * math.sqrt(1000))
    return replace(mechanism, rate=Fraction(math.floor(rate * 1024), 1024))


def two_levels(epsilon: float, delta: float) -> Finding:
    """A parent and a child from one sample; only the last user is in the parent alone."""
    done = shipped(epsilon, delta).done
    size, rate = 40 * done.threshold, Fraction(done.rate)
    others = group_law(replace(done, threshold=1), size).masses
    laws = []
    for coins in ({1: rate, 0: 1 - rate}, {0: Fraction(1)}):
        masses: dict[Any, Fraction] = {}
        for count, mass in others.items():
            for coin, chance in coins.items():
                seen = tuple(
                    x if x >= done.threshold else HIDDEN for x in ((count or 0) + coin, count or 0)
                )
                masses[seen] = masses.get(seen, Fraction(0)) + mass * chance
        laws.append(Law(masses))
    found = delta_at(laws[0], laws[1], epsilon).low
    return Finding(Tier.EXACT, f"epsilon {epsilon}, two levels", "delta", delta, found)


def size_told(epsilon: float, delta: float) -> Finding:
    """Metadata that say how many users were kept; the last user's group is hidden anyway."""
    rate = shipped(epsilon, delta).done.rate
    laws = Law({0: 1 - rate, 1: rate}), Law({0: Fraction(1)})
    found = delta_at(*laws, epsilon).low
    return Finding(Tier.EXACT, f"epsilon {epsilon}, one user", "delta", delta, found)


def size_fixed(epsilon: float, delta: float) -> Finding:
    """A sample of fixed size: one shown group lacks the one user who was taken elsewhere."""
    rate, kept = shipped(epsilon, delta).done.rate, 1000
    laws = Law({kept - 1: rate, kept: 1 - rate}), Law({kept: Fraction(1)})
    found = delta_at(*laws, epsilon).low
    return Finding(Tier.EXACT, f"epsilon {epsilon}, {kept} kept", "delta", delta, found)


def _rows(n_users: int, groups: Sequence[str], last: Sequence[str]) -> Rows:
    rows = [(f"u{i}", group, 1) for i in range(n_users) for group in groups]
    return (*rows, *(("v", group, 1) for group in last))


def _drawn(
    mechanism: SampleThreshold, rows: Rows, groups: Sequence[str], n: int
) -> npt.NDArray[np.int64]:
    """What ``n`` copies of a table show, read by the engine under one fresh key."""
    coins = Coins(mechanism.answers, mechanism.coin_limit, mechanism.threshold)
    table = open_table(copied(rows, n), user=tables.USER)
    shown = sampled_counts(table, GROUP, coins, key=os.urandom(32))
    counts = shown.query.ask().tolist()
    features = np.zeros((n, len(groups) + 1), dtype=np.int64)
    for copy, found in enumerate(by_copy(shown.every_name().column(GROUP).to_pylist(), n)):
        for i, group in enumerate(groups):
            features[copy, i] = counts[found[group]] if group in found else 0
    # How far the first and the last group are apart, where both are shown.
    both = (features[:, : len(groups)] > 0).all(axis=1)
    features[:, -1] = np.where(both, features[:, 0] - features[:, len(groups) - 1], ABSENT)
    return features


def _sampled(variant: Variant, n: int, swap: Swap = nullcontext) -> list[Finding]:
    """One group near its worst size; and two groups, of which the last user is in one."""
    done = variant.done
    size = math.ceil(1.2 * done.threshold / float(done.rate))
    findings = []
    for groups, n_users in ((("a",), size), (("a", "b"), 2 * size)):
        with swap():
            sides = [_drawn(done, _rows(n_users, groups, last), groups, n) for last in (["a"], [])]
        subject = f"epsilon {variant.epsilon:g}, {n_users} users in {len(groups)} groups"
        found = audit_epsilon(*sides, epsilon=variant.epsilon, delta=variant.delta, subject=subject)
        findings.append(found)
    return findings


@contextmanager
def one_coin_per_user() -> Iterator[None]:
    """The coin of a user alone, whatever the group."""

    def user_alone(grouped: Grouped, pairs: Any, key: bytes, purpose: str) -> tuple[Any, Any]:
        import ibis

        pairs, _ = keyed(grouped, pairs, key, purpose)
        own = (ibis.literal(f"|{purpose}"), pairs[USER].cast("string"))
        return pairs, pairs[KEY].concat(*own)

    with swapped(sample_module, "keyed", user_alone):
        yield


def _as_shipped(effort: Effort) -> Sequence[Finding]:
    points = POINTS if effort is Effort.FULL else POINTS[::3]
    findings = [_single(shipped(*point)) for point in (*points, (1.0, 1e-8))]
    for answers, neighbours in ((1, ADD_REMOVE), (2, ADD_REMOVE), (1, REPLACE)):
        findings += [_several(charged(*point, answers, neighbours)) for point in points[::2]]
        paid = points if effort is Effort.FULL else [(1.0, 1e-2)]
        findings += [_paid(charged(*point, answers, neighbours)) for point in paid]
    findings += _sampled(charged(1.0, 1e-2, 2, ADD_REMOVE), 3_000)
    return findings


def _one_way(_effort: Effort) -> Sequence[Finding]:
    """Rate and charge of add-remove, for users who are exchanged."""
    limit = zcdp_of(Budget(epsilon=1, delta=1e-2))
    done = SampleThreshold.calibrate(limit, answers=1, neighbours=ADD_REMOVE)
    return [_paid(Variant(replace(done, neighbours=REPLACE), 1, 1e-2))]


def _examined(make: Make) -> Callable[[Effort], Sequence[Finding]]:
    return lambda _: [_single(make(*point)) for point in POINTS[::2]]


def _found(find: Callable[[float, float], Finding]) -> Callable[[Effort], Sequence[Finding]]:
    return lambda _: [find(*point) for point in POINTS[::2]]


TRIAL = Trial(
    "sample_threshold",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case("the threshold by Lambert's W as printed", _examined(lambert)),
        Case(
            "threshold one too low",
            _examined(changed(lambda m: replace(m, threshold=m.threshold - 1))),
        ),
        Case("rate rounded up", _examined(changed(rounded_up))),
        Case("visible cohort", _examined(changed(visible_cohort))),
        Case("paid as if users only came and went", _one_way),
        Case("one sample for two levels", _found(two_levels)),
        Case("sample size in the metadata", _found(size_told)),
        Case("sample of fixed size", _found(size_fixed)),
        Case(
            "one coin for all groups of a user",
            lambda _: _sampled(charged(1.0, 1e-2, 2, ADD_REMOVE), 1_000, one_coin_per_user),
        ),
    ),
)
