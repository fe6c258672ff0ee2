"""The discrete Gaussian law: ``P(x)`` proportional to ``exp(-x**2 / (2 sigma**2))``, x integer.

**Contract.** Input: an exact ``sigma_squared``, with sigma from tiny to ``2**40``. Output: int64
draws whose law is exactly the one named. With ``sigma_squared >= D**2 / (2 rho)`` it makes a sum
of l2-sensitivity ``D`` rho-zero-concentrated differentially private.

**Reference.** Canonne, Kamath, Steinke 2020: the law and its privacy (Theorem 4), and the
rejection from a discrete Laplace (Algorithm 3) that is used where sigma is too wide for a table.

A few draws are made one at a time. For more, up to ``TABLE_SIGMA_SQUARED`` one table holds the
law; beyond, proposals come from the exact discrete Laplace, and the coin that accepts them is
decided by floating point only where the proven error of that cannot matter [N6].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from headcount.errors import UsageError
from headcount.noise.circle import pi_bracket
from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.noise.entropy import Entropy, Words
from headcount.noise.single import FEW, draw_one
from headcount.noise.table import Integers, InversionTable, table_for
from headcount.noise.uniform import WORD_BITS, LazyUniform, coin
from headcount.noise.weights import RatioLaw, total
from headcount.privacy.exact import exp_bracket, positive, sqrt_bracket

TABLE_SIGMA_SQUARED = 1 << 20
MAX_SIGMA = (1 << 40) - 1
MARGIN = 2.0**-32
ROUND = 1 << 17


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Noise on the integers with mass proportional to ``exp(-x**2 / (2 * sigma_squared))``."""

    sigma_squared: Fraction

    name: ClassVar[str] = "discrete Gaussian"

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma_squared", positive(self.sigma_squared, "sigma squared"))
        if self.sigma_squared > MAX_SIGMA**2:
            raise UsageError(
                f"sigma squared must be below 2**80, not about {float(self.sigma_squared):.3g}. "
                "More noise than that does not fit 64-bit counts. Nothing was read and nothing "
                "was charged."
            )

    def draw(self, n: int, entropy: Entropy) -> Integers:
        """Draw ``n`` independent values."""
        if n <= FEW:
            drawn = (draw_one(self.sigma_squared, entropy) for _ in range(n))
            return np.fromiter(drawn, np.int64, n)
        if self.sigma_squared <= TABLE_SIGMA_SQUARED:
            return self.table().draw(n, entropy)
        return draw_by_rejection(self.sigma_squared, n, entropy)

    def law(self) -> RatioLaw:
        """The law by its ratios: ``w(k+1) / w(k) = exp(-(2k+1) / (2 sigma**2))``."""
        return RatioLaw(first=1 / (2 * self.sigma_squared), step=1 / self.sigma_squared)

    def table(self, width: int = WORD_BITS) -> InversionTable:
        """The table a draw uses where sigma is small enough."""
        return table_for(self.law(), width)

    def probability_bracket(self, value: int, bits: int) -> tuple[int, int]:
        """Bracket ``P(value) * 2**bits``."""
        work = bits + 64
        low, high = exp_bracket(value * value / (2 * self.sigma_squared), work)
        if self.sigma_squared <= TABLE_SIGMA_SQUARED:
            all_low, all_high = total(self.law(), work)
        else:
            all_low, all_high = total_by_poisson(self.sigma_squared, work)
        return (low << bits) // all_high, -(-(high << bits) // all_low)


def total_by_poisson(sigma_squared: Fraction, bits: int) -> tuple[int, int]:
    """Bracket ``2**bits`` times the sum of all weights, for ``sigma_squared >= 1``.

    Poisson summation: the sum is ``sqrt(2 pi) * sigma * (1 + 2 sum exp(-2 pi^2 sigma^2 k^2))``
    over ``k >= 1``, and the inner sum is at most ``2 exp(-19 sigma^2)``.
    """
    work = bits + 64
    one = 1 << work
    pi_low, pi_high = pi_bracket(work)
    low, _ = sqrt_bracket(2 * sigma_squared * Fraction(pi_low, one), work)
    _, high = sqrt_bracket(2 * sigma_squared * Fraction(pi_high, one), work)
    _, images = exp_bracket(19 * sigma_squared, work)
    high = -(-high * (one + 4 * images) >> work)
    return low >> 64, -(-high >> 64)


def draw_by_rejection(sigma_squared: Fraction, n: int, entropy: Entropy) -> Integers:
    """Draw ``n`` values by accepting discrete Laplace proposals.

    A proposal ``y`` from scale ``t = floor(sigma) + 1`` is kept with probability
    ``exp(-(|y| - sigma**2 / t)**2 / (2 sigma**2))``, which leaves the discrete Gaussian.
    """
    proposals = DiscreteLaplace(Fraction(math.isqrt(math.floor(sigma_squared)) + 1))
    drawn = np.empty(n, dtype=np.int64)
    filled = 0
    while filled < n:
        # About 0.76 of wide proposals are kept, so a short draw nearly always takes one round.
        proposed = proposals.draw(min((n - filled) * 7 // 5 + 64, ROUND), entropy)
        kept = proposed[keep(proposed, sigma_squared, proposals.scale, entropy)]
        kept = kept[: n - filled]
        drawn[filled : filled + len(kept)] = kept
        filled += len(kept)
    return drawn


def keep(
    proposed: Integers, sigma_squared: Fraction, scale: Fraction, entropy: Entropy
) -> npt.NDArray[np.bool_]:
    """Toss the coin of every proposal, each with exactly its probability [N6].

    The exponent is computed in float64 from ``|y|``, the rounded centre ``c = sigma**2 / t`` and
    the rounded ``2 sigma**2``. First let ``|y| <= 32 sigma``, and ``u = 2**-53``: ``|y|`` below
    2**53 is exact and ``c <= sigma``, so the difference is off by at most
    ``u (c + 33 sigma) <= 34 u sigma``; squared and divided, the exponent is off by at most
    ``33 * 34 u`` plus four relative roundings of a value below ``33**2 / 2``, in all below
    ``2**13 u = 2**-40``. ``exp(-x)`` moves by no more than its argument, an exponential good to
    2**20 units in the last place adds ``2**-33``, the word's conversion ``2**-53``. The sum is
    below ``MARGIN = 2**-32``, so a word farther than that from the float is decided by it. Beyond
    32 sigma the real and the computed exponent are both above 400, so both chances are below
    ``2**-500`` and as near to each other.
    """
    words = entropy.words(len(proposed))
    distance = np.abs(proposed).astype(np.float64)
    chance = np.exp(-((distance - float(sigma_squared / scale)) ** 2) / float(2 * sigma_squared))
    gap = chance - words.astype(np.float64) * 2.0**-64
    kept: npt.NDArray[np.bool_] = gap > 0
    for at in np.flatnonzero(np.abs(gap) <= MARGIN):
        kept[at] = keep_exactly(
            int(proposed[at]), sigma_squared, scale, words[at : at + 1], entropy
        )
    return kept


def keep_exactly(
    proposed: int, sigma_squared: Fraction, scale: Fraction, word: Words, entropy: Entropy
) -> bool:
    """Toss one coin with integer brackets, starting from the word already drawn [N2]."""
    exponent = (abs(proposed) - sigma_squared / scale) ** 2 / (2 * sigma_squared)
    uniform = LazyUniform(entropy, head=int(word[0]))
    return coin(uniform, lambda bits: exp_bracket(exponent, bits))
