"""Draws that nobody declared: each is planted into a release and found there, from end to end.

What is planted is a shipped mechanism, handed the chance of the release, on true numbers, without a
charge. It is the smallest slip in a verb that breaks privacy, and nothing of it shows in the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from headcount.audit.greybox import compare
from headcount.audit.neighbours import VICTIM, Pair, heavy
from headcount.audit.verdict import Finding, any_violated
from headcount.contributions.events import users_of
from headcount.ledger.ledger import Ledger
from headcount.mechanisms.binomial_selection.mechanism import BinomialSelection
from headcount.mechanisms.bound_choice import BoundChoice
from headcount.mechanisms.chance import Chance
from headcount.mechanisms.clip_choice import ClipChoice
from headcount.mechanisms.exponential_quantile import ExponentialQuantile
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.gaussian_threshold import GaussianThreshold
from headcount.mechanisms.hierarchical_histogram import HierarchicalHistogram
from headcount.mechanisms.hierarchy import Hierarchy
from headcount.mechanisms.laplace import Laplace
from headcount.mechanisms.private_count_release import PrivateCountRelease
from headcount.mechanisms.radius import Radius
from headcount.mechanisms.size_choice import SizeChoice
from headcount.privacy.bounds import Bounds
from headcount.privacy.length import Norm, unit_sensitivity
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.releases import rows
from headcount.releases.count_events import found as count_events_found
from headcount.releases.count_events import known as count_events_known
from headcount.releases.count_users import plan as count_users
from headcount.releases.rows import with_error_bars
from headcount.releases.values import quantiles
from headcount.releases.verbs import VERBS as STATED
from headcount.trials import count_events as events_trial
from headcount.trials import count_events_found as found_trial
from headcount.trials import count_users as users_trial
from headcount.trials import quantiles as quantiles_trial
from headcount.trials import verb_plants, verbs, ways
from headcount.trials.given import given
from headcount.trials.seam import swapped

Integers = npt.NDArray[np.int64]
Plant = Callable[[int, Chance], object]
ADD = Neighbours.ADD_REMOVE
PAIR = Pair(
    "three users, and one in two groups", heavy(3, 2), ((VICTIM, "g0", 1), (VICTIM, "g1", 2))
)
FIRST_WAYS = tuple({verb.split(",")[0]: verb for verb in reversed(ways.VERBS)}.values())
"""One way to call each verb."""
HALF, ONE = Fraction(1, 2), Zcdp(1, "1e-3")


def spread(true_users: int) -> Integers:
    """A few numbers that one user more or less moves."""
    return np.array([true_users, true_users // 2, 2 * true_users, 0, true_users, 3, 1], np.int64)


def drawn(mechanism: Any, true_values: Integers, *public: Any) -> object:
    """A draw of numbers that are said to move as far as the noise is made for."""
    return mechanism.draw(given(mechanism.sensitivity, true_values), *public)


def a_size(true_users: int, chance: Chance) -> object:
    true_lost = np.array([abs(true_users - (k << 16)) for k in range(4)], np.int64)
    return drawn(SizeChoice(HALF, 0.0), true_lost, np.zeros(4, np.int64), chance)


def a_bound(true_users: int, chance: Chance) -> object:
    losses = {1: true_users, 2: 2 * true_users, 4: 5}
    queries = [given(Sensitivity.of_sum(most), loss) for most, loss in losses.items()]
    return BoundChoice(HALF).draw(queries, chance)


def a_clip(true_users: int, chance: Chance) -> object:
    choice = ClipChoice.calibrate(Norm.L2, 6, 5.0, ONE)
    return drawn(choice, np.full(len(choice.candidates) + 1, true_users, np.int64), chance)


def a_selection(true_users: int, chance: Chance) -> object:
    choice = BinomialSelection.calibrate(
        ONE, "dense", n_groups=2, samples=2, n_users=true_users, neighbours=ADD
    )
    return drawn(choice, np.array([[0, true_users, 1], [0, 1, true_users]], np.int64), chance)


def a_peel(true_users: int, chance: Chance) -> object:
    mechanism = PrivateCountRelease(ONE, 0.1, max_rows=3, max_calls=50)
    return drawn(mechanism, np.sort(spread(true_users))[::-1], chance)


PLANTS: dict[str, Plant] = {
    "SizeChoice": a_size,
    "BoundChoice": a_bound,
    "ClipChoice": a_clip,
    "Radius": lambda true_users, chance: drawn(Radius(HALF, ADD), spread(true_users), chance),
    "ExponentialQuantile": lambda true_users, chance: drawn(
        ExponentialQuantile(HALF, HALF), spread(true_users), chance
    ),
    "BinomialSelection": a_selection,
    "PrivateCountRelease": a_peel,
    "Gaussian": lambda true_users, chance: drawn(
        Gaussian.calibrate(Sensitivity.of_sum(1), ONE), spread(true_users), chance
    ),
    "Laplace": lambda true_users, chance: drawn(
        Laplace.calibrate(unit_sensitivity(Norm.L1, 7, ADD), ONE), spread(true_users), chance
    ),
    "GaussianThreshold": lambda true_users, chance: drawn(
        GaussianThreshold.calibrate(Bounds(5, 5), ONE), spread(true_users), chance
    ),
    "HierarchicalHistogram": lambda true_users, chance: drawn(
        HierarchicalHistogram.calibrate(Hierarchy(7, 2, 3), ONE), spread(true_users), chance
    ),
}


def examine_users() -> list[Finding]:
    left, seen = users_trial.recording(PAIR.with_user, None)
    right, _ = users_trial.recording(PAIR.base, None)
    return compare(left, right, [users_trial.declared(seen, None)], PAIR.name)


def examine_events() -> list[Finding]:
    return events_trial._grey(nullcontext, "gaussian", ADD, events_trial.MANY)


def examine_found() -> list[Finding]:
    left, declared = found_trial.recording(PAIR.with_user, "laplace")
    right, _ = found_trial.recording(PAIR.base, "laplace")
    return compare(left, right, declared, PAIR.name)


def examine_quantiles() -> list[Finding]:
    victim = quantiles_trial.VICTIMS["many values"]
    left, event = quantiles_trial._recorded(quantiles_trial.OTHERS + victim, "median")
    right, _ = quantiles_trial._recorded(quantiles_trial.OTHERS, "median")
    return compare(left, right, quantiles_trial._declared(event), "one of many values")


VERBS: dict[str, tuple[type[Any], Callable[[], Sequence[Finding]]]] = {
    "count_users": (count_users._Count, examine_users),
    "count_events": (count_events_known._KnownCount, examine_events),
    "quantiles": (quantiles._Quantiles, examine_quantiles),
    "count_events_found": (count_events_found._FoundEvents, examine_found),
}
"""Where a draw is planted, and the trial that has to find it."""


def plant(
    monkeypatch: pytest.MonkeyPatch, verb: type[Any], draw: Plant, *, last: bool = False
) -> None:
    """A draw before or after all that the verb does, of how many users there are."""
    shipped = verb.read_and_draw

    def read_and_draw(work: Any, session: Any) -> Any:
        true_users = int(users_of(work.dataset.table).ask()[0])
        if not last:
            draw(true_users, session.chance)
        release = shipped(work, session)
        if last:
            draw(true_users, session.chance)
        return release

    monkeypatch.setattr(verb, "read_and_draw", read_and_draw)


def undeclared(findings: Sequence[Finding]) -> float:
    return max(one.found for one in findings if one.measure == "calls that were not declared")


@pytest.mark.parametrize("verb", VERBS)
def test_a_release_as_shipped_is_clean(verb: str) -> None:
    findings = VERBS[verb][1]()
    assert not any_violated(findings)
    assert undeclared(findings) == 0


@pytest.mark.parametrize(
    ("mechanism", "verb", "last"),
    [
        (mechanism, verb, bool((i + j) % 2))
        for i, mechanism in enumerate(PLANTS)
        for j, verb in enumerate(VERBS)
        if j < len(VERBS) - 1 or mechanism in ("SizeChoice", "Gaussian")
    ],
)
def test_a_draw_that_was_not_declared_is_found(
    mechanism: str, verb: str, last: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, examine = VERBS[verb]
    plant(monkeypatch, kind, PLANTS[mechanism], last=last)
    assert undeclared(examine()) >= 1


@pytest.mark.parametrize("verb", ["count_users", "count_events"])
def test_the_same_noise_drawn_twice_is_found(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The very mechanism that was declared, on the very totals: their mean has less noise."""
    module: Any = {"count_users": rows, "count_events": count_events_known}[verb]
    name = {"count_users": "draw_found", "count_events": "draw_known"}[verb]
    shipped = getattr(module, name)

    def twice(*arguments: Any, **how: Any) -> Any:
        shipped(*arguments, **how)
        return shipped(*arguments, **how)

    monkeypatch.setattr(module, name, twice)
    assert undeclared(VERBS[verb][1]()) >= 1


