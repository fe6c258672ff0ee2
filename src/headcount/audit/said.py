"""What an epsilon and a delta that are said must be, worked out apart from whoever says them.

**Contract.** ``delta_of`` is the delta of ``rho`` zero-concentrated privacy at ``epsilon``, by
Proposition 12 of Canonne, Kamath and Steinke 2020, at the best of many orders.
"""

from __future__ import annotations

import re

import numpy as np

ORDERS_LESS_ONE = np.exp(np.linspace(np.log(1e-6), np.log(1e9), 40_001))
SAID = re.compile(r"epsilon ([\d.]+) at delta ([\d.e-]+)")
ROUNDED = 0.99
"""Numbers that are said have four digits."""


def delta_of(rho: float, epsilon: float) -> float:
    """The delta at an epsilon."""
    less, orders = ORDERS_LESS_ONE, 1 + ORDERS_LESS_ONE
    exponents = less * (orders * rho - epsilon) - orders * np.log1p(1 / less) - np.log(less)
    return float(np.exp(min(0.0, float(exponents.min()))))


def said_and_true(sentence: str, rho: float, delta: float) -> tuple[float, float]:
    """The delta that a sentence says, and at least what is true at the epsilon it says."""
    found = SAID.search(sentence)
    if found is None:
        raise ValueError("the sentence says no epsilon at a delta")
    return float(found[2]), ROUNDED * (delta_of(rho, float(found[1])) + delta)
