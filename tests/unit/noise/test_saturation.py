"""Noise is added as if integers had no end, then cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from headcount.noise.saturation import LIMIT, add_saturating

EDGES = [0, 1, -1, 5, LIMIT - 1, LIMIT, LIMIT + 1, -LIMIT, -LIMIT - 1, 2**63 - 1, -(2**63)]


def clamp(value: int) -> int:
    return max(-LIMIT, min(LIMIT, value))


def test_all_edges_agree_with_unbounded_integers() -> None:
    pairs = list(itertools.product(EDGES, EDGES))
    counts = np.array([count for count, _ in pairs], dtype=np.int64)
    noise = np.array([noise for _, noise in pairs], dtype=np.int64)
    expected = [clamp(clamp(count) + noise) for count, noise in pairs]
    assert add_saturating(counts, noise).tolist() == expected


def test_ordinary_counts_are_plainly_added() -> None:
    noisy = add_saturating(np.array([10, 0, 3]), np.array([-4, 7, 0]))
    assert noisy.tolist() == [6, 7, 3]
    assert noisy.dtype == np.int64


def test_unsigned_and_narrow_counts() -> None:
    wide = np.array([2**64 - 1, 7], dtype=np.uint64)
    assert add_saturating(wide, np.array([-1, 1])).tolist() == [LIMIT - 1, 8]
    narrow = np.array([127, -128], dtype=np.int8)
    assert add_saturating(narrow, np.array([1000, -1000])).tolist() == [1127, -1128]
    narrow_unsigned = np.array([255], dtype=np.uint8)
    assert add_saturating(narrow_unsigned, np.array([1])).tolist() == [256]


def test_shape_is_kept() -> None:
    counts = np.arange(6).reshape(2, 3)
    assert add_saturating(counts, np.ones((2, 3), dtype=np.int64)).shape == (2, 3)
    assert add_saturating(np.array(4), np.array(3)).shape == ()
    assert add_saturating(np.array([], dtype=np.int64), np.array([], dtype=np.int64)).shape == (0,)


def test_inputs_are_left_alone() -> None:
    counts, noise = np.array([2**63 - 1]), np.array([5])
    add_saturating(counts, noise)
    assert counts.tolist() == [2**63 - 1]
    assert noise.tolist() == [5]


def test_floats_and_shared_noise_are_refused() -> None:
    with pytest.raises(TypeError, match="integer"):
        add_saturating(np.array([1.5]), np.array([1]))
    with pytest.raises(ValueError, match="noise of its own"):
        add_saturating(np.array([1, 2, 3]), np.array([1]))
