"""The price of a task as a device checks it: no honest one is refused, and a lie is."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.unit.fleet.lines import asked

from headcount.accounting.convert import zcdp_of
from headcount.accounting.sampling.profile import sup_up
from headcount.fleet.device_price import delta_of_one, is_understated, mean_loss
from headcount.fleet.task import Task, Terms
from headcount.mechanisms.sample_threshold import SampleThreshold
from headcount.privacy.budget import Budget
from headcount.privacy.neighbours import Neighbours

SAMPLES = {1: Fraction(5, 4), 3: Fraction(3), 7: Fraction(3), 30: Fraction(2)}
"""By how much a price must be too low to be seen, at most; measured, and rounded up."""


def priced(epsilon: float, delta: float, n: int, neighbours: Neighbours) -> Task:
    limit = zcdp_of(Budget(epsilon=epsilon, delta=delta))
    found = SampleThreshold.calibrate(
        limit, n_samples=n, most_rate=Fraction(1, 2), neighbours=neighbours
    )
    rounds = {"every": "1d", "keep_open": "18h", "n": n}
    spend = found.spend
    return asked(found.rate, found.threshold, spend.rho, spend.delta, neighbours, rounds=rounds)


def at_price(task: Task, rho: Fraction, delta: Fraction) -> Task:
    terms = task.terms
    return Task(task.file, Terms(terms.rate, terms.threshold, rho, delta, terms.neighbours))


@pytest.mark.parametrize("delta", [1e-5, 1e-6, 1e-8])
@pytest.mark.parametrize("epsilon", [0.25, 1, 4])
@pytest.mark.parametrize("n", SAMPLES)
def test_a_certified_price_is_believed_and_one_that_is_too_low_is_not(
    epsilon: float, delta: float, n: int
) -> None:
    task = priced(epsilon, delta, n, Neighbours.REPLACE)
    rho, share = task.terms.rho, task.terms.delta
    assert not is_understated(task)
    assert is_understated(at_price(task, rho / SAMPLES[n], share))
    assert is_understated(at_price(task, rho / 1000, share))
    assert is_understated(at_price(task, rho, share / 10**5))


def test_a_certified_price_of_add_remove_is_believed_too() -> None:
    assert not is_understated(priced(1, 1e-6, 7, Neighbours.ADD_REMOVE))


@pytest.mark.parametrize("rate", [0.001, 0.06, 0.25, 0.5])
@pytest.mark.parametrize("threshold", [5, 14, 60])
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 6.0])
def test_the_delta_of_one_sample_is_that_of_the_solver(
    rate: float, threshold: int, epsilon: float
) -> None:
    exact = sup_up(rate, threshold, epsilon)
    assert delta_of_one(rate, threshold, epsilon) == pytest.approx(exact, rel=1e-9, abs=1e-280)


def test_odd_terms_are_worked_out_at_once() -> None:
    for rate in (Fraction(1, 1 << 40), Fraction(1, 1 << 20), Fraction(1, 2)):
        for threshold in (5, 2_000):
            for rho in (Fraction(1, 10**12), Fraction(1, 10)):
                task = asked(rate, threshold, rho, Fraction(1, 10**6))
                assert isinstance(is_understated(task), bool)
                assert 0 <= mean_loss(float(rate), threshold, Neighbours.REPLACE) < 1
    # So small a rate costs next to nothing, whatever it says.
    assert not is_understated(asked(Fraction(1, 1 << 40), 20, Fraction(1, 10**6)))
