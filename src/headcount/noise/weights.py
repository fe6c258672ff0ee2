"""Laws on the integers given by the ratios of their weights, and rigorous brackets of their CDFs.

**Contract.** ``w(0) = 1``, ``w(k+1) = w(k) * r(k)``, ``r(0) = exp(-first)``,
``r(k+1) = r(k) * exp(-step)``. With ``step = 0`` this is a geometric law, with
``first = 1/(2 s^2), step = 1/s^2`` a discrete Gaussian. The law has mass proportional to ``w(|k|)``
on all integers (``two_sided``), or to ``w(k)`` on the integers from 0, or on ``count`` of them.

Every number is an integer in units of ``2**-bits``, lower ends are rounded down and upper ends up
at each operation, and the weights left out are bounded by a geometric series, so each bracket
holds the real value [N3].
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from headcount.noise.uniform import LazyUniform
from headcount.privacy.exact import exp_bracket

# Neither number matters for truth, only for how narrow the brackets are: rounding costs at most
# about 2 log2(terms) bits of the guard, and the weights left out sum to about 2**(NEGLIGIBLE + 10).
GUARD = 64
NEGLIGIBLE = 32


@dataclass(frozen=True, slots=True)
class RatioLaw:
    """A law on the integers, by the ratios of neighbouring weights."""

    first: Fraction
    step: Fraction = Fraction(0)
    two_sided: bool = True
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Cumulative:
    """Brackets ``lows[i] <= F(start + i) * 2**bits <= highs[i]``.

    Values before ``start`` and after the last are possible only in an endless law; in a finite one
    the last value is left out, since there F is 1.
    """

    start: int
    lows: list[int]
    highs: list[int]
    endless: bool

    def invert(self, uniform: LazyUniform) -> int | None:
        """Find the least k with ``uniform < F(k)``, or ``None`` while that is open [N2]."""
        surely_above = bisect_right(self.highs, uniform.head)
        first_above = bisect_left(self.lows, uniform.head + 1)
        if surely_above != first_above:
            return None
        if self.endless and surely_above == len(self.lows):
            return None
        if self.start < 0 and surely_above == 0:
            return None
        return self.start + surely_above


def weights(law: RatioLaw, bits: int) -> tuple[list[int], list[int], int]:
    """Bracket the weights ``w(0), w(1), ...`` and bound the sum of those left out [N3]."""
    one = 1 << bits
    ratio_low, ratio_high = exp_bracket(law.first, bits)
    step_low, step_high = exp_bracket(law.step, bits) if law.step else (one, one)
    lows, highs = [one], [one]
    low = high = one
    while law.count is None or len(lows) < law.count:
        low = low * ratio_low >> bits
        high = -(-high * ratio_high >> bits)
        ratio_low = ratio_low * step_low >> bits
        ratio_high = -(-ratio_high * step_high >> bits)
        if law.count is None and high >> NEGLIGIBLE == 0:
            # The ratios never rise, so what is left sums to at most high / (1 - ratio).
            return lows, highs, -(-(high << bits) // (one - ratio_high))
        lows.append(low)
        highs.append(high)
    return lows, highs, 0


def total(law: RatioLaw, bits: int) -> tuple[int, int]:
    """Bracket the sum of all weights, times ``2**bits``."""
    lows, highs, rest = weights(law, bits + GUARD)
    low, high = sum(lows), sum(highs) + rest
    if law.two_sided:
        low, high = 2 * low - lows[0], 2 * high - highs[0]
    return low >> GUARD, -(-high >> GUARD)


def cumulative(law: RatioLaw, bits: int) -> Cumulative:
    """Bracket the CDF at every value that matters at this precision [N3]."""
    lows, highs, rest = weights(law, bits + GUARD)
    sums_low, sums_high = list(accumulate(lows)), list(accumulate(highs))
    if law.two_sided:
        return _two_sided(sums_low, sums_high, rest, bits)
    all_low, all_high = sums_low[-1], sums_high[-1] + rest
    kept = slice(None) if law.count is None else slice(-1)
    return Cumulative(
        start=0,
        lows=[(low << bits) // all_high for low in sums_low[kept]],
        highs=[min(-(-(high << bits) // all_low), 1 << bits) for high in sums_high[kept]],
        endless=law.count is None,
    )


def _two_sided(sums_low: list[int], sums_high: list[int], rest: int, bits: int) -> Cumulative:
    # Mass in [-k, k] is m(k) = (2 * sum - w(0)) / all, so F(k) = (1 + m(k)) / 2 = 1 - F(-k - 1).
    zero = sums_low[0]
    all_low, all_high = 2 * sums_low[-1] - zero, 2 * (sums_high[-1] + rest) - zero
    one = 1 << bits
    lows = [((all_high + 2 * low - zero) << bits) // (2 * all_high) for low in sums_low]
    highs = [
        min(-(-((all_low + 2 * high - zero) << bits) // (2 * all_low)), one) for high in sums_high
    ]
    return Cumulative(
        start=-len(lows),
        lows=[one - high for high in reversed(highs)] + lows,
        highs=[one - low for low in reversed(lows)] + highs,
        endless=True,
    )


cached_cumulative = lru_cache(maxsize=32)(cumulative)
