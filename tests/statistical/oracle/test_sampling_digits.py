"""The composed rows of the sampling table at 75 digits, on their own: decimals and big integers.

Every rounding after the decimals is upward, so what is found is an upper bound; the shipped one, in
doubles, must be above it and close.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterable
from decimal import Decimal, getcontext
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np
import pytest

from headcount.accounting.sampling.composed import STEPS, TOP, composed_delta
from headcount.accounting.sampling.profile import sup_profile
from headcount.privacy.neighbours import Neighbours

BITS = 256
SIZES = 3
"""Sizes up to this many times threshold over rate are taken one by one, and the rest as one larger
cost. At large deltas that one counts, and has to be further off."""

ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
ROWS = [
    (1.0, 2, 20, "0.2338", ADD_REMOVE),
    (1.0, 5, 18, "0.1851", ADD_REMOVE),
    (1.0, 10, 16, "0.1439", ADD_REMOVE),
    (1.0, 20, 14, "0.1059", ADD_REMOVE),
    (0.25, 1, 22, "0.0919", REPLACE),
    (0.5, 1, 20, "0.1485", REPLACE),
    (1.0, 1, 19, "0.2354", REPLACE),
    (2.0, 1, 19, "0.3441", REPLACE),
    (1.0, 2, 20, "0.2276", REPLACE),
    (1.0, 5, 16, "0.1553", REPLACE),
    (1.0, 10, 14, "0.1159", REPLACE),
    (1.0, 20, 14, "0.0926", REPLACE),
]
SHORT = [ROWS[0], ROWS[6]]


def masses(size: int, p: Decimal) -> list[Decimal]:
    found = [(1 - p) ** size]
    for x in range(size):
        found.append(found[-1] * (size - x) / (x + 1) * p / (1 - p))
    return found


def profile(p: Decimal, threshold: int, powers: list[Decimal], most: int) -> list[Decimal]:
    """The worst hockey stick at each ratio, up from 1 on and down below; sizes one by one."""
    best = [Decimal(0)] * len(powers)
    last_up = math.ceil(threshold / p) + 1
    for size in range(threshold - 1, most + 1):
        shown_from = threshold if size < most else 0
        larger, smaller = masses(size + 1, p), [*masses(size, p), Decimal(0)]
        tops = [list(accumulate(reversed(law))) for law in (larger, smaller)]
        starts = [[Decimal(0), *accumulate(law)] for law in (larger, smaller)]
        for i, power in enumerate(powers):
            if power >= 1 and (size <= last_up or size == most):
                x = max(shown_from, math.floor((1 - (1 - p) / power) * (size + 1)) + 1)
                if x <= size + 1:
                    above = tops[0][size + 1 - x] - power * tops[1][size + 1 - x]
                    best[i] = max(best[i], above)
            elif power < 1:
                x = max(shown_from, math.ceil((1 - (1 - p) / power) * (size + 1)))
                if 0 < x <= size + 2:
                    best[i] = max(best[i], starts[1][x] - starts[0][x] / power)
    return best


def hull(points: list[Decimal], values: list[Decimal]) -> tuple[list[Decimal], Decimal]:
    corners = [(Decimal(0), Decimal(1), -1)]
    for i, point in enumerate(zip(points, values, strict=True)):
        while len(corners) > 1:
            (x1, y1, _), (x2, y2, _) = corners[-2:]
            if (y2 - y1) * (point[0] - x1) < (point[1] - y1) * (x2 - x1):
                break
            corners.pop()
        corners.append((*point, i))
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(corners)]
    slopes.append(Decimal(0))
    right = [Decimal(0)] * len(points)
    for (_, _, i), before, after in zip(corners[1:], slopes[:-1], slopes[1:], strict=True):
        right[i] = after - before
    assert min(right) >= 0
    return right, values[-1]


def raised(law: Iterable[Decimal]) -> list[int]:
    return [math.ceil(mass * (1 << BITS)) for mass in law]


def convolved(left: list[int], right: list[int]) -> list[int]:
    """By one product of two very long integers."""
    width = (2 * BITS + 64) // 8
    whole = 1
    for law in (left, right):
        whole *= int.from_bytes(b"".join(m.to_bytes(width, "little") for m in law), "little")
    n = len(left) + len(right) - 1
    text = whole.to_bytes(width * n + width, "little")
    cells = (int.from_bytes(text[i * width : (i + 1) * width], "little") for i in range(n))
    return [-(-cell >> BITS) for cell in cells]


def powered(law: list[int], n: int) -> list[int]:
    half = law if n < 2 else powered(law, n // 2)
    if n < 2:
        return half
    whole = convolved(half, half)
    return convolved(whole, law) if n % 2 else whole


def over(law: list[int], first: int, step: Decimal, n: int, infinite: Decimal, at: int) -> Decimal:
    total = powered(law, n)
    one = Decimal(1 << BITS)
    scaled = sum(
        Decimal(mass) / one * (1 - (step * (at - (first * n + i))).exp())
        for i, mass in enumerate(total)
        if first * n + i > at and mass
    )
    return Decimal(scaled) + 1 - (1 - infinite) ** n


def digits(
    rate: Fraction, threshold: int, epsilon: float, neighbours: Neighbours, n: int, sizes: int
) -> Decimal:
    getcontext().prec = 75
    p = Decimal(rate.numerator) / rate.denominator
    step = Decimal(repr(epsilon)) / STEPS
    first = math.floor((1 - p).ln() / step) - 1
    powers = [(step * i).exp() for i in range(first, TOP * STEPS + 1)]
    worst = profile(p, threshold, powers, math.ceil(sizes * threshold / p) + 1)
    deltas = [1 - a + a * d if a < 1 else d for a, d in zip(powers, worst, strict=True)]
    right, infinite = hull(powers, deltas)
    left = raised(a * mass for a, mass in zip(powers, right, strict=True))
    down, last = raised(reversed(right)), -(first + len(powers) - 1)
    if neighbours is REPLACE:
        both = convolved(left, down)
        return over(both, first + last, step, n, infinite, STEPS)
    up = over(left, first, step, n, infinite, STEPS)
    return max(up, over(down, last, step, n, Decimal(0), STEPS))


@pytest.mark.parametrize(
    ("epsilon", "n", "threshold", "rate", "neighbours"),
    ROWS if os.environ.get("HEADCOUNT_LONG") == "1" else SHORT,
)
def test_composed_rows(
    epsilon: float, n: int, threshold: int, rate: str, neighbours: Neighbours
) -> None:
    exact = digits(Fraction(rate), threshold, epsilon, neighbours, n, SIZES)
    assert exact <= Decimal("1e-8")
    found = Decimal(composed_delta(float(Fraction(rate)), threshold, epsilon, neighbours, n))
    assert exact <= found <= exact * (1 + Decimal("1e-5"))


def test_the_worst_size_at_random_small_parameters() -> None:
    """The formula for the worst size, in doubles, beside all sizes one by one at 75 digits."""
    getcontext().prec = 75
    chooser = random.Random(11)
    for _ in range(40 if os.environ.get("HEADCOUNT_LONG") == "1" else 12):
        threshold, rate = chooser.randint(2, 9), chooser.uniform(0.05, 0.6)
        lowest = 0.7 * math.log1p(-rate)
        epsilons = [chooser.uniform(lowest, 0) for _ in range(5)]
        epsilons += [0.0, *(chooser.uniform(0, 4) for _ in range(5))]
        powers = [Decimal(epsilon).exp() for epsilon in epsilons]
        p = Decimal(rate)
        largest = max(1 / (1 - (1 - p) / power) for power in powers)
        exact = profile(p, threshold, powers, math.ceil(threshold * largest) + 3)
        found = sup_profile(rate, threshold, np.array(epsilons))
        for ours, true in zip(found, exact, strict=True):
            assert abs(Decimal(float(ours)) / true - 1) < Decimal("1e-12")


def test_random_rows_are_above_the_digits_and_close() -> None:
    chooser = random.Random(12)
    for _ in range(12 if os.environ.get("HEADCOUNT_LONG") == "1" else 3):
        threshold, n = chooser.randint(3, 7), chooser.randint(1, 6)
        epsilon, rate = chooser.uniform(0.3, 2), Fraction(chooser.randint(20, 50), 100)
        neighbours = chooser.choice([ADD_REMOVE, REPLACE])
        exact = digits(rate, threshold, epsilon, neighbours, n, 12)
        found = Decimal(composed_delta(float(rate), threshold, epsilon, neighbours, n))
        assert exact <= found <= exact * (1 + Decimal("1e-5"))
