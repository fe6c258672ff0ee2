"""The exact trade of epsilon and delta for Gaussian noise.

Reference: Balle and Wang 2018, Theorem 8. Used to state and to check single Gaussian releases;
the ledger itself adds up rho.
"""

from __future__ import annotations

import math
from fractions import Fraction

from headcount.accounting.tail import SLACK, upper_tail
from headcount.privacy.exact import exact


def gaussian_delta(epsilon: float, noise_multiplier: float) -> float:
    """The delta at ``epsilon`` of Gaussian noise whose sd is ``noise_multiplier`` sensitivities."""
    shift = 1 / (2 * noise_multiplier)
    first = upper_tail(epsilon * noise_multiplier - shift)
    second = upper_tail(epsilon * noise_multiplier + shift)
    # exp(epsilon) may overflow while the product does not.
    product = math.exp(epsilon + math.log(second)) if second > 0 else 0.0
    return max(0.0, first - product)


def gaussian_noise_multiplier(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least noise multiplier that reaches (epsilon, delta), rounded up."""
    goal = float(delta) * (1 - SLACK)
    level = float(epsilon)
    low, high = 0.0, 1.0
    while gaussian_delta(level, high) > goal:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if gaussian_delta(level, middle) > goal else (low, middle)
    return exact(high * (1 + SLACK))
