"""From noisy histograms to frequencies: each step against what it must undo."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from headcount.errors import UsageError
from headcount.postprocess.anonymized import algorithm_1, anonymized
from headcount.postprocess.frequencies import COVERAGE_NOISE, SUPPORT_NOISE, laplace_sd
from headcount.postprocess.hash_inverse import unhashed
from headcount.postprocess.npmle import most_likely
from headcount.postprocess.unbiased import at_least, inverse_kernel, noise_masses, reach_of

Integers = npt.NDArray[np.int64]
rng = np.random.default_rng()


def noisy(true_counts: Integers, ratio: float, n_noises: int = 1) -> tuple[Integers, Integers]:
    drawn = true_counts.copy()
    for _ in range(2 * n_noises):
        drawn += rng.geometric(1 - ratio, len(drawn))
        drawn *= -1
    counts, groups = np.unique(drawn, return_counts=True)
    return counts, groups


def zipf(n: int, n_groups: int) -> Integers:
    weights = 1 / np.arange(1, n_groups + 1) ** 1.1
    return np.bincount(rng.choice(n_groups, n, p=weights / weights.sum()), minlength=n_groups)


def l1_error(counts: Integers, groups: Integers, true_counts: Integers) -> float:
    fitted = np.zeros(len(true_counts) + int(groups.sum()))
    fitted[: int(groups.sum())] = np.repeat(counts, groups)[::-1]
    truth = np.zeros_like(fitted)
    truth[: len(true_counts)] = np.sort(true_counts)[::-1]
    return float(np.abs(fitted - truth).sum())


@pytest.mark.parametrize("n_noises", [1, 2, 3])
@pytest.mark.parametrize("ratio", [0.2, 0.6])
def test_the_unbiased_step_has_no_bias(ratio: float, n_noises: int) -> None:
    reach = reach_of(ratio, n_noises, 1e-17)
    masses = noise_masses(ratio, n_noises, reach)
    for true_count in (0, 1, 4):
        for r in (1, 2, 4, 7):
            expected = 0.0
            for shift, mass in zip(range(-reach, reach + 1), masses, strict=True):
                starts, values = at_least(
                    np.array([true_count + shift]), np.array([1]), ratio, n_noises, 10
                )
                expected += float(mass) * values[np.searchsorted(starts, r, side="right") - 1]
            assert expected == pytest.approx(float(true_count >= r), abs=1e-8)


def test_the_kernel_undoes_the_noise() -> None:
    masses = noise_masses(0.5, 2, 200)
    undone = np.convolve(masses, inverse_kernel(0.5, 2), "same")
    assert undone[200] == pytest.approx(1)
    assert np.abs(np.delete(undone, 200)).max() < 1e-12


def test_algorithm_1_is_the_same_from_runs_as_from_every_count() -> None:
    counts, groups = noisy(zipf(500, 200), 0.6)
    found, n_found = algorithm_1(counts, groups, 0.6, 1, 200)
    # Every r on its own, from the definition.
    kernel = np.cumsum(inverse_kernel(0.6, 1))
    largest = int(counts[-1])
    every = np.array(
        [
            sum(
                c * (0 if v < r - 1 else 1 if v >= r + 1 else kernel[v - r + 1])
                for v, c in zip(counts.tolist(), groups.tolist(), strict=True)
            )
            for r in range(1, largest + 1)
        ]
    )
    at_least_found = np.array([n_found[found >= r].sum() for r in range(1, largest + 1)])
    best = np.abs(at_least_found - np.clip(every, 0, 200)).sum()
    for _ in range(200):
        other = np.sort(np.clip(at_least_found + rng.integers(-1, 2, largest), 0, 200))[::-1]
        assert np.abs(other - np.clip(every, 0, 200)).sum() >= best - 1e-6


@pytest.mark.parametrize("n_noises", [1, 2, 3])
def test_the_most_likely_distribution_is_that(n_noises: int) -> None:
    true_counts = zipf(3_000, 1_000)
    ratio = math.exp(-0.5)
    counts, groups = noisy(true_counts, ratio, n_noises)
    points, found = most_likely(counts, groups, ratio, n_noises)
    assert found.sum() == pytest.approx(1_000)
    assert points.min() >= 0
    reach = int(counts[-1] - counts[0] + 10)
    masses = noise_masses(ratio, n_noises, reach)
    mixture = masses[np.subtract.outer(counts, points) + reach] @ (found / 1_000)
    # No other count deserves weight: that is what being most likely means.
    everywhere = np.arange(0, counts[-1] + 1)
    gain = (groups / mixture) @ masses[np.subtract.outer(counts, everywhere) + reach] / 1_000
    assert gain.max() < (1.005 if n_noises < 3 else 1.05)


def test_a_far_count_costs_nothing_and_stays() -> None:
    counts = np.array([-2, -1, 0, 1, 2, 3, 1_000_000, 5_000_000_000])
    groups = np.array([4, 20, 90, 30, 9, 2, 1, 1])
    for n_noises in (1, 2, 5):
        points, found = most_likely(counts, groups, 0.3, n_noises)
        assert points[-2:].tolist() == [1_000_000, 5_000_000_000]
        assert found[-2:] == pytest.approx([1, 1], rel=1e-6)


def test_most_likely_beats_the_paper_where_noise_is_strong() -> None:
    true_counts = zipf(20_000, 20_000)
    ratio = math.exp(-0.25)
    ours = theirs = 0.0
    for _ in range(8):
        counts, groups = noisy(true_counts, ratio)
        ours += l1_error(*anonymized(counts, groups, ratio=ratio).whole(), true_counts)
        paper = anonymized(counts, groups, ratio=ratio, method="l1")
        theirs += l1_error(*paper.whole(), true_counts)
    assert ours < theirs


def test_the_l2_variant_stays_within_the_noise_around_the_sorted_counts() -> None:
    true_counts = zipf(20_000, 20_000)
    counts, groups = noisy(true_counts, math.exp(-0.5))
    plain = anonymized(counts, groups, ratio=math.exp(-0.5), method="l1")
    limited = anonymized(counts, groups, ratio=math.exp(-0.5), method="l2")
    assert limited.distinct().value == pytest.approx(plain.distinct().value, rel=0.01)


def hashed(true_counts: Integers, n_buckets: int) -> Integers:
    places = rng.integers(0, n_buckets, len(true_counts))
    return np.bincount(places, true_counts, minlength=n_buckets).astype(np.int64)


def exact_loads(
    counts: Integers, groups: Integers, n_buckets: int, n: int
) -> npt.NDArray[np.float64]:
    """The expected number of buckets of each load, one group after the other."""
    law = np.zeros(n + 1)
    law[0] = 1.0
    for count, n_groups in zip(counts.tolist(), groups.tolist(), strict=True):
        for _ in range(n_groups):
            moved = np.concatenate([np.zeros(count), law[:-count]])
            law = law * (1 - 1 / n_buckets) + moved / n_buckets
    return law * n_buckets


def test_the_hash_inverse_undoes_collisions() -> None:
    counts, groups = np.array([1, 2, 3, 7]), np.array([60, 25, 4, 1])
    loads = exact_loads(counts, groups, 200, 200)
    everywhere, found = unhashed(np.arange(1, 201), loads[1:], 200)
    expected = np.zeros(200)
    expected[counts - 1] = groups
    assert everywhere.tolist() == list(range(1, 201))
    assert found == pytest.approx(expected, abs=1e-8)


def test_the_few_largest_groups_are_as_many_as_their_buckets() -> None:
    """The inverse goes on beyond the largest load; what is cut off there belongs to it."""
    counts, found = unhashed(np.array([1, 2, 500]), np.array([4_000.0, 1_500.0, 3.0]), 40_000)
    assert found[counts >= 500].sum() == pytest.approx(3, abs=0.01)
    assert found.sum() == pytest.approx(39_999 * -math.log(1 - 5_503 / 40_000), rel=1e-4)


def test_hashed_counts_come_back() -> None:
    true_counts = np.concatenate([zipf(20_000, 20_000), [300_000]])
    n_buckets = 60_000
    ratio = math.exp(-2.0)
    counts, groups = noisy(hashed(true_counts, n_buckets), ratio)
    found = anonymized(counts, groups, ratio=ratio, buckets=n_buckets)
    assert found.distinct().value == pytest.approx((true_counts > 0).sum(), rel=0.15)
    assert found.counts[-1] == pytest.approx(300_000, abs=30)
    assert l1_error(*found.whole(), true_counts) < 0.2 * 320_000


def test_full_buckets_are_refused_and_the_fix_is_named() -> None:
    counts, groups = noisy(hashed(np.ones(20_000, np.int64), 20_000), math.exp(-2.0))
    with pytest.raises(UsageError, match="more buckets"):
        anonymized(counts, groups, ratio=math.exp(-2.0), buckets=20_000)


def test_without_the_guard_the_inverse_explodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "headcount.postprocess.hash_inverse.check_empty_share",
        lambda groups, n_buckets: 1 - float(groups.sum()) / n_buckets,
    )
    loads = np.array([5_000.0, 1_000.0, 600.0, 200.0])
    _, found = unhashed(np.array([1, 2, 3, 40]), loads, 8_000)
    assert np.abs(found).sum() > 1e6


def test_the_hash_inverse_on_raw_estimates_explodes() -> None:
    true_counts = np.ones(1_000, np.int64)
    ratio = math.exp(-0.25)
    worst = 0.0
    for _ in range(20):
        counts, groups = noisy(hashed(true_counts, 4_000), ratio)
        starts, values = at_least(counts, groups, ratio, 1, int(counts[-1]))
        lengths = np.diff(np.append(starts, counts[-1] + 1))
        tail = np.repeat(values, lengths)
        raw = tail - np.append(tail[1:], 0.0)
        if 1 - raw.sum() / 4_000 <= 0.5:
            continue  # the guard stops this one
        _, found = unhashed(np.arange(1, len(raw) + 1), raw, 4_000)
        worst = max(worst, float(np.abs(np.cumsum(found[::-1])).sum()))
    assert worst > 5 * len(true_counts)


def test_noise_on_used_buckets_only_is_refused() -> None:
    with pytest.raises(UsageError, match="Empty buckets count too"):
        anonymized(np.array([1, 2]), np.array([10, 5]), ratio=0.5, buckets=100)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"ratio": 1.0}, "ratio"),
        ({"ratio": 0.5, "n_noises": 0}, "n_noises"),
        ({"ratio": 0.5, "n_noises": 4, "method": "l1"}, "npmle"),
        ({"ratio": 0.5, "method": "guess"}, "method"),
    ],
)
def test_senseless_settings_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        anonymized(np.array([0, 1]), np.array([3, 4]), **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("n_noises", [1, 2])
def test_stated_errors_are_near_the_measured_ones(n_noises: int) -> None:
    true_counts = zipf(20_000, 20_000)
    ratio = math.exp(-0.5)
    shares = true_counts[true_counts > 0] / 20_000
    truth = {
        "distinct": float((true_counts > 0).sum()),
        "total": 20_000.0,
        "entropy": float(-(shares @ np.log(shares))) + ((true_counts > 0).sum() - 1) / 40_000,
    }
    errors: dict[str, list[float]] = {name: [] for name in truth}
    stated: dict[str, float] = {}
    l1_measured = []
    for _ in range(12):
        counts, groups = noisy(true_counts, ratio, n_noises)
        found = anonymized(counts, groups, ratio=ratio, n_noises=n_noises)
        l1_measured.append(l1_error(*found.whole(), true_counts) / found.errors.l1)
        for name, value in truth.items():
            estimate = getattr(found, name)()
            errors[name].append(estimate.value - value)
            stated[name] = estimate.rmse
    for name, measured in errors.items():
        rmse = math.sqrt(float(np.mean(np.square(measured))))
        assert stated[name] / 6 < rmse < 3 * stated[name], name
    assert 0.3 < float(np.mean(l1_measured)) < 3


def test_properties_are_refused_where_noise_drowns_them() -> None:
    true_counts = zipf(20_000, 10_000)
    for epsilon, may_cover, may_size in (
        (0.9, False, False),
        (1.0, True, False),
        (4.0, True, True),
    ):
        ratio = math.exp(-epsilon / 2)
        found = anonymized(*noisy(true_counts, ratio), ratio=ratio)
        assert (found.noise_sd <= COVERAGE_NOISE) is may_cover
        assert (found.noise_sd <= SUPPORT_NOISE) is may_size
        if may_cover:
            assert found.coverage(0.5).rmse > found.coverage(0.25).rmse > 0
            with pytest.raises(UsageError, match="at most"):
                found.coverage(0.6)
        else:
            with pytest.raises(UsageError, match="Spend more"):
                found.coverage(0.1)
        if may_size:
            assert found.support_size().value > found.distinct().value
        else:
            with pytest.raises(UsageError, match="distinct"):
                found.support_size()


def test_the_sd_of_the_noise() -> None:
    masses = noise_masses(0.6, 2, 300)
    variance = masses @ np.arange(-300, 301) ** 2
    assert laplace_sd(0.6, 2) == pytest.approx(math.sqrt(variance))