def test_a_row_that_was_not_noised_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def bare(groups: Any, noisy_totals: Any, *options: Any) -> Any:
        one_true = np.where(np.arange(len(noisy_totals)) == 0, 5, noisy_totals)
        return with_error_bars(groups, one_true, *options)

    monkeypatch.setattr(rows, "with_error_bars", bare)
    assert undeclared(examine_users()) >= 1


DRAWS = [("SizeChoice", False), ("Gaussian", True), ("PrivateCountRelease", True)]


@pytest.mark.parametrize(
    ("verb", "mechanism", "last"),
    [
        (verb, *draw)
        for i, verb in enumerate(ways.VERBS)
        for j, draw in enumerate(DRAWS)
        # One for each way there is, and all of them for the first way of each verb.
        if i % len(DRAWS) == j or verb in FIRST_WAYS
    ],
)
def test_a_draw_that_nobody_paid_for_is_found(verb: str, mechanism: str, last: bool) -> None:
    plant = verb_plants.also(PLANTS[mechanism], last=last)
    assert any_violated(verbs.findings_of(verb, plant))


@pytest.mark.parametrize("stated", [False, True], ids=["in a note", "among the facts"])
@pytest.mark.parametrize(
    ("verb", "relation"),
    [(verb, relation) for verb in FIRST_WAYS for relation in verbs.relations_of(verb)],
)
def test_how_many_groups_there_are_is_found_beside_the_rows(
    verb: str, relation: Neighbours, stated: bool
) -> None:
    plant = verb_plants.beside(verb_plants.true_groups, stated=stated)
    assert any_violated(verbs.findings_of(verb, plant, relation))


