"""A hundred merged streams have the law of one; values spread over buckets as balls over bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from headcount.streams.hashing import ValueHash
from headcount.streams.stream import Stream

PASS = 1e-6
BUCKETS = 60_000
PARTS = 100
# Every part counts the same events, and one stream all of them.
VALUES = np.arange(2_000)


def laplace_sum_cdf(scale: float, n: int) -> Callable[[npt.NDArray[np.int64]], Any]:
    """The law of ``n`` draws together, by convolving one with itself."""
    reach = 40 * int(scale * np.sqrt(n) + 10)
    values = np.arange(-reach, reach + 1)
    one = np.exp(-np.abs(values) / scale)
    one /= one.sum()
    law = np.zeros(len(values))
    law[reach] = 1
    for _ in range(n):
        law = np.convolve(law, one, mode="same")
    sums = np.cumsum(law)
    return lambda x: sums[np.clip(x + reach, 0, len(sums) - 1)]


def merged(parts: int) -> tuple[Stream, npt.NDArray[np.int64]]:
    whole = Stream(buckets=BUCKETS, epsilon=1)
    counted = Stream(buckets=BUCKETS, epsilon=60, hash_seed=whole.hash_seed)
    for _ in range(parts):
        counted.update(VALUES)
    whole.update(VALUES)
    others = [Stream.like(whole) for _ in range(parts - 1)]
    for part in others:
        part.update(VALUES)
    whole.merge(*others)
    true_counts = np.array(counted._place.counters)
    return whole, true_counts


def test_a_hundred_merged_streams_are_one_stream_in_law(fit_p_value: Any) -> None:
    whole, true_counts = merged(PARTS)
    noise = whole._place.counters - true_counts
    draws = PARTS + 1
    assert whole.n_noises == draws, "those of all parts, and one for the merge"
    scale = float(np.sqrt(draws))
    law = laplace_sum_cdf(1.0, draws)
    assert fit_p_value(noise, law, scale) > PASS
    for wrong in (draws - 15, draws + 15):
        assert fit_p_value(noise, laplace_sum_cdf(1.0, wrong), scale) < PASS

    # One stream that was given a hundred draws, and all events itself.
    one = Stream(buckets=BUCKETS, epsilon=1)
    for _ in range(draws - 1):
        one.reseal()
    assert one.n_noises == draws
    assert fit_p_value(one._place.counters, law, scale) > PASS
    assert stats.ks_2samp(noise, one._place.counters).pvalue > PASS


@pytest.mark.parametrize(
    "values",
    [
        [str(i) for i in range(200_000)],
        [f"user-{i:012d}@example.org" for i in range(200_000)],
        ["x" * i for i in range(1_500)],
        [f"{i:b}" for i in range(200_000)],
    ],
    ids=["numbers", "addresses", "lengths", "two letters"],
)
def test_values_spread_evenly(values: list[str]) -> None:
    hashes = ValueHash("00112233445566778899aabbccddeeff").of_texts(tuple(values))
    assert len(np.unique(hashes)) == len(values)
    for cells, n_cells in (
        (hashes % np.uint64(97), 97),
        (hashes % np.uint64(128), 128),
        (hashes >> np.uint64(57), 128),
        (hashes >> np.uint64(30) & np.uint64(127), 128),
    ):
        counts = np.bincount(cells.astype(np.int64), minlength=n_cells)
        assert stats.chisquare(counts).pvalue > PASS
    # How many buckets stay empty decides what frequencies without names can be told.
    n_buckets = 2 * len(values)
    empty = n_buckets - len(np.unique(hashes % np.uint64(n_buckets)))
    share = (1 - 1 / n_buckets) ** len(values)
    sd = np.sqrt(n_buckets * share * (1 - share))
    assert abs(empty - n_buckets * share) < 5 * sd


def test_another_seed_is_another_hash() -> None:
    texts = tuple(str(i) for i in range(10_000))
    one, other = (ValueHash(seed * 16).of_texts(texts) % np.uint64(100) for seed in ("0a", "0b"))
    same = int((one == other).sum())
    assert stats.binomtest(same, len(texts), 0.01).pvalue > PASS


def test_the_hash_never_changes() -> None:
    texts = ("", "a", "headcount", "x" * 100, "y" * 2000, "日本")
    hashes = ValueHash("00112233445566778899aabbccddeeff").of_texts(texts)
    assert [f"{int(value):016x}" for value in hashes] == EXPECTED


EXPECTED = [
    "b91c6a84166dfc64",
    "7696100b360bf073",
    "a7b494b2d661e9d2",
    "c802df363c2c359b",
    "73aaf933d4392100",
    "0a83c522ee5c901a",
]
