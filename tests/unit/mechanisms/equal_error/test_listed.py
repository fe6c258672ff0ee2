"""Counts of a list: which branch, what is charged, and that questions follow from answers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.unit.mechanisms.equal_error.test_asks_from_public import N_GROUPS, Replayed, table

from headcount.accounting.compose import cost
from headcount.accounting.filter import Filter
from headcount.contributions.equal_error.known import KnownPairs
from headcount.contributions.listed_pairs import ListedPairs
from headcount.contributions.store import Store
from headcount.errors import UsageError
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.equal_error import tuning
from headcount.mechanisms.equal_error.candidates import Candidates
from headcount.mechanisms.equal_error.listed import EqualErrorListed
from headcount.mechanisms.equal_error.reading import Crowd
from headcount.privacy.bounds import Bounds
from headcount.privacy.spend import Zcdp
from headcount.tables import open_table


def crowd(**users_in: int) -> Crowd:
    """Users by the number of groups they are in, as a profile without noise has them."""
    users = np.zeros(21)
    for name, n in users_in.items():
        users[int(name[2:])] = n
    groups = np.exp2(np.arange(21) - 0.5)
    groups[0] = 1.0
    return Crowd(users, groups, users)


def test_the_branch_follows_from_the_profile() -> None:
    plan = EqualErrorListed.calibrate(Zcdp("0.1"), 500, 0.10)
    assert plan.branch(crowd(in0=50_000)) == "single"
    assert plan.branch(crowd(in0=10)) == "centred"
    assert plan.branch(crowd(in5=2000, in7=2000, in8=2000)) == "centred"
    assert plan.branch(crowd(in1=20_000, in3=5000)) == "equal"
    assert EqualErrorListed.calibrate(Zcdp(1), 500, 0.1, "equal").branch(crowd(in0=1)) == "equal"


def test_a_list_is_charged_what_was_asked_and_no_delta() -> None:
    plan = EqualErrorListed.calibrate(Zcdp("0.3", "1e-6"), 100, 0.10)
    assert cost(plan.event) == Zcdp("0.3")
    shares = plan.shares
    assert shares.profile + shares.after_profile == Fraction(3, 10)
    with pytest.raises(UsageError, match=r"at least about epsilon 0.01646 \(rho 1e-05\)"):
        EqualErrorListed.calibrate(Zcdp("0.000001"), 100, 0.10)


def test_candidates_go_from_nobody_clipped_to_a_user_of_one_small_group() -> None:
    guess = np.array([900.0, 400.0, 30.0, 30.0, 100.0])
    candidates = Candidates.of_all(guess, Fraction(1, 10), tuning.LISTED)
    norms = candidates.weights.astype(object) ** 2
    assert candidates.clips[0] >= norms.sum() * 0.999999
    assert candidates.clips[-1] == pytest.approx(norms.max(), rel=1e-6)
    assert (np.diff(candidates.taus) < 0).all()
    assert (candidates.n_rows == 5).all()
    assert candidates.lost_share.max() <= tuning.MOST_LOST_LISTED
    one = Candidates.of_all(np.array([7.0]), Fraction(1), tuning.LISTED)
    assert (np.diff(one.taus) < 0).all()


def test_weights_of_a_list_are_those_of_plain_arithmetic() -> None:
    rows = [(0, "a"), (0, "b"), (0, "b"), (0, "z"), (1, "a"), (2, "z"), (None, "a")]
    source = pa.table({"u": [u for u, _ in rows], "g": [g for _, g in rows]})
    opened = open_table(source, user="u")
    bounds = Bounds(1 << 20, 1, 20)
    with Store(opened.engine) as store:
        pairs = ListedPairs(opened, "g", ["nobody", "b", "a"], store)
        half = math.isqrt((1 << 40) // 2)
        assert pairs.weighed(bounds).ask().tolist() == [half + (1 << 20), half, 0]
        assert pairs.users_per_cell().ask().tolist()[:3] == [1, 1, 0]
        assert pairs.every_name()["g"].to_pylist() == ["a", "b", "nobody"]
        with pytest.raises(ValueError, match="more groups than the bounds keep"):
            pairs.weighed(Bounds(2, 1, 20))


def asked(seed: int, chance: Drawn, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    seen: list[object] = []
    source = open_table(table(seed), user="u")
    with monkeypatch.context() as patch, Store(source.engine) as store:
        for name in ("class_totals", "clipped_share", "clipped"):
            shipped = getattr(KnownPairs, name)

            def noted(self: object, *given: object, _shipped=shipped, **named: object) -> object:  # type: ignore[no-untyped-def]
                seen.extend(np.array(x).tolist() for x in (*given, *named.values()))
                return _shipped(self, *given, **named)

            patch.setattr(KnownPairs, name, noted)
        listed = [*range(N_GROUPS), -1, -2]
        pairs = ListedPairs(source, "g", listed, store)
        mechanism = EqualErrorListed.calibrate(Zcdp(2), len(listed), 0.10, "equal")
        counted = mechanism.draw(pairs, chance)
    assert sorted(counted.positions) == list(range(len(listed)))
    return [*seen, counted.counts.tolist(), counted.sds.tolist()]


def test_questions_about_a_list_follow_from_published_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # These answers are made up: what they say was left out is no matter here.
    monkeypatch.setattr(tuning, "MOST_LOST", math.inf)
    first = Replayed()
    told = asked(1, first, monkeypatch)
    assert asked(2, Replayed(told=first.told, at=[0]), monkeypatch) == told


@pytest.mark.parametrize("method", ["single", "centred", "equal"])
def test_no_branch_spends_more_than_the_limit(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "MOST_LOST", math.inf)
    filters: list[Filter] = []

    class Watched(Drawn):
        def filter(self, limit: Zcdp) -> Filter:
            filters.append(Filter(limit))
            return filters[-1]

    source = open_table(table(3), user="u")
    with Store(source.engine) as store:
        pairs = ListedPairs(source, "g", list(range(N_GROUPS)), store)
        plan = EqualErrorListed.calibrate(Zcdp(1), N_GROUPS, 0.10, method)
        assert len(plan.draw(pairs, Watched()).counts) == N_GROUPS
    (spent,) = (one.spent for one in filters)
    assert spent.delta == 0
    assert Fraction(99, 100) < spent.rho <= 1
