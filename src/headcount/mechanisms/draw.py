"""The one step all additive mechanisms share: counts plus independent noise, without overflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from headcount.noise.entropy import OsEntropy
from headcount.noise.saturation import add_saturating

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headcount.noise.entropy import Entropy


SYSTEM = OsEntropy()


class Law(Protocol):
    """A law on the integers that can be drawn from."""

    def draw(self, n: int, entropy: Entropy) -> NDArray[np.int64]:
        """``n`` independent draws."""


def noisy(true_counts: NDArray[np.int64], law: Law, entropy: Entropy | None) -> NDArray[np.int64]:
    """Add one independent draw to each count; the entropy is the system's unless one is given."""
    noise = law.draw(len(true_counts), entropy or SYSTEM)
    return add_saturating(true_counts, noise)
