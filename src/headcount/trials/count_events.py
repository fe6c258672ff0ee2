"""Trial of ``count_events`` of known groups, end to end on DuckDB, for both neighbour relations.

Choices are made to fall on the same bound on both sides, and noise is replaced by known numbers;
what reached each stage is then held against what the event says was paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from typing import Any

from headcount.audit.greybox import Declared, Recording, compare
from headcount.audit.neighbours import MARK, VICTIM, Group, Pair, Rows, pairs
from headcount.audit.verdict import Finding
from headcount.contributions import events as queries
from headcount.contributions import far as far_users
from headcount.contributions.tally import Tally
from headcount.mechanisms import clip_choice
from headcount.noise.discrete_gaussian import DiscreteGaussian
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.privacy.event import Composed, GaussianNoise, LaplaceNoise, Selection
from headcount.privacy.length import Length, Norm, unit_sensitivity
from headcount.privacy.neighbours import Neighbours
from headcount.releases.choices import EventsMethod
from headcount.releases.count_events import far, known
from headcount.releases.plan import Plan
from headcount.trials.door import opened, released, shown_in
from headcount.trials.gaussian import public_groups
from headcount.trials.seam import Recorder, calls_of, choice_settings, settings_of, swapped
from headcount.trials.tables import GROUP, arrow_table
from headcount.trials.trial import Case, Effort, Trial

CHOSEN = 15
"""The candidate that is always chosen: a bound of about two events, which is below many users."""

PAIRS = [pairs(5, 12)[index] for index in (1, 3, 5, 6, 7)]
MANY, HEAVY = PAIRS[-2].name, PAIRS[-1].name
FAR = "users of a few groups, and one with very many rows in all of them"
PAIRS.append(
    Pair(
        FAR,
        tuple((f"u{i}", f"g{j}", 30 * (i % 3)) for i in range(9) for j in range(i % 4)),
        tuple((VICTIM, f"g{j}", 30 + 300 * (j % 2)) for j in range(12)),
    )
)
Swap = Callable[[], AbstractContextManager[Any]]
NO_SWAP: Swap = nullcontext


def replaced(pair: Pair) -> Pair:
    """The same pair, with another user in place of none: one event in a group of their own."""
    other = (("other-user", f"{MARK}-other", 3), ("other-user", "g1", 1))
    return Pair(f"{pair.name}, replaced", (*pair.base, *other), (*pair.base, *pair.added))


def recording(
    rows: Rows, groups: list[Group], method: EventsMethod, neighbours: Neighbours
) -> tuple[Recording, Plan]:
    """What reached each stage: scores, what was clipped off, and totals by group."""
    recorder = Recorder(taken=CHOSEN)
    # Who stands out from noise as large as this is everyone; what follows from it is public.
    nobody = swapped(far.Seen, "of", lambda users, *_: far.Seen.nobody(len(users)))
    with nobody, opened(arrow_table(rows), neighbours=str(neighbours)) as data:
        plan = data.count_events(GROUP, groups=groups, method=method, spend="1")
        said = f"{plan}\n{plan.explain()}"
        release = released(plan, recorder)
    facts = release.facts
    public = {"plan": said, "bounds": facts.bounds, "noise": facts.noise}
    return Recording(calls_of(recorder, shown_in(release, recorder)), public), plan


def declared(plan: Plan, n_groups: int) -> list[Declared]:
    """What the event says was paid for, in the units of the chosen bound."""
    event = plan.work.event
    assert isinstance(event, Composed)  # noqa: S101  the verb composes its stages
    choice, loss, *beyond, noise = event.events
    assert isinstance(choice, Selection)  # noqa: S101  the bound is chosen first
    assert isinstance(loss, GaussianNoise)  # noqa: S101  what it takes is measured second
    norm = Norm.L1 if isinstance(noise, LaplaceNoise) else Norm.L2
    top = clip_choice.candidates(norm)[CHOSEN - 1].top
    unit = 1 << known.LOSS_BITS
    cap = clip_choice.ratio_cap(norm, n_groups)
    rate = choice.epsilon / (2 * cap)
    if isinstance(noise, LaplaceNoise):
        law: object = DiscreteLaplace(noise.scale * top)
        distance = {"l1": float(noise.l1 * top)}
    else:
        assert isinstance(noise, GaussianNoise)  # noqa: S101  there are two laws
        law = DiscreteGaussian(noise.sigma_squared * top**2)
        distance = {"l2_squared": float(noise.l2_squared * top**2)}
    return [
        Declared(
            choice_settings(rate),
            score_range=float(choice.epsilon / rate),
        ),
        Declared(
            settings_of(DiscreteGaussian(loss.sigma_squared * unit**2)),
            l2_squared=float(loss.l2_squared * unit**2),
        ),
        *(
            Declared(
                settings_of(DiscreteGaussian(one.sigma_squared)), l2_squared=float(one.l2_squared)
            )
            for one in beyond
            if isinstance(one, GaussianNoise)
        ),
        Declared(settings_of(law), **distance),
    ]


def _grey(
    swap: Swap,
    method: EventsMethod,
    neighbours: Neighbours,
    only: str | None = None,
) -> list[Finding]:
    findings = []
    for pair in [pair for pair in PAIRS if only in (None, pair.name)]:
        groups: list[Group] = [*public_groups(pair), f"{MARK}-other"]
        one, other = pair.with_user, pair.base
        if neighbours is Neighbours.REPLACE:
            one, other = replaced(pair).added, replaced(pair).base
        with swap():
            left, plan = recording(one, groups, method, neighbours)
            right, _ = recording(other, groups, method, neighbours)
        claims = declared(plan, len(groups))
        findings += compare(left, right, claims, f"{pair.name}, {method}, {neighbours}")
    return findings


def _as_shipped(effort: Effort) -> Sequence[Finding]:
    findings = []
    methods: tuple[EventsMethod, ...] = ("gaussian", "laplace")
    for method in methods:
        for neighbours in Neighbours:
            every = effort is Effort.FULL and (method, neighbours) == ("gaussian", "add-remove")
            for some in (None,) if every else (MANY, HEAVY, FAR):
                findings += _grey(NO_SWAP, method, neighbours, some)
    return findings


def _unclipped() -> AbstractContextManager[Any]:
    def clipped(self: queries.Events, length: Length) -> Any:
        longer = _clipped(self, Length(length.norm, length.top << 4, length.bits))
        return replace(longer, sensitivity=_clipped(self, length).sensitivity)

    return swapped(queries.Events, "clipped", clipped)


_clipped = queries.Events.clipped
_weight_curve = queries.Events.weight_curve


def _uncapped() -> AbstractContextManager[Any]:
    def curve(self: queries.Events, candidates: Sequence[Length], cap: int, bits: int) -> Any:
        claimed = _weight_curve(self, candidates, cap, bits).sensitivity
        return replace(_weight_curve(self, candidates, 1 << 40, bits), sensitivity=claimed)

    return swapped(queries.Events, "weight_curve", curve)


def _whole_weights() -> AbstractContextManager[Any]:
    return swapped(far_users, "exact_weight", lambda n, bounds: n * 0 + bounds.scale)


def _free_far() -> AbstractContextManager[Any]:
    shipped: Any = vars(known._KnownCount)["event"].fget

    def event(count: known._KnownCount) -> Composed:
        free: Composed = shipped(replace(count, far=None))
        return free

    return swapped(known._KnownCount, "event", property(event))


def _as_if_added() -> AbstractContextManager[Any]:
    def of_one_way(norm: Norm, n_groups: int, _neighbours: Neighbours) -> Any:
        return unit_sensitivity(norm, n_groups, Neighbours.ADD_REMOVE)

    stack = ExitStack()
    stack.enter_context(swapped(known, "unit_sensitivity", of_one_way))
    # The totals are told to move as far as the noise is made for: it is the audit that must see.
    stack.enter_context(
        swapped(known, "Tally", lambda contributions, _relation: Tally(contributions))
    )
    return stack


TRIAL = Trial(
    "count_events",
    (
        Case("as shipped", _as_shipped, is_mutant=False),
        Case(
            "users clipped at sixteen times the bound",
            lambda _effort: _grey(_unclipped, "gaussian", Neighbours.ADD_REMOVE, HEAVY),
        ),
        Case(
            "ratios without a cap",
            lambda _effort: _grey(_uncapped, "gaussian", Neighbours.ADD_REMOVE, MANY),
        ),
        Case(
            "whole weights of users far beyond the bound",
            lambda _effort: _grey(_whole_weights, "gaussian", Neighbours.ADD_REMOVE, FAR),
        ),
        Case(
            "users far beyond the bound counted without charge",
            lambda _effort: _grey(_free_far, "gaussian", Neighbours.ADD_REMOVE, FAR),
        ),
        Case(
            "Gaussian noise for add-remove where users are replaced",
            lambda _effort: _grey(_as_if_added, "gaussian", Neighbours.REPLACE, HEAVY),
        ),
        Case(
            "Laplace noise for add-remove where users are replaced",
            lambda _effort: _grey(_as_if_added, "laplace", Neighbours.REPLACE, HEAVY),
        ),
    ),
)
