"""Trial of counts of events in groups that are found, end to end on DuckDB.

What reaches the choice of the bound and the noise is written down for two tables that differ by
one user. The choice is made to take one candidate for both, so that they go the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Any

from headcount.audit.greybox import Call, Declared, Recording, compare
from headcount.audit.neighbours import MARK, VICTIM, Pair, Rows, pairs
from headcount.audit.verdict import Finding
from headcount.contributions import bound_losses as losses_module
from headcount.contributions.bounded import VALUE
from headcount.contributions.clip import clip_l2
from headcount.contributions.groups import group_rows
from headcount.contributions.kept_rows import rows_of_pairs, sample_rows
from headcount.contributions.lost_rows import UNIT_BITS
from headcount.mechanisms.bound_choice import SCORE_BITS
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.releases.count_events import found as module
from headcount.releases.count_events.found import plan_found_events
from headcount.releases.count_events.noise import LATTICE_BITS
from headcount.releases.facts import limit_for
from headcount.trials.door import one_key, opened, released, shown_in
from headcount.trials.seam import Recorder, calls_of, choice_settings, settings_of, swapped
from headcount.trials.tables import GROUP, arrow_table
from headcount.trials.trial import Case, Effort, Trial
from headcount.trials.verb_plants import beside_the_engine

Swap = Callable[[], AbstractContextManager[Any]]
CANDIDATE = 3
"""Which candidate is taken: a bound of 4 rows, or a norm of 4."""

LONG = tuple((VICTIM, f"{MARK}-{j}", 1 + j % 9) for j in range(300))
WIDE = tuple((VICTIM, f"{MARK}-{j}", 1) for j in range(5000))
ALL_PAIRS = [
    *(pair for pair in pairs(4, 20) if pair.name.startswith("users of")),
    Pair("one user, and another of 2,000 rows", (("u0", "g0", 1),), ((VICTIM, "g0", 2000),)),
    Pair("one user, and another in 5,000 groups", (("u0", "g0", 3),), WIDE),
    Pair("one user, and another with many rows in many groups", (("u0", "g0", 3),), LONG),
]
ROWS = ALL_PAIRS[-1:]


def recording(rows: Rows, method: str) -> tuple[Recording, list[Declared]]:
    """What reaches the choice and the noise in a whole release, and what is declared of both."""
    recorder = Recorder(taken=CANDIDATE)
    with opened(arrow_table(rows)) as data:
        rules = group_rows(data.table, GROUP).rules
        limit = limit_for(data.account, Fraction(1))
        plan = plan_found_events(data, GROUP, rules, limit, method=method)
        said = f"{plan}\n{plan.explain()}"
        release = released(plan, recorder, one_key)
    work: Any = plan.work.read_and_draw
    count = work.__self__
    bound = module.candidate_bounds()[CANDIDATE]
    declared = [_choice(count), _lost(count), _noise(count.noise, bound)]
    calls = calls_of(recorder, shown_in(release, recorder))
    if not len(release):
        # Rows are noised one by one, so a table without rows needs no call.
        calls = (*calls, Call(declared[-1].settings, {}))
    return Recording(calls, {"plan": said, "bounds": release.facts.bounds}), declared


def _choice(count: Any) -> Declared:
    rate = count.choice.epsilon / (2 << SCORE_BITS)
    return Declared(choice_settings(rate), score_range=2 << SCORE_BITS)


def _lost(count: Any) -> Declared:
    lost = count.lost.times(1 << UNIT_BITS)
    distance = lost.sensitivity
    return Declared(
        settings_of(DiscreteGaussian(lost.sigma_squared)),
        l2_squared=float(distance.l2_squared),
        linf=float(distance.linf),
    )


def _noise(noise: Any, bound: int) -> Declared:
    if isinstance(noise, GaussianThreshold):
        used = noise.with_norm(bound, LATTICE_BITS)
        sensitivity = used.bounds.sensitivity()
        return Declared(
            settings_of(DiscreteGaussian(used.sigma_squared)),
            l0=sensitivity.l0,
            l2_squared=float(sensitivity.l2_squared),
            linf=float(sensitivity.linf),
        )
    sampled = noise.with_rows(bound)
    return Declared(settings_of(DiscreteLaplace(sampled.scale)), l0=bound, l1=bound, linf=bound)


def _examined(
    swap: Swap, methods: Sequence[str], chosen: Sequence[Pair]
) -> Callable[[Effort], Sequence[Finding]]:
    def examined(effort: Effort) -> Sequence[Finding]:
        findings = []
        for method in methods:
            for pair in chosen if effort is Effort.FULL else chosen[-2:]:
                with swap():
                    left, declared = recording(pair.with_user, method)
                    right, _ = recording(pair.base, method)
                findings += compare(left, right, declared, f"{pair.name}, {method}")
        return findings

    return examined


def all_rows() -> AbstractContextManager[None]:
    """Every row of a user counts, not a sample of them."""
    shipped = sample_rows

    def every(table: Any, by: Any, bound: int, **named: Any) -> Any:
        claimed = shipped(table, by, bound, **named).sensitivity
        return replace(shipped(table, by, 1 << 20, **named), sensitivity=claimed)

    return swapped(module, "sample_rows", every)


def support_before_sampling() -> AbstractContextManager[None]:
    """Groups of which no row was kept are there, with a count of 0, as printed."""
    shipped = sample_rows

    def with_zeros(table: Any, by: Any, bound: int, **named: Any) -> Any:
        kept = shipped(table, by, bound, **named)
        every = rows_of_pairs(kept.grouped)
        zeros = every.select(*kept.grouped.columns, **{VALUE: every["hc_n_rows"] * 0})
        return replace(kept, expr=kept.expr.union(zeros))

    return swapped(module, "sample_rows", with_zeros)


def no_norm() -> AbstractContextManager[None]:
    """Users keep the norm they have."""
    shipped = clip_l2

    def unclipped(table: Any, by: Any, limits: Any, *, max_l2_squared: int, **named: Any) -> Any:
        clipped = shipped(table, by, limits, max_l2_squared=max_l2_squared, **named)
        longer = shipped(table, by, limits, max_l2_squared=1 << 30, **named)
        return replace(longer, sensitivity=clipped.sensitivity)

    return swapped(module, "clip_l2", unclipped)


def no_ratio() -> AbstractContextManager[None]:
    """What a user with rows in very many groups loses counts in full when a norm is chosen."""
    shipped = losses_module._by_norm

    def uncapped(norms: Any, candidates: Any, _max_ratio: int) -> Any:
        return shipped(norms, candidates, 1 << 20)

    return swapped(losses_module, "_by_norm", uncapped)


def end_from_data() -> AbstractContextManager[None]:
    """Candidates that end where the largest user does."""
    shipped = module._FoundEvents._choose

    def choose(count: Any, session: Any, values: Any) -> int:
        table = count.dataset.table
        rows = table.expr.group_by(table.user).agg(n=table.expr.count())
        largest = beside_the_engine(table, rows.agg(most=rows["n"].max()))
        every = [bound for bound in module.candidate_bounds() if bound < largest]
        with swapped(module, "candidate_bounds", lambda: (*every, largest, 1 << 18)):
            return shipped(count, session, values)

    return swapped(module._FoundEvents, "_choose", choose)


BOTH = ("gaussian", "laplace")
TRIAL = Trial(
    "count_events_found",
    (
        Case("as shipped", _examined(nullcontext, BOTH, ALL_PAIRS), is_mutant=False),
        Case("all rows of a user", _examined(all_rows, BOTH[1:], ROWS)),
        Case("groups without a kept row", _examined(support_before_sampling, BOTH[1:], ROWS)),
        Case("no norm", _examined(no_norm, BOTH[:1], ROWS)),
        Case("no limit on rows over norm", _examined(no_ratio, BOTH[:1], ALL_PAIRS[-2:-1])),
        Case("candidates up to the largest user", _examined(end_from_data, BOTH[1:], ROWS)),
    ),
)