NOT_TOLD_APART = {
    "count_users, listed": "a list bounds what a user moves, whoever is exchanged",
    "count_users, a long list": "the same",
    "count_users, one listed": "in one group whoever is exchanged moves a count by one",
    "count_events, debiased": "the same as of a list",
    "distribution, listed": "its noise for replacement is its own",
    **{
        f"distribution, {method}": "the same as of a list"
        for method in ("clip", "coarse-fine", "gaussian")
    },
    **dict.fromkeys(ways.SAMPLED, "the engine draws"),
}


@pytest.mark.parametrize(
    "verb", sorted(ways.VERBS.keys() - ways.ADD_REMOVE_ONLY - NOT_TOLD_APART.keys())
)
def test_noise_for_one_user_where_one_becomes_another_is_found(verb: str) -> None:
    with verb_plants.one_user_for_two():
        assert any_violated(verbs.findings_of(verb, relation=Neighbours.REPLACE))


def test_a_charge_for_one_user_where_one_becomes_another_is_found() -> None:
    """The ledger is the one that is asked what was paid, whatever the plan says."""
    shipped = Ledger.account

    def half(ledger: Ledger, name: str) -> Any:
        account = shipped(ledger, name)
        return replace(account, spent=Zcdp(account.spent.rho / 2, account.spent.delta))

    with swapped(Ledger, "account", half):
        assert any_violated(verbs.findings_of("profile", relation=Neighbours.REPLACE))


def test_a_question_that_moves_further_than_it_says_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Noise, cost and question agree, and all of them are wrong about what one user can do."""
    half = Sensitivity(1, HALF, HALF**2, HALF)
    monkeypatch.setattr(Sensitivity, "of_cell", staticmethod(lambda *_: half))
    assert any_violated(verbs.findings_of("profile"))


def test_every_verb_is_planted_into() -> None:
    assert {verb.split(",")[0] for verb in ways.VERBS} == {*STATED, "sql"}
    assert {verb.split(",")[0] for verb in FIRST_WAYS} == {*STATED, "sql"}
