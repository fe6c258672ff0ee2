"""The exponential mechanism: choose one candidate, exactly.

**Contract.** ``Pr[i]`` is proportional to ``exp(epsilon_over_range * scores[i])``: higher is
better. Where one user moves every score by at most ``D``, in either direction,
``epsilon_over_range = epsilon / (2 D)`` makes the choice epsilon-differentially private;
``epsilon / D`` does where all scores move the same way.

**Reference.** McSherry, Talwar 2007; the choice by inversion of one uniform number, so that
candidates with equal scores have equal chances and one of weight 1e-300 has just that chance.

The cumulative weights are computed in float64 with a proven error; a word closer to one of them
than that goes to integer brackets, and to more words if those do not decide either [N7].
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from fractions import Fraction
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from headcount.noise.entropy import Entropy
from headcount.noise.table import Integers
from headcount.noise.uniform import WORD_BITS, LazyUniform
from headcount.privacy.exact import exp_bracket

MARGIN = 2.0**-44
"""Per candidate: no float64 cumulative share is farther than this from the real one."""

MAX_FLOAT_RATE = 1 << 40


def select(scores: Integers, epsilon_over_range: Fraction, entropy: Entropy) -> int:
    """Choose the index of one candidate."""
    return int(Selection(scores, epsilon_over_range).draw(1, entropy)[0])


def selection_law(
    scores: Integers, epsilon_over_range: Fraction, bits: int
) -> list[tuple[int, int]]:
    """Bracket every candidate's probability, times ``2**bits``."""
    work = bits + len(scores).bit_length() + 8
    lows, highs = Selection(scores, epsilon_over_range).weight_brackets(work)
    all_low, all_high = sum(lows), sum(highs)
    return [
        ((low << bits) // all_high, -(-(high << bits) // all_low))
        for low, high in zip(lows, highs, strict=True)
    ]


class Selection:
    """One choice among scored candidates, to be made any number of times."""

    def __init__(
        self, scores: Integers, epsilon_over_range: Fraction, width: int = WORD_BITS
    ) -> None:
        true_scores = np.asarray(scores)
        if true_scores.dtype.kind != "i" or true_scores.ndim != 1:
            raise TypeError("scores must be a one-dimensional array of signed integers")
        if not len(true_scores):
            raise ValueError("there must be at least one candidate")
        if epsilon_over_range < 0:
            raise ValueError("epsilon_over_range must not be negative")
        # Modulo 2**64, and the gap is below 2**64, so it is right at the ends of int64 as well.
        true_unsigned = true_scores.astype(np.int64).view(np.uint64)
        self._true_gaps = true_unsigned[np.argmax(true_scores)] - true_unsigned
        self._rate = Fraction(epsilon_over_range)
        self._width = width
        self._true_shares = self._float_shares()

    def draw(self, n: int, entropy: Entropy) -> Integers:
        """Choose ``n`` times, independently; the result holds indices [N7]."""
        words = entropy.words(n) >> np.uint64(WORD_BITS - self._width)
        margin = MARGIN * len(self._true_gaps)
        share = words.astype(np.float64) * 2.0**-self._width
        chosen = np.searchsorted(self._true_shares, share - margin, side="right")
        upper = np.searchsorted(
            self._true_shares, share + (2.0**-self._width + margin), side="right"
        )
        for at in np.flatnonzero(chosen != upper):
            chosen[at] = self._draw_exactly(LazyUniform(entropy, self._width, int(words[at])))
        return chosen.astype(np.int64)

    def weight_brackets(self, bits: int) -> tuple[list[int], list[int]]:
        """Bracket every candidate's weight relative to the best one, times ``2**bits``."""
        gaps, candidates = np.unique(self._true_gaps, return_inverse=True)
        brackets = [exp_bracket(self._rate * gap, bits) for gap in gaps.tolist()]
        of_candidate = candidates.tolist()
        return [brackets[i][0] for i in of_candidate], [brackets[i][1] for i in of_candidate]

    def _float_shares(self) -> npt.NDArray[np.float64]:
        """Cumulative shares in float64, each within ``n * MARGIN`` of the real one.

        With ``u = 2**-53``: the exponent ``x`` has three roundings, so it is off by ``3.1 u x``
        and the weight by ``1.2 u``, as ``x exp(-x) < 1``; an exponential good to 64 units in the
        last place adds ``128 u``. Summing n weights adds ``n u`` of the total, which is at least
        1 since the best weight is, so each sum is within ``131 n u`` of the total, each quotient
        within ``263 n u``, and the word's conversion adds ``2 u``. All that is below
        ``512 n u = n * MARGIN``. A rate above 2**40 is cut to that, where every weight but the
        best is below ``exp(-2**40)`` both ways.
        """
        rate = float(min(self._rate, Fraction(MAX_FLOAT_RATE)))
        sums = np.cumsum(np.exp(-rate * self._true_gaps.astype(np.float64)))
        shares: npt.NDArray[np.float64] = sums / sums[-1]
        # One entry fewer than candidates: nothing is above the last one's share of 1.
        return shares[:-1]

    def _draw_exactly(self, uniform: LazyUniform) -> int:
        while True:
            work = uniform.bits + len(self._true_gaps).bit_length() + 16
            lows, highs = self.weight_brackets(work)
            sums_low, sums_high = list(accumulate(lows)), list(accumulate(highs))
            all_low, all_high = sums_low.pop(), sums_high.pop()
            surely_above = bisect_right(sums_high, uniform.head * all_low >> uniform.bits)
            needed = -(-(uniform.head + 1) * all_high >> uniform.bits)
            if surely_above == bisect_left(sums_low, needed):
                return surely_above
            uniform.extend()
