"""Laplace noise as most people would write it, in floating point (Mironov 2012)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from headcount.audit.blackbox import Rows, audit_epsilon

rng = np.random.default_rng()


def low_bits(true_value: float, epsilon: float, n: int) -> Rows:
    """Whether a noisy value is a multiple of 2**-53, and whether it is small."""
    noisy = true_value + rng.laplace(0, 1 / epsilon, n)
    on_grid = np.mod(noisy * 2.0**53, 1.0) == 0
    return (2 * on_grid + (np.abs(noisy) < 0.25)).astype(np.int64)[:, None]


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 3.0])
def test_low_bits_of_float_laplace(epsilon: float, found: Callable[..., object]) -> None:
    sides = low_bits(1.0, epsilon, 40_000), low_bits(0.0, epsilon, 40_000)
    found(audit_epsilon(*sides, epsilon=epsilon, delta=0.0, subject="low bits"))
