"""A rigorous bracket of pi, for the normalising sum of wide discrete Gaussians.

**Contract.** ``low <= pi * 2**bits <= high``, both integers.

**Reference.** Machin's formula: ``pi = 16 arctan(1/5) - 4 arctan(1/239)``.
"""

from __future__ import annotations


def pi_bracket(bits: int) -> tuple[int, int]:
    """Bracket ``pi * 2**bits``."""
    work = bits + 32
    five_low, five_high = _arctan_of_inverse(5, work)
    large_low, large_high = _arctan_of_inverse(239, work)
    low, high = 16 * five_low - 4 * large_high, 16 * five_high - 4 * large_low
    return low >> 32, -(-high >> 32)


def _arctan_of_inverse(x: int, bits: int) -> tuple[int, int]:
    # Each term is rounded down, so it is off by less than one unit; the series alternates and
    # falls, so the terms left out, all below one unit, are off by at most one more.
    power = (1 << bits) * x
    value = terms = 0
    while power:
        power //= x * x
        term = power // (2 * terms + 1)
        value += -term if terms % 2 else term
        terms += 1
    return value - terms - 1, value + terms + 1
