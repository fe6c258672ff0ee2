"""Private Count Release (2024), as printed.

Noise that is not floored, a truncated table whose missing row is read as 0, and Theorem 6.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from headcount.audit.divergence import delta_at, rho
from headcount.audit.law import Law
from headcount.audit.verdict import Finding, Tier


def threshold(epsilon: float, largest: int, delta: float) -> float:
    """T of Algorithm 1."""
    return 1 + math.log(largest / delta) / epsilon


def printed_sigma(epsilon: float, target: float, largest: int, delta: float) -> float:
    """The measurement's noise, with no least value: (r / z) T with z = 1.5."""
    return target / 1.5 * threshold(epsilon, largest, delta)


def gumbel_choice(
    counts: dict[str, int], epsilon: float, delta: float, largest: int, boundary: int | None = None
) -> Law:
    """One draw of the unknown-domain choice: an item of the stored rows, or none."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    if boundary is None:
        boundary = ordered[largest][1] if len(ordered) > largest else 0
    scores = {name: float(count) for name, count in ordered[:largest]}
    scores["none"] = threshold(epsilon, largest, delta) + boundary
    best = max(scores.values())
    weights = {name: math.exp(epsilon * (score - best)) for name, score in scores.items()}
    total = sum(weights.values())
    return Law({name: Fraction(weight / total) for name, weight in weights.items()})


@pytest.mark.parametrize(("target", "reference"), [(0.05, 2.0), (0.01, 38.0)])
def test_noise_that_is_not_floored(
    target: float, reference: float, gaussian_cells: Any, found: Any
) -> None:
    """The loop checks that epsilon^2 / 4 fits, and the measurement takes more than its half."""
    epsilon = 0.01
    sigma = printed_sigma(epsilon, target, 10**4, 1e-11)
    edges = np.linspace(-12 * sigma, 12 * sigma, 8001)
    laws = [gaussian_cells(centre, sigma, edges) for centre in (1.0, 0.0)]
    spent = epsilon**2 / 8 + rho(laws[0], laws[1], (2.0, 4.0, 8.0))
    checked = epsilon**2 / 4
    found(Finding(Tier.EXACT, f"r = {target}", "rho", checked, spent), reference * checked, 0.03)


def test_truncated_table_read_as_zero(found: Any) -> None:
    """Two rows are stored; once the first is taken, the third row's count is read as 0."""
    epsilon, delta, largest = 1.0, 1e-6, 2
    laws = []
    for counts in ({"a": 200, "b": 50, "c": 51}, {"a": 200, "b": 50, "c": 50}):
        stored = dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:largest])
        stored.pop("a")
        laws.append(gumbel_choice(stored, epsilon, delta, largest, boundary=0))
    exact = delta_at(laws[0], laws[1], epsilon).low
    found(Finding(Tier.EXACT, "after one removal", "delta", delta, exact), 1.0, 1e-6)


def test_the_corrected_table_is_not_flagged() -> None:
    """With the boundary kept from before the removal the same check finds nothing."""
    laws = [
        gumbel_choice({"c": 51}, 1.0, 1e-6, 2, boundary=50),
        gumbel_choice({"b": 50}, 1.0, 1e-6, 2, boundary=50),
    ]
    assert delta_at(laws[0], laws[1], 1.0).high <= 1e-6


@pytest.mark.parametrize(("spent", "reference"), [(4.0, 4.1e-5), (8.0, 2.4e-3), (20.0, 3.6e-2)])
def test_theorem_6_conversion(
    spent: float, reference: float, gaussian_cells: Any, found: Any
) -> None:
    """rho + 2 sqrt(2 ln 1/delta) where rho + 2 sqrt(rho ln 1/delta) is meant."""
    delta = 1e-6
    stated = spent + 2 * math.sqrt(2 * math.log(1 / delta))
    shift = math.sqrt(2 * spent)
    edges = np.linspace(-12, 12 + shift, 8001)
    laws = [gaussian_cells(centre, 1.0, edges) for centre in (shift, 0.0)]
    exact = delta_at(laws[0], laws[1], stated).low
    found(Finding(Tier.EXACT, f"rho {spent:g}", "delta", delta, exact), reference)
