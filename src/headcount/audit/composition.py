"""Many independent copies of one pair of laws, taken together.

**Contract.** ``composed_delta`` is at most the delta at ``epsilon`` of ``n`` independent outputs of
the two laws. Each privacy loss is rounded down to a grid, which can only lower the delta; the sum
of ``n`` losses is a power of a Fourier transform, whose error of about 1e-12 is taken off.

**Reference.** Sommer, Meiser, Mohammadi 2019 (privacy loss distributions).
"""

from __future__ import annotations

import math

import numpy as np

from headcount.audit.law import Law, aligned

TRANSFORM_ERROR = 1e-12
SIZE = 1 << 22
DEVIATIONS = 10
"""Sums of bounded losses this many standard deviations out are too rare to matter."""


def composed_delta(left: Law, right: Law, n: int, epsilon: float, size: int = SIZE) -> float:
    """At most the delta at ``epsilon`` of ``n`` independent outputs of either side."""
    p, q = aligned(left, right)
    possible = p > 0
    p, q = p[possible], q[possible] + float(right.residual)
    if np.any(q == 0):
        return 1.0 - (1.0 - float(p[q == 0].sum())) ** n
    losses = np.log(p) - np.log(q)
    mean = float(p @ losses)
    spread = DEVIATIONS * math.sqrt(n * float(p @ (losses - mean) ** 2)) + n * abs(mean)
    step = 2 * (spread + epsilon) / size
    masses = np.zeros(size)
    np.add.at(masses, np.floor(losses / step).astype(np.int64) % size, p)
    sums = np.fft.irfft(np.fft.rfft(masses) ** n, size)
    places = np.arange(size)
    total_loss = step * np.where(places < size // 2, places, places - size)
    over = total_loss > epsilon
    found = float((sums[over] * -np.expm1(epsilon - total_loss[over])).sum())
    return max(0.0, found - TRANSFORM_ERROR)
