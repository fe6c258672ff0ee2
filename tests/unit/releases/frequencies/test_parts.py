"""The parts of a release of frequencies: runs, pooling, noise on ranks and buckets, the bound."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import isotonic_regression

from headcount.accounting.compose import cost
from headcount.contributions.frequencies import TrueFrequencies
from headcount.contributions.profile import CELLS
from headcount.errors import UsageError
from headcount.mechanisms.chance import Drawn
from headcount.mechanisms.gaussian import Gaussian
from headcount.mechanisms.laplace_histogram import LaplaceHistogram
from headcount.mechanisms.sorted_counts import SortedCounts
from headcount.postprocess import runs as runs_module
from headcount.postprocess.frequencies import distance
from headcount.postprocess.pooled import pooled
from headcount.postprocess.runs import chunks, runs_of, together
from headcount.privacy.bounds import Bounds
from headcount.privacy.event import Composed, GaussianNoise
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.releases.frequencies.bound import choose_bound
from headcount.releases.frequencies.draw import Central, Laplace
from headcount.trials.given import given

Integers = npt.NDArray[np.int64]
rng = np.random.default_rng()
SPEND = Zcdp(Fraction(1, 20))
EMPTY = np.zeros(0, np.int64), np.zeros(0, np.int64)


def zipf_runs(n: int, n_groups: int) -> tuple[Integers, Integers]:
    weights = 1 / np.arange(1, n_groups + 1) ** 1.1
    counts = np.bincount(rng.choice(n_groups, n, p=weights / weights.sum()))
    return runs_of(counts[counts > 0])


def frequencies_of(runs: tuple[Integers, Integers]) -> TrueFrequencies:
    """What an engine would answer, of users in one group each."""
    counts, groups = runs
    n_groups = np.array([groups[counts > 0].sum()])
    return TrueFrequencies(
        given(Bounds(1, 1).sensitivity(), runs), given(Sensitivity.of_sum(1), n_groups)
    )


@pytest.mark.parametrize("spread", [3, 1 << 40])
def test_runs_of_any_spread_are_what_unique_says(spread: int) -> None:
    values = rng.integers(-spread, spread, 500)
    found, numbers = runs_of(values)
    expected = np.unique(values, return_counts=True)
    assert found.tolist() == expected[0].tolist()
    assert numbers.tolist() == expected[1].tolist()
    halves = together([runs_of(values[:200]), runs_of(values[200:])])
    assert [part.tolist() for part in halves] == [found.tolist(), numbers.tolist()]
    assert [len(part) for part in runs_of(values[:0])] == [0, 0]


@pytest.mark.parametrize("length", [1, 9, 10, 11, 40])
def test_chunks_cut_or_pad(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs_module, "CHUNK", 4)
    parts = list(chunks(np.array([7, 5, 2]), np.array([1, 6, 3]), length))
    assert all(len(part) <= 4 for part in parts)
    whole = np.concatenate(parts).tolist()
    assert whole == ([7] + [5] * 6 + [2] * 3 + [0] * 30)[:length]


def test_distance_is_that_of_sorted_lists() -> None:
    for _ in range(50):
        left, right = (rng.integers(1, 9, rng.integers(0, 12)) for _ in range(2))
        length = max(len(left), len(right))
        padded = [np.sort(np.pad(side, (0, length - len(side))))[::-1] for side in (left, right)]
        expected = float(np.abs(padded[0] - padded[1]).sum())
        assert distance(runs_of(left), runs_of(right)) == expected


def test_pooling_in_chunks_is_pooling_at_once() -> None:
    noisy = np.sort(rng.integers(0, 40, 3_000))[::-1] + rng.integers(-9, 10, 3_000)
    (counts, groups), noisy_runs = pooled(np.array_split(noisy, 13))
    whole = np.rint(
        np.maximum(isotonic_regression(noisy.astype(float), increasing=False).x, 0)
    ).astype(np.int64)
    expected = runs_of(whole[whole > 0])
    assert counts.tolist() == expected[0].tolist()
    assert groups.tolist() == expected[1].tolist()
    assert noisy_runs[1].tolist() == runs_of(noisy)[1].tolist()


@pytest.mark.parametrize("n_positions", [2, 5, 9])
def test_there_are_as_many_ranks_as_asked_whatever_the_table_holds(n_positions: int) -> None:
    mechanism = SortedCounts.calibrate(Bounds(1, 1).sensitivity(), Zcdp(1_000_000))
    for true_runs in (([4, 9], [3, 2]), ([], []), ([1], [100])):
        counts, groups = (np.array(part, dtype=np.int64) for part in true_runs)
        runs = given(mechanism.sensitivity, (counts, groups))
        drawn = np.concatenate(list(mechanism.draw(runs, n_positions, Drawn())))
        expected = np.sort(np.append(np.repeat(counts, groups), np.zeros(9, np.int64)))[::-1]
        assert drawn.tolist() == expected[:n_positions].tolist()
    with pytest.raises(UsageError, match="n_positions"):
        list(mechanism.draw(given(mechanism.sensitivity, EMPTY), 0, Drawn()))


def test_noise_on_ranks_has_the_sd_it_says() -> None:
    mechanism = SortedCounts.calibrate(Bounds(4, 4).sensitivity(), SPEND)
    assert mechanism.sd == pytest.approx(math.sqrt(4 / (2 * 0.05)), rel=1e-5)
    alike = given(mechanism.sensitivity, (np.array([50]), np.array([60_000])))
    parts = mechanism.draw(alike, 60_000, Drawn())
    drawn = np.concatenate(list(parts))
    assert np.std(drawn) == pytest.approx(mechanism.sd, rel=0.03)


def test_every_bucket_has_noise_and_is_counted() -> None:
    mechanism = LaplaceHistogram.calibrate(Bounds(3, 3).sensitivity(), SPEND)
    assert float(mechanism.scale) < 3 / math.sqrt(2 * 0.05)
    assert 0.9999 * SPEND.rho < cost(mechanism.event).rho <= SPEND.rho
    alike = given(mechanism.sensitivity, (np.array([500]), np.array([7])))
    counts, groups = mechanism.draw(alike, 60_000, Drawn())
    assert groups.sum() == 60_000
    near_zero = counts < 250
    assert groups[~near_zero].sum() == 7
    variance = groups[near_zero] @ counts[near_zero] ** 2 / groups[near_zero].sum()
    assert math.sqrt(variance) == pytest.approx(mechanism.sd, rel=0.04)
    with pytest.raises(UsageError, match="buckets"):
        mechanism.draw(given(mechanism.sensitivity, EMPTY), 0, Drawn())


@pytest.mark.parametrize("bound", [1, 8, 4096])
@pytest.mark.parametrize("at_most", [None, 100])
def test_what_is_charged_is_within_the_spend(bound: int, at_most: int | None) -> None:
    way = Central(SPEND, at_most)
    event = way.event(bound)
    assert Fraction("0.0499") < cost(event).rho <= SPEND.rho
    if at_most is None:
        assert isinstance(event, Composed)
        number, ranks = event.events
        assert isinstance(number, GaussianNoise)
        assert isinstance(ranks, GaussianNoise)
        # A user can bring as many new groups as the bound, all into one number.
        assert number.l2_squared == bound**2
        assert ranks.l2_squared == bound
    assert cost(Laplace(SPEND, 50, hashed=False).event(bound)).rho <= SPEND.rho


def test_the_number_of_ranks_depends_on_the_noisy_number_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Gaussian, "draw", lambda self, query, chance: np.array([300]))
    lengths = set()
    for n in (10, 5_000):
        drawn = Central(SPEND, None).draw(frequencies_of(zipf_runs(n, n)), 1, Drawn())
        lengths.add(int(drawn.noisy[1].sum()))
    assert len(lengths) == 1


def test_the_stated_error_of_sorted_counts_is_near_the_measured_one() -> None:
    truth = zipf_runs(50_000, 50_000)
    way = Central(SPEND, int(truth[1].sum()) + 200)
    measured, stated = [], []
    for _ in range(4):
        found = way.draw(frequencies_of(truth), 1, Drawn()).frequencies
        measured.append(distance(found.whole(), truth))
        stated.append(found.errors.l1)
    assert 0.4 < float(np.mean(measured) / np.mean(stated)) < 2.5
    assert 0.2 < way.expected_error(50_000, 1) / np.mean(measured) < 5


def users(**in_cells: int) -> Integers:
    cells = np.zeros(len(CELLS), np.int64)
    for cell, n in in_cells.items():
        cells[CELLS.index(int(cell[1:]))] = n
    return cells


def test_the_bound_follows_the_profile() -> None:
    def error(n_pairs: float, bound: int) -> float:
        return Central(SPEND, None).expected_error(n_pairs, bound)

    assert choose_bound(users(c1=100_000), 5.0, 4096, error).bound == 1
    many = choose_bound(users(c1=100_000, c16=50_000), 5.0, 4096, error)
    assert many.bound == 16
    assert many.lost == 0
    assert choose_bound(users(c16=100_000), 5.0, 3, error).bound == 3
    # A few phantom users in a far cell would outweigh everyone else.
    assert choose_bound(users(c1=100_000, c1048576=22), 5.0, 4096, error).bound == 1
    assert choose_bound(users(c1=0), 5.0, 4096, error).bound == 1
