"""The discrete Laplace law: ``P(x)`` proportional to ``exp(-|x| / scale)`` on the integers.

**Contract.** Input: an exact scale, from tiny to ``MAX_SCALE``. Output: int64 draws whose law is
exactly the one named. With ``scale >= D / epsilon`` it makes a sum of l1-sensitivity ``D``
epsilon-differentially private.

**Reference.** Ghosh, Roughgarden, Sundararajan 2009 (the mechanism); Devroye 1986 (inversion).

Up to ``TABLE_SCALE`` one table holds the law itself. Beyond, the draw is the difference of two
geometric draws, and a geometric draw is put together from independent digits in base ``BASE``,
each with a table of its own [N5].
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from headcount.errors import UsageError
from headcount.noise.entropy import Entropy
from headcount.noise.table import Integers, InversionTable, table_for
from headcount.noise.uniform import WORD_BITS
from headcount.noise.weights import RatioLaw
from headcount.privacy.exact import exp_bracket, positive

TABLE_SCALE = 512
BASE = 1 << 10
MAX_SCALE = 1 << 40
"""Beyond this an int64 could overflow with a probability that is no longer beyond all counting."""


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Noise on the integers with mass proportional to ``exp(-|x| / scale)``."""

    scale: Fraction

    name: ClassVar[str] = "discrete Laplace"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "the scale"))
        if self.scale > MAX_SCALE:
            raise UsageError(
                f"the scale must be at most 2**40, not about {float(self.scale):.3g}. More noise "
                "than that does not fit 64-bit counts. Nothing was read and nothing was charged."
            )

    def draw(self, n: int, entropy: Entropy) -> Integers:
        """Draw ``n`` independent values."""
        if self.scale <= TABLE_SCALE:
            return self.tables()[0].draw(n, entropy)
        return self._geometric(n, entropy) - self._geometric(n, entropy)

    def tables(self, width: int = WORD_BITS) -> list[InversionTable]:
        """The tables a draw uses: the law itself, or the digits of a geometric, lowest first."""
        return [table_for(law, width) for law in self.laws()]

    def laws(self) -> list[RatioLaw]:
        """The laws of those tables."""
        if self.scale <= TABLE_SCALE:
            return [RatioLaw(first=1 / self.scale)]
        return geometric_digits(self.scale, BASE, TABLE_SCALE)

    def probability_bracket(self, value: int, bits: int) -> tuple[int, int]:
        """Bracket ``P(value) * 2**bits``."""
        work = bits + 96
        one = 1 << work
        ratio_low, ratio_high = exp_bracket(1 / self.scale, work)
        low, high = exp_bracket(abs(value) / self.scale, work)
        low = low * max(0, one - ratio_high) // (one + ratio_high)
        high = -(-high * (one - ratio_low) // (one + ratio_low))
        return low >> 96, -(-high >> 96)

    def _geometric(self, n: int, entropy: Entropy) -> Integers:
        value = np.zeros(n, dtype=np.int64)
        for table in reversed(self.tables()):
            value *= BASE
            value += table.draw(n, entropy)
        return value


def geometric_digits(scale: Fraction, base: int, largest: int) -> list[RatioLaw]:
    """Split a geometric law of ratio ``exp(-1 / scale)`` into independent digits [N5].

    Digit i has ratio ``exp(-base**i / scale)`` on ``[0, base)``. The last one, once its scale is
    at most ``largest``, has no end.
    """
    digits = []
    while scale > largest:
        digits.append(RatioLaw(first=1 / scale, two_sided=False, count=base))
        scale /= base
    return [*digits, RatioLaw(first=1 / scale, two_sided=False)]
