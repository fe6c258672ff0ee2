"""What can be asked of the searches for a rate and a threshold: objectives, many samples, much."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from headcount.accounting.sampling.composed import composed_delta
from headcount.accounting.sampling.solver import best, delta_of
from headcount.errors import UsageError
from headcount.privacy.neighbours import Neighbours

ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE


def test_other_objectives() -> None:
    most = best(1.0, 1e-6, ADD_REMOVE, objective="largest sample")
    assert float(most.rate) == pytest.approx(1 - math.exp(-1), rel=1e-6)
    assert delta_of(most.rate, most.threshold, 1.0, ADD_REMOVE) <= 1e-6
    assert delta_of(most.rate, most.threshold - 1, 1.0, ADD_REMOVE) > 1e-6
    capped = best(1.0, 1e-6, ADD_REMOVE, most_rate=0.05)
    assert capped.rate <= Fraction("0.05")
    for wrong in ({"objective": "best"}, {"most_rate": 2}):
        with pytest.raises(UsageError):
            best(1.0, 1e-6, ADD_REMOVE, **wrong)
    with pytest.raises(UsageError):
        best(1.0, 0.0, ADD_REMOVE)
    with pytest.raises(UsageError):
        best(1.0, 1e-6, ADD_REMOVE, n_samples=0)


@pytest.mark.parametrize("n_samples", [180, 365])
def test_s4_a_sample_for_each_day(n_samples: int) -> None:
    """A search meets rates at which every output tells the sides apart, and goes on."""
    chosen = best(4, 1e-6, REPLACE, n_samples=n_samples)
    rate = float(chosen.rate)
    assert 0.9e-6 < composed_delta(rate, chosen.threshold, 4, REPLACE, n_samples) <= 1e-6


@pytest.mark.parametrize("epsilon", [60, 1e4])
def test_a_huge_epsilon_is_no_worse_than_a_large_one(epsilon: float) -> None:
    chosen = best(epsilon, 1e-6, ADD_REMOVE, n_samples=2)
    assert chosen.smallest_group <= best(20, 1e-6, ADD_REMOVE, n_samples=2).smallest_group * 1.001
    assert delta_of(chosen.rate, chosen.threshold, epsilon, ADD_REMOVE) <= 1e-6
