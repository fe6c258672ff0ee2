"""The mechanism of samples: its cost, its rule, its intervals, and what cannot be asked of it."""

from __future__ import annotations

import inspect
import math
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest

from headcount.accounting.compose import cost
from headcount.accounting.convert import zcdp_of
from headcount.accounting.sampling.solver import certified_rho, reach_of
from headcount.contributions import sample as sample_module
from headcount.contributions.sample import Coins
from headcount.errors import LedgerError, UsageError
from headcount.mechanisms.sample_threshold import SampleThreshold
from headcount.privacy.budget import Budget
from headcount.privacy.event import from_record, to_record
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.releases.dataset import Dataset
from headcount.trials.given import given

LIMIT = zcdp_of(Budget(epsilon=1, delta=1e-6))


@pytest.fixture(scope="module")
def mechanism() -> SampleThreshold:
    return SampleThreshold.calibrate(LIMIT)


def test_what_an_account_of_one_gets(mechanism: SampleThreshold) -> None:
    assert cost(mechanism.event) <= LIMIT
    assert cost(mechanism.event).rho > LIMIT.rho * Fraction(98, 100)
    assert mechanism.threshold / mechanism.rate < 57


def test_several_answers_and_samples_cost_together() -> None:
    both = SampleThreshold.calibrate(LIMIT, n_samples=2, answers=2)
    four = SampleThreshold.calibrate(LIMIT, answers=4)
    assert (both.rate, both.threshold, both.spend) == (four.rate, four.threshold, four.spend)
    assert both.event == four.event
    assert cost(four.event) <= LIMIT
    assert four.threshold / four.rate > 57


def test_the_charge_is_that_of_the_rate_that_is_used(mechanism: SampleThreshold) -> None:
    rho = certified_rho(
        mechanism.rate, mechanism.threshold, 1, LIMIT.delta, Neighbours.ADD_REMOVE, reach_of(LIMIT)
    )
    assert rho == mechanism.spend.rho
    assert mechanism.coin_limit == mechanism.rate * 2**60
    with pytest.raises(ArithmeticError):
        _ = SampleThreshold(Fraction(1, 3), 5, Zcdp(0)).coin_limit


def test_a_cap_on_the_rate() -> None:
    capped = SampleThreshold.calibrate(LIMIT, most_rate=Fraction(1, 10))
    assert capped.rate <= Fraction(1, 10)
    assert cost(capped.event) <= LIMIT


def test_only_counts_from_the_threshold_on_leave(mechanism: SampleThreshold) -> None:
    t = mechanism.threshold
    kept, counts = mechanism.keep(
        given(mechanism.sensitivity, np.array([0, t - 1, t, t + 1, 5 * t]))
    )
    assert kept.tolist() == [2, 3, 4]
    assert counts.tolist() == [t, t + 1, 5 * t]


def test_intervals_hold_the_size_as_often_as_said(mechanism: SampleThreshold) -> None:
    """For every size, among the times its group is shown."""
    rate, t = float(mechanism.rate), mechanism.threshold
    for size in (t, t + 3, 40, 56, 80, 150, 700):
        counts = np.arange(t, size + 1)
        low, high = mechanism.interval(counts, 0.95)
        logs = [math.log(math.comb(size, int(x))) for x in counts]
        masses = np.exp(logs + counts * math.log(rate) + (size - counts) * math.log1p(-rate))
        inside = (low <= size) & (size <= high)
        assert masses[inside].sum() / masses.sum() >= 0.95
        assert (low >= counts).all()
    low, high = mechanism.interval(np.array([10**6]), 0.95)
    middle = 10**6 / rate
    assert middle - 3 * mechanism.sd(np.array([10**6]))[0] < low[0] < middle < high[0]
    assert mechanism.estimate(np.array([10**6]))[0] == pytest.approx(middle)


def test_the_chance_of_missing_is_exact(mechanism: SampleThreshold) -> None:
    rate = mechanism.rate
    for size in (mechanism.threshold - 1, mechanism.threshold, 60, 120):
        exact = sum(
            math.comb(size, x) * rate**x * (1 - rate) ** (size - x)
            for x in range(min(mechanism.threshold, size + 1))
        )
        assert mechanism.chance_of_missing(size) == pytest.approx(float(exact), rel=1e-9)
    for chance in (0.5, 0.05, 0.001):
        size = mechanism.size_missed_with(chance)
        assert mechanism.chance_of_missing(size) <= chance < mechanism.chance_of_missing(size - 1)


def test_the_event_survives_the_ledger(mechanism: SampleThreshold) -> None:
    assert from_record(to_record(mechanism.event)) == mechanism.event
    with pytest.raises(LedgerError):
        from_record({**to_record(mechanism.event), "sample_size": "10"})


@pytest.mark.parametrize("answers", [0, 1001])
def test_refusals(answers: int) -> None:
    with pytest.raises(UsageError):
        SampleThreshold.calibrate(LIMIT, answers=answers)
    with pytest.raises(UsageError):
        SampleThreshold.calibrate(Zcdp(LIMIT.rho, 0))


def test_a_coin_must_hide_single_users() -> None:
    for limit, threshold in ((0, 5), (1 << 60, 5), (1 << 50, 1)):
        with pytest.raises(UsageError):
            Coins(1, limit, threshold)


def test_unsafe_things_cannot_be_asked_for() -> None:
    """One sample at several levels, one coin for several answers, a fixed or published size."""
    asked = set(inspect.signature(Dataset.count_users).parameters)
    assert asked.isdisjoint({"key", "seed", "sample", "size", "n_sampled", "levels", "coin"})
    assert {field.name for field in fields(Coins)} == {"max_groups", "limit", "threshold"}
    calibrated = set(inspect.signature(SampleThreshold.calibrate).parameters)
    assert calibrated == {"limit", "n_samples", "answers", "most_rate", "neighbours"}
    # What the engine is asked for is one table of groups above the threshold, and nothing else.
    assert [n for n in vars(sample_module) if n.endswith(("counts", "pairs", "size"))] == [
        "sampled_counts",
        "kept_pairs",
    ]
