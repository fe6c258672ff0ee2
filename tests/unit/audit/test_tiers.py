"""Findings, recordings, samples and pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headcount.audit.blackbox import audit_epsilon, audit_support, epsilon_bound
from headcount.audit.greybox import Call, Declared, Recording, compare
from headcount.audit.neighbours import MILLION, VICTIM, pairs, true_counts
from headcount.audit.verdict import Finding, Tier, any_violated, worst

rng = np.random.default_rng()
SETTINGS = {"law": "x", "scale": "2"}


def finding(claimed: float, found: float, tier: Tier = Tier.EXACT) -> Finding:
    return Finding(tier, "s", "m", claimed, found)


def test_a_finding_is_violated_beyond_rounding_only() -> None:
    assert not finding(1, 1).violated
    assert not finding(1, 1 + 1e-12).violated
    assert finding(1, 1.0001).violated
    assert finding(0, 1e-12).violated
    assert any_violated([finding(1, 0), finding(1, 2)])


def test_the_worst_finding_is_a_violation_with_a_number() -> None:
    switch, number = finding(0, 1, Tier.GREY_BOX), finding(1, 2)
    assert worst([switch, finding(1, 0.5), number]) is number
    assert ">" in str(number)


def recording(values: dict[str, int], **public: str) -> Recording:
    return Recording((Call(SETTINGS, values),), public)


def violated(left: Recording, right: Recording, declared: Declared) -> set[str]:
    return {f.measure for f in compare(left, right, [declared], "s") if f.violated}


def test_grey_box_passes_what_was_declared() -> None:
    declared = Declared(SETTINGS, l0=2, l1=3, l2_squared=5, linf=2)
    assert violated(recording({"a": 7, "b": 2}), recording({"a": 5, "b": 1}), declared) == set()


def test_grey_box_measures_all_distances() -> None:
    declared = Declared(SETTINGS, l0=0, l1=0, l2_squared=0, linf=0)
    found = violated(recording({"a": 1}), recording({}), declared)
    assert found == {"l0", "l1", "l2 squared", "linf"}


def test_grey_box_counts_an_entry_of_zero_that_is_there_on_one_side() -> None:
    declared = Declared(SETTINGS, l0=0, l1=0, l2_squared=0, linf=0)
    assert violated(recording({"a": 0}), recording({}), declared) == {"l0"}


def test_grey_box_sees_settings_calls_and_facts() -> None:
    declared = Declared({"law": "x", "scale": "3"})
    assert violated(recording({}), recording({}), declared) == {
        "scale that is not what was declared"
    }
    twice = Recording((Call(SETTINGS, {}),) * 2, {})
    assert violated(twice, twice, Declared(SETTINGS)) == {"calls that were not declared"}
    assert violated(recording({}), Recording((), {}), Declared(SETTINGS)) == {
        "calls that depend on the table"
    }
    assert violated(recording({}, log="a"), recording({}, log="b"), Declared(SETTINGS)) == {
        "log that depends on the table"
    }


def test_grey_box_checks_selections() -> None:
    declared = Declared(SETTINGS, score_range=1)
    assert violated(recording({"a": 1, "b": 0}), recording({"a": 0, "b": 0}), declared) == set()
    assert violated(recording({"a": 1, "b": 0}), recording({"a": 0, "b": 1}), declared) == {
        "range of score changes"
    }
    assert violated(recording({"a": 0, "b": 0}), recording({"a": 0}), declared) == {
        "candidates that depend on the table"
    }


def randomised_response(epsilon: float, bit: int, n: int) -> np.ndarray:
    keep = rng.random(n) < math.exp(epsilon) / (1 + math.exp(epsilon))
    return np.where(keep, bit, 1 - bit)[:, None]


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_black_box_bound_is_below_and_close(epsilon: float) -> None:
    sides = [randomised_response(epsilon, bit, 400_000) for bit in (1, 0)]
    found = epsilon_bound(sides[0], sides[1], 0.0)
    assert 0.8 * epsilon - 0.05 < found <= epsilon


def test_black_box_finds_the_feature_and_the_direction_that_tell() -> None:
    noise = rng.integers(0, 5, (4_000, 3))
    told = noise.copy()
    told[:, 1] = 7
    noise[:2_000, 1] = 7
    rng.shuffle(noise)
    claim = {"epsilon": 0.1, "delta": 0.0, "subject": "s"}
    assert audit_epsilon(told, noise, epsilon=0.1, delta=0.0, subject="s").violated
    assert audit_epsilon(noise, told, epsilon=0.1, delta=0.0, subject="s").violated
    assert not audit_epsilon(noise, noise[::-1], **claim).violated  # type: ignore[arg-type]


def test_black_box_delta_is_taken_off() -> None:
    rare = np.zeros((20_000, 1), dtype=np.int64)
    rare[::50] = 1
    rng.shuffle(rare)
    never = np.zeros((20_000, 1), dtype=np.int64)
    assert audit_epsilon(rare, never, epsilon=1, delta=0, subject="s").violated
    assert not audit_epsilon(rare, never, epsilon=1, delta=0.05, subject="s").violated


def test_black_box_rarely_flags_the_same_law() -> None:
    """At alpha 0.05 a false alarm is allowed one time in twenty; at most that many happen."""
    flagged = 0
    for _ in range(200):
        sides = rng.geometric(0.1, (2, 1_000, 1))
        flagged += epsilon_bound(sides[0], sides[1], 0.0, alpha=0.05) > 0
    assert flagged <= 30


def test_support_audit() -> None:
    assert audit_support(10, 100, delta=1e-3, subject="s").violated
    assert not audit_support(1, 100, delta=1e-3, subject="s").violated
    assert not audit_support(0, 100, delta=0.0, subject="s").violated


def test_pairs_hold_what_they_must() -> None:
    by_name = {pair.name: pair for pair in pairs(bound=5, threshold=20)}
    assert any(not pair.base for pair in by_name.values())
    assert any(len({user for user, _, _ in p.base}) == 1 for p in by_name.values() if p.base)
    assert any(len(pair.new_groups) > 5 * 5 for pair in by_name.values())
    assert any(copies == MILLION for p in by_name.values() for _, _, copies in p.added)
    assert any(None in {g for _, g, _ in p.added} for p in by_name.values())
    assert any(-(2**63) in {g for _, g, _ in p.added} for p in by_name.values())
    at, below = (by_name[f"a count {x} the threshold"] for x in ("at", "one below"))
    assert true_counts(at.with_user)["g0"] == 20
    assert true_counts(below.with_user)["g0"] == 19
    tie = true_counts(by_name["a tie that one user breaks"].base)
    assert tie["g0"] == tie["g1"]
    for pair in by_name.values():
        assert {user for user, _, _ in pair.added} == {VICTIM}
        assert VICTIM not in {user for user, _, _ in pair.base}


def test_users_are_counted_once_a_group() -> None:
    rows = (("u", "a", 3), ("u", "b", 1), ("v", "a", 1))
    assert true_counts(rows) == {"a": 2, "b": 1}
    assert true_counts(rows, bound=1) == {"a": 2}
