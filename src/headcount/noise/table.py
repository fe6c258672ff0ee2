"""Drawing from a law on the integers by table inversion, a whole array at a time.

**Contract.** The table holds ``bounds[i] = floor(F(start + i) * 2**64)``, each floor decided
rigorously. A word strictly between two bounds decides the value whatever bits would follow it; a
word equal to a bound is extended until the value is decided, so the law drawn from is exactly F
[N4]. ``table_law`` gives the mass that single words decide, for enumeration.

``width`` is the number of bits used of each word. Production uses all 64; with 4 or 8 the same
code can be enumerated over every word it may ever see.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from headcount.noise.entropy import Entropy
from headcount.noise.uniform import WORD_BITS, LazyUniform
from headcount.noise.weights import Cumulative, RatioLaw, cached_cumulative, cumulative

Integers = npt.NDArray[np.int64]

GUIDE_BITS = 16
CHUNK = 1 << 16
_OPEN = np.iinfo(np.int32).min


class InversionTable:
    """The bounds of one law, and a guide that answers most words in one step."""

    def __init__(self, law: RatioLaw, width: int = WORD_BITS) -> None:
        self.law = law
        self.width = width
        self.start, floors = _exact_floors(law, width)
        self.bounds = np.array(floors, dtype=np.uint64)
        self._guide_shift = np.uint64(width - min(width, GUIDE_BITS))
        self._guide = self._make_guide()

    def draw(self, n: int, entropy: Entropy) -> Integers:
        """Draw ``n`` independent values."""
        drawn = np.empty(n, dtype=np.int64)
        for begin in range(0, n, CHUNK):
            part = drawn[begin : begin + CHUNK]
            self._draw_chunk(part, entropy)
        return drawn

    def table_law(self) -> tuple[dict[int, int], int]:
        """The exact mass, in units of ``2**-width``, that one word decides for each value.

        The second number is the mass of the words that need extending.
        """
        edges = [-1, *(int(bound) for bound in self.bounds), 1 << self.width]
        masses = {
            self.start + i: edges[i + 1] - edges[i] - 1
            for i in range(len(edges) - 1)
            if edges[i + 1] - edges[i] > 1
        }
        return masses, (1 << self.width) - sum(masses.values())

    def _draw_chunk(self, drawn: Integers, entropy: Entropy) -> None:
        words = entropy.words(len(drawn))
        if self.width < WORD_BITS:
            words = words >> np.uint64(WORD_BITS - self.width)
        drawn[:] = self._guide[words >> self._guide_shift]
        open_at = np.flatnonzero(drawn == _OPEN)
        hard = words[open_at]
        index = np.searchsorted(self.bounds, hard, side="left")
        drawn[open_at] = index + self.start
        tied = self.bounds[np.minimum(index, len(self.bounds) - 1)] == hard
        for at in open_at[tied]:
            drawn[at] = self._settle(int(words[at]), entropy)

    def _settle(self, head: int, entropy: Entropy) -> int:
        uniform = LazyUniform(entropy, self.width, head)
        while True:
            uniform.extend()
            value = cached_cumulative(self.law, uniform.bits).invert(uniform)
            if value is not None:
                return value

    def _make_guide(self) -> npt.NDArray[np.int32]:
        cells = np.arange(1 << min(self.width, GUIDE_BITS), dtype=np.uint64) << self._guide_shift
        last = cells + np.uint64((1 << int(self._guide_shift)) - 1)
        below = np.searchsorted(self.bounds, cells, side="left")
        through = np.searchsorted(self.bounds, last, side="right")
        return np.where(below == through, below + self.start, _OPEN).astype(np.int32)


def _exact_floors(law: RatioLaw, width: int) -> tuple[int, list[int]]:
    """Floors of ``F * 2**width``, from the last that is 0 to the first that is all ones."""
    extra = 32
    while extra <= 1 << 14:
        brackets = cumulative(law, width + extra)
        top = (1 << width) - 1  # F < 1 at every value listed, so no floor is higher
        floors = [low >> extra for low in brackets.lows]
        if floors == [min(high >> extra, top) for high in brackets.highs]:
            return _trim(brackets, floors, top)
        extra *= 2
    raise ArithmeticError("a bound of the table could not be decided; no draw was made")


def _trim(brackets: Cumulative, floors: list[int], top: int) -> tuple[int, list[int]]:
    begin, end = 0, len(floors)
    if brackets.start < 0:
        while floors[begin + 1] == 0:
            begin += 1
    if brackets.endless:
        while end > begin + 1 and floors[end - 2] == top:
            end -= 1
    return brackets.start + begin, floors[begin:end]


@lru_cache(maxsize=64)
def table_for(law: RatioLaw, width: int = WORD_BITS) -> InversionTable:
    """The table of a law, made once."""
    return InversionTable(law, width)
