"""A uniform real number in [0, 1) of which only as many bits are drawn as a decision needs.

**Contract.** The number lies in ``[head, head + 1) / 2**bits``. ``below`` says whether it is below
a threshold that is itself only known by a bracket, or ``None`` while that is open; ``extend``
draws one more word. Drawing more bits never changes what was decided, so a decision has exactly
the probability the threshold has as a real number [N2].

**Reference.** Lazy sampling by inversion: Devroye 1986, chapter XV; Karney 2016.
"""

from __future__ import annotations

from collections.abc import Callable

from headcount.noise.entropy import Entropy

WORD_BITS = 64
MAX_BITS = 1 << 24
"""No honest entropy gets here; a broken one that repeats a word would extend for ever."""


class LazyUniform:
    """One uniform real number, drawn ``width`` bits at a time."""

    def __init__(self, entropy: Entropy, width: int = WORD_BITS, head: int | None = None) -> None:
        self._entropy = entropy
        self._width = width
        self.head = 0
        self.bits = 0
        if head is None:
            self.extend()
        else:
            self.head, self.bits = head, width

    def extend(self) -> None:
        """Draw one more word and append its ``width`` highest bits."""
        if self.bits >= MAX_BITS:
            raise ArithmeticError("the entropy repeats itself; no draw was made")
        word = int(self._entropy.words(1)[0]) >> (WORD_BITS - self._width)
        self.head = self.head << self._width | word
        self.bits += self._width

    def below(self, low: int, high: int) -> bool | None:
        """Say whether the number is below ``t``, where ``low <= t * 2**bits <= high`` [N2]."""
        if self.head + 1 <= low:
            return True
        if self.head >= high:
            return False
        return None


def coin(uniform: LazyUniform, threshold: Callable[[int], tuple[int, int]]) -> bool:
    """Say whether the number is below a threshold given by its bracket at any precision."""
    while (decided := uniform.below(*threshold(uniform.bits))) is None:
        uniform.extend()
    return decided
