"""Exact numbers: reading them, and rational brackets of the few irrational functions we need.

Every bracket is a pair of integers ``(low, high)`` with ``low <= value * 2**bits <= high``. They
are built from integer arithmetic with each rounding directed outward, so a comparison decided
with them is decided for the real number.
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache

from headcount.errors import UsageError

Number = int | float | str | Decimal | Fraction
LONGEST = 400
"""So many digits, or zeros, a written number may have: what has more takes for ever to read."""


def exact(value: Number, name: str = "the value") -> Fraction:
    """Read a number as the fraction a person meant: 0.1 is one tenth, not the double near it."""
    try:
        if isinstance(value, bool):
            raise TypeError
        if isinstance(value, float):
            return Fraction(Decimal(str(float(value))))
        if isinstance(value, str | Decimal):
            return _written(value)
        return Fraction(value)
    except (ValueError, OverflowError, TypeError, InvalidOperation, ZeroDivisionError):
        said = repr(value)[:60] if isinstance(value, str | float | bool) else type(value).__name__
        raise UsageError(
            f"{name} must be a finite number, not {said}. Write it like 0.1 or 3. "
            "Nothing was charged."
        ) from None


def _written(value: str | Decimal) -> Fraction:
    if isinstance(value, str):
        if len(value) > LONGEST:
            raise ValueError
        if "/" in value:
            return Fraction(value)
        value = Decimal(value)
    if not value.is_finite() or len(value.as_tuple().digits) > LONGEST:
        raise ValueError
    if not value:
        return Fraction(0)
    if abs(value.adjusted()) > LONGEST:
        raise ValueError
    return Fraction(value)


def positive(value: Number, name: str) -> Fraction:
    """Read a number that must be greater than zero."""
    number = exact(value, name)
    if number <= 0:
        raise UsageError(f"{name} must be greater than 0. Nothing was charged.")
    return number


def round_up(value: Fraction, unit: Fraction) -> Fraction:
    """The smallest multiple of ``unit`` that is at least ``value``."""
    return math.ceil(value / unit) * unit


def round_down(value: Fraction, unit: Fraction) -> Fraction:
    """The largest multiple of ``unit`` that is at most ``value``."""
    return math.floor(value / unit) * unit


def sqrt_bracket(value: Fraction, bits: int) -> tuple[int, int]:
    """Bracket ``sqrt(value) * 2**bits``."""
    scaled = value * (1 << (2 * bits))
    low = math.isqrt(math.floor(scaled))
    high = math.isqrt(math.ceil(scaled))
    return low, high if high * high >= scaled else high + 1


@lru_cache(maxsize=4096)
def exp_bracket(exponent: Fraction, bits: int) -> tuple[int, int]:
    """Bracket ``exp(-exponent) * 2**bits`` for ``exponent >= 0``, a few units wide.

    Halve the argument until it is at most 1/2, sum the alternating series, square back. Both ends
    are carried with ``guard`` more bits than asked, since each squaring doubles the error.
    """
    if exponent < 0:
        raise ValueError("exp_bracket takes exponents >= 0")
    if exponent > bits + 2:  # exp(-x) < 2**-x, so the scaled value is below 1
        return 0, 1
    halvings = max(0, math.ceil(exponent * 2).bit_length())
    guard = 2 * halvings + 16
    work = bits + guard
    one = 1 << work
    reduced = exponent / (1 << halvings)
    x_low = reduced.numerator * one // reduced.denominator
    x_high = x_low + 1
    low = high = one
    term_low = term_high = one
    for k in range(1, work):
        term_low = term_low * x_low // (k << work)
        term_high = -(-term_high * x_high // (k << work))
        if k % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
        if term_high <= 1:
            break
    # The terms fall in size and alternate in sign, so the rest is at most the last one.
    low, high = max(0, low - term_high), high + term_high
    for _ in range(halvings):
        low = low * low >> work
        high = -(-high * high >> work)
    return low >> guard, -(-high >> guard)
