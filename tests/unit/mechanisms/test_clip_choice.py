"""The choice of a bound: where it goes, what it costs, and when it says that noise exceeds all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from headcount.accounting.compose import cost
from headcount.errors import UsageError
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.clip_choice import RATIO_BITS, ClipChoice, candidates, ratio_cap
from headcount.mechanisms.laplace import Laplace
from headcount.privacy.length import Norm, unit_sensitivity
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.trials.given import given

UNIT = 1 << RATIO_BITS


def curve(norms: np.ndarray, norm: Norm = Norm.L1) -> np.ndarray:
    """Weights of users of ratio 1."""
    values = [0.0, *(float(length.value) for length in candidates(norm))]
    return np.array([int((norms > value).sum()) * UNIT for value in values], np.int64)


def loss(norms: np.ndarray, bound: float, noise: float) -> float:
    return float(np.maximum(norms - bound, 0).sum() + bound * noise)


def test_a_choice_costs_at_most_what_was_asked() -> None:
    for rho in (Fraction(1, 1000), Fraction(1, 7)):
        choice = ClipChoice.calibrate(Norm.L2, 50, 100.0, Zcdp(rho))
        assert rho * Fraction(999, 1000) < cost(choice.event).rho <= rho
    with pytest.raises(UsageError):
        ClipChoice.calibrate(Norm.L2, 50, 100.0, Zcdp(0))


def test_the_choice_is_near_the_least_loss() -> None:
    norms = np.random.default_rng(1).lognormal(3, 1, 20_000).round() + 1
    choice = ClipChoice.calibrate(Norm.L1, 100, 300.0, Zcdp(Fraction(1, 200)))
    least = min(loss(norms, float(length.value), 300.0) for length in choice.candidates)
    true_weights = curve(norms)
    for _ in range(10):
        chosen = choice.candidates[
            choice.draw(given(choice.sensitivity, true_weights), Drawn()) - 1
        ]
        assert loss(norms, float(chosen.value), 300.0) < 1.05 * least


def test_users_of_one_event_each_are_counted_whole() -> None:
    choice = ClipChoice.calibrate(Norm.L1, 10, 600.0, Zcdp(Fraction(1, 10)))
    chosen = {
        choice.draw(given(choice.sensitivity, curve(np.ones(1000))), Drawn()) for _ in range(20)
    }
    assert chosen == {1}


def test_noise_that_exceeds_the_signal_is_said() -> None:
    choice = ClipChoice.calibrate(Norm.L1, 1000, 4000.0, Zcdp(Fraction(1, 100)))
    assert {
        choice.draw(given(choice.sensitivity, curve(np.full(300, 50.0))), Drawn())
        for _ in range(20)
    } == {0}


def test_far_bounds_are_never_chosen_though_nothing_is_known_there() -> None:
    choice = ClipChoice.calibrate(Norm.L1, 100, 30.0, Zcdp(Fraction(1, 10_000)))
    true_weights = curve(np.full(5000, 3.0))
    chosen = [choice.draw(given(choice.sensitivity, true_weights), Drawn()) for _ in range(50)]
    assert sum(i > 0 and choice.candidates[i - 1].value > 100 for i in chosen) <= 2


def test_every_candidate_needs_a_weight() -> None:
    choice = ClipChoice.calibrate(Norm.L2, 100, 30.0, Zcdp(1))
    with pytest.raises(ValueError, match="every candidate"):
        choice.draw(given(choice.sensitivity, np.zeros(3, np.int64)), Drawn())


def test_the_cap_is_public() -> None:
    assert ratio_cap(Norm.L1, 10**6) == UNIT
    assert ratio_cap(Norm.L2, 1) == UNIT
    assert ratio_cap(Norm.L2, 500) == 10 * UNIT


def test_laplace_costs_at_most_what_was_asked_and_scales() -> None:
    for neighbours in Neighbours:
        unit = unit_sensitivity(Norm.L1, 9, neighbours)
        noise = Laplace.calibrate(unit, Zcdp(Fraction(1, 50)))
        assert Fraction(1, 51) < cost(noise.event).rho <= Fraction(1, 50)
        longer = noise.times(1 << 23)
        assert Fraction(9, 10) * cost(noise.event).rho < cost(longer.event).rho
        assert cost(longer.event) <= cost(noise.event)
        assert longer.sensitivity.l1 == unit.l1 * (1 << 23)
        assert noise.error_bound(0.95) == pytest.approx(float(noise.scale) * np.log(20))
    with pytest.raises(UsageError):
        Laplace.calibrate(unit, Zcdp(0))


def test_laplace_draws_what_it_says() -> None:
    noise = Laplace.calibrate(unit_sensitivity(Norm.L1, 9, Neighbours.ADD_REMOVE), Zcdp(2))
    drawn = noise.times(1000).draw(
        given(noise.times(1000).sensitivity, np.zeros(20_000, np.int64)), Drawn()
    )
    assert drawn.std() == pytest.approx(1000 * noise.sd, rel=0.05)
