"""One discrete Gaussian draw at a time, with no table to make first.

**Contract.** ``draw_one`` has exactly the law of ``DiscreteGaussian``. A table pays for itself from
some dozens of draws on; a mechanism that measures one number at a time, each with other noise,
never gets there.

**Reference.** Canonne, Kamath, Steinke 2020, Algorithms 1 to 3.

Coins are decided by floating point only where its proven error cannot matter [N6], [N9].
"""

from __future__ import annotations

import math
from fractions import Fraction

from headcount.noise.entropy import Entropy
from headcount.noise.uniform import WORD_BITS, LazyUniform, coin
from headcount.privacy.exact import exp_bracket

FEW = 16
"""Up to this many draws are made one at a time."""
MARGIN = 2.0**-32


def draw_one(sigma_squared: Fraction, entropy: Entropy) -> int:
    """One draw: discrete Laplace proposals of scale ``t``, each kept with its exact chance [N9]."""
    t = math.isqrt(math.floor(sigma_squared)) + 1
    center, width = sigma_squared / t, 2 * sigma_squared
    float_center, float_width = float(center), float(width)
    while True:
        proposed = _laplace(t, entropy)
        distance = abs(proposed)
        chance = math.exp(-((distance - float_center) ** 2) / float_width)
        word = _word(entropy)
        gap = chance - word * 2.0**-64
        if abs(gap) > MARGIN:
            kept = gap > 0
        else:
            kept = _exact_coin((distance - center) ** 2 / width, word, entropy)
        if kept:
            return proposed


def _laplace(t: int, entropy: Entropy) -> int:
    """One draw of mass proportional to ``exp(-|y| / t)``, for a whole ``t``."""
    while True:
        rest = _below(t, entropy)
        if not _falls(Fraction(rest, t), entropy):
            continue
        times = 0
        while _falls(Fraction(1), entropy):
            times += 1
        size = rest + t * times
        negative = _word(entropy) >> (WORD_BITS - 1)
        if size or not negative:  # zero has one sign
            return -size if negative else size


def _falls(exponent: Fraction, entropy: Entropy) -> bool:
    """A coin that shows ``True`` with probability ``exp(-exponent)``, for exponents up to 1.

    The float exponent is off by at most one rounding, and ``exp`` moves by no more than that; an
    exponential good to 2**20 units in the last place leaves the sum far below the margin.
    """
    word = _word(entropy)
    gap = math.exp(-float(exponent)) - word * 2.0**-64
    return gap > 0 if abs(gap) > MARGIN else _exact_coin(exponent, word, entropy)


def _exact_coin(exponent: Fraction, word: int, entropy: Entropy) -> bool:
    uniform = LazyUniform(entropy, head=word)
    return coin(uniform, lambda bits: exp_bracket(exponent, bits))


def _below(n: int, entropy: Entropy) -> int:
    """A uniform integer from 0 to ``n - 1``, for ``n`` up to 2**63."""
    shift = WORD_BITS - max(1, (n - 1).bit_length())
    while (value := _word(entropy) >> shift) >= n:
        pass
    return value


def _word(entropy: Entropy) -> int:
    return int(entropy.words(1)[0])
