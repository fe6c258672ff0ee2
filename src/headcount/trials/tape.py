"""A release without noise, written down, and played again to a neighbour.

Both take the same path then, and each stage costs what its inputs differ by over the noise that
would have been drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from headcount.mechanisms.chance import Law
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp
from headcount.trials.lone_groups import highest_hidden
from headcount.trials.seam import STEP, Asked, Choice, Integers, Recorder


def told(output: Any) -> str:
    """All of what a mechanism gives, to the last digit."""
    if isinstance(output, np.ndarray | np.generic):
        return told(output.tolist())
    if isinstance(output, tuple | list | Iterator):
        return f"[{', '.join(map(told, output))}]"
    if is_dataclass(output):
        return told([getattr(output, part.name) for part in fields(output)])
    return repr(output)


UNSEEN = -STEP
"""Below every threshold: what a group gets that the table of the tape does not have, where no delta
was paid to show one."""


@dataclass
class Tape(Recorder):
    """A chance without noise that keeps its outcomes; with a tape to play, they are that one's."""

    played: Tape | None = None
    paid: Sequence[Zcdp] = ()
    """What was paid for each draw that is played."""
    totals: Sensitivity | None = None
    """What one user may add to the totals that are drawn for, where they are of groups."""
    outcomes: list[tuple[Any, Asked]] = field(default_factory=list)
    """What came of each draw, and what was asked for."""

    def outcome(self, own: Any, follow: Callable[[Any, Asked], Any]) -> Any:
        """What comes out now; where the tape has ended, what comes of itself.

        follow:  what an outcome of the tape is here, where there may be more to draw for or less
        """
        n = len(self.outcomes)
        if self.played is not None and n < len(self.played.outcomes):
            own = follow(*self.played.outcomes[n])
        self.outcomes.append((own, self.asked[-1]))
        return own

    def noisy(self, true_counts: Integers, law: Law) -> Integers:
        """No noise: the numbers themselves, or those that are played, as far as they go."""
        super().noisy(true_counts, law)

        def follow(played: Integers, _draw: Asked) -> Integers:
            n_more = len(true_counts) - len(played)
            more = np.full(max(0, n_more), self.unseen(law) if n_more > 0 else 0, np.int64)
            return np.append(played[: len(true_counts)], more)

        noisy: Integers = self.outcome(true_counts, follow)
        return noisy

    def unseen(self, law: Law) -> int:
        """What a group gets that the tape does not have: as much as delta does not pay to show."""
        paid = self.paid[len(self.outcomes) :]
        if self.totals is None or not paid or not paid[0].delta:
            return UNSEEN
        return highest_hidden(self.totals, law, float(paid[0].delta))

    def select(self, scores: Integers, epsilon_over_range: Fraction) -> int:
        """The best candidate, or the one that is played; the last one is the last one here."""
        super().select(scores, epsilon_over_range)

        def follow(played: int, draw: Asked) -> int:
            is_last = isinstance(draw, Choice) and played == len(draw.true_values) - 1
            return len(scores) - 1 if is_last else min(played, len(scores) - 1)

        return int(self.outcome(int(np.argmax(scores)), follow))
