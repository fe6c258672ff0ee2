"""What discrete Laplace noise costs: on its own lattice, from above, in whole numbers.

The formula for continuous noise is smaller and would be wrong here; half the square of epsilon is
right and too much. The proof is in ``laplace.md``. The ledger on PostgreSQL works the same
integers out by itself, so the steps are plain: sums of powers, and one division at the end.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

GRID = 1 << 32
"""Both arguments are rounded up to multiples of one over this."""
COST_GRID = 1 << 64
EXP_TERMS, SINH_TERMS = 32, 16
FARTHEST, FINEST = 64, 4
"""Beyond an epsilon, and below a scale of one over so many steps, all of epsilon is charged."""


def laplace_cost(l1: Fraction, scale: Fraction) -> Fraction:
    """The rho of discrete Laplace noise on integers that move by ``l1`` in all.

    [LC1] all in one entry, which [LC2] is the worst: other ways to share ``l1`` cost less.
    """
    epsilon = l1 / scale
    return min(epsilon**2 / 2, _lattice_cost(_up(epsilon), _up(1 / scale)))


def _up(value: Fraction) -> int:
    return math.ceil(value * GRID)


@lru_cache(maxsize=1 << 12)
def _lattice_cost(epsilon: int, step: int) -> Fraction:
    """``a - (1 - exp(-a)) u / sinh(u)`` from above, at ``a`` and ``u`` on the grid [LC3]."""
    a = Fraction(epsilon, GRID)
    if epsilon >= FARTHEST * GRID or step > FINEST * GRID:
        return a
    # GRID**n n! times the sum of a**j / j! up to n; the same of u**2j / (2j + 1)!, its last twice.
    exp, exp_unit = 1, 1
    for j in range(EXP_TERMS, 0, -1):
        exp_unit *= GRID * j
        exp = exp * epsilon + exp_unit
    sinh, sinh_unit = 2, 1
    for j in range(SINH_TERMS, 0, -1):
        sinh_unit *= GRID**2 * (2 * j) * (2 * j + 1)
        sinh = sinh * step**2 + sinh_unit
    kept = (exp - exp_unit) * sinh_unit * COST_GRID // (exp * sinh)
    return Fraction(epsilon * (COST_GRID // GRID) - kept, COST_GRID)
