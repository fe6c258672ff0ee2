"""A release without noise, written down, and played again to a neighbour.

Both take the same path then, and each stage costs what its inputs differ by over the noise that
would have been drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from headcount.mechanisms.chance import Law
from headcount.trials.seam import Integers, Recorder


@dataclass
class Tape(Recorder):
    """A chance without noise that keeps its outcomes; with a tape to play, they are that one's."""

    played: Tape | None = None
    outcomes: list[Any] = field(default_factory=list)

    def outcome(self, own: Any) -> Any:
        """What comes out now; where the tape has ended, what comes of itself."""
        left = [] if self.played is None else self.played.outcomes[len(self.outcomes) :]
        self.outcomes.append(left[0] if left else own)
        return self.outcomes[-1]

    def noisy(self, true_counts: Integers, law: Law) -> Integers:
        """No noise: the numbers themselves, or those that are played."""
        super().noisy(true_counts, law)
        noisy: Integers = self.outcome(true_counts)
        return noisy

    def select(self, scores: Integers, epsilon_over_range: Fraction) -> int:
        """The best candidate, or the one that is played."""
        super().select(scores, epsilon_over_range)
        return int(self.outcome(int(np.argmax(scores))))
