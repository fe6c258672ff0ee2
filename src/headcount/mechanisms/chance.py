"""What a mechanism is handed to draw with: noise, choices, and the filter it charges.

A mechanism has no entropy of its own. Whoever runs it hands it a ``Chance``: the door that of the
operating system, an auditor one that writes down what is asked of it, in order. What is not drawn
from here is not drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol

from headcount.accounting.filter import Filter
from headcount.noise.entropy import Entropy, OsEntropy
from headcount.noise.saturation import add_saturating
from headcount.noise.selection import select

if TYPE_CHECKING:
    from fractions import Fraction

    import numpy as np
    from numpy.typing import NDArray

    from headcount.privacy.spend import Zcdp

SYSTEM = OsEntropy()
"""The one generator of the process; it is keyed anew in a child."""


class Law(Protocol):
    """A law on the integers that can be drawn from."""

    name: ClassVar[str]
    """As plans and releases say it."""

    def draw(self, n: int, entropy: Entropy) -> NDArray[np.int64]:
        """``n`` independent draws."""


class Chance(Protocol):
    """All that a mechanism can draw, and what it pays with."""

    def noisy(self, true_counts: NDArray[np.int64], law: Law) -> NDArray[np.int64]:
        """Add one independent draw of a law to each count."""

    def select(self, scores: NDArray[np.int64], epsilon_over_range: Fraction) -> int:
        """Choose one candidate by the exponential mechanism."""

    def filter(self, limit: Zcdp) -> Filter:
        """A filter that later charges pass, for steps that depend on earlier ones."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Exact draws from an entropy, the system's unless another is given."""

    entropy: Entropy = field(default=SYSTEM)

    def noisy(self, true_counts: NDArray[np.int64], law: Law) -> NDArray[np.int64]:
        """Counts plus independent noise, without overflow."""
        return add_saturating(true_counts, law.draw(len(true_counts), self.entropy))

    def select(self, scores: NDArray[np.int64], epsilon_over_range: Fraction) -> int:
        """One candidate, with exactly its probability."""
        return select(scores, epsilon_over_range, self.entropy)

    def filter(self, limit: Zcdp) -> Filter:
        """A filter of this limit."""
        return Filter(limit)
