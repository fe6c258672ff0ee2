"""Counters that may be stolen: noise before the first event, and again after every look.

**Contract**

========== ==================================================================================
input      integer counters over a public list of groups or buckets, 0 before the first event
output     the same counters plus independent discrete Laplace noise
noise      ``P(z) ∝ exp(-|z| / scale)`` on the integers, drawn exactly, once per counter and draw
guarantee  ``l1 / scale``-DP, for one event, of memory and disk at any one moment, together with
           all files that were written before and the output, each of which has its own draw
neighbours one event more or less, or one event replaced: those of the ``Sensitivity``
========== ==================================================================================

An event is one line of a log, not one user: whoever gives c events has c times the epsilon.

**Reference** Dwork, Naor, Pitassi, Rothblum and Yekhanin 2010 (pan-privacy); anonymized histograms
in intermediate privacy models (2022).

**Errata** "The state is private" covers neither state and output together nor two states: their
difference holds the events in between without noise. Here the output, and every state that goes on
after it was written, has a draw of its own. And that draw may not wait for the next event: whether
there was a draw would tell whether there was an event.

The proof is in ``pan_private.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from headcount.noise.discrete_laplace import DiscreteLaplace
from headcount.privacy.event import LaplaceNoise
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import Sensitivity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query

FINEST = 1 << 14
"""Error bounds of noise wider than this are computed on a coarser lattice."""


def one_event(neighbours: Neighbours) -> Sensitivity:
    """How far one event moves the counters: one counter by one, or two when it is replaced."""
    return Sensitivity.of_cell(neighbours)


@dataclass(frozen=True, slots=True)
class PanPrivate:
    """Noise for counters that are seen at one moment and at the end; build with ``calibrate``."""

    sensitivity: Sensitivity
    scale: Fraction

    @classmethod
    def calibrate(cls, sensitivity: Sensitivity, epsilon: Fraction) -> PanPrivate:
        """The least noise that keeps the state at any one moment ``epsilon``-DP."""
        return cls(sensitivity, sensitivity.l1 / epsilon)

    @property
    def event(self) -> LaplaceNoise:
        """What one event of the stream pays."""
        return LaplaceNoise(self.sensitivity.l1, self.scale)

    @property
    def epsilon(self) -> Fraction:
        """What is promised to one event."""
        return self.sensitivity.l1 / self.scale

    @property
    def ratio(self) -> float:
        """How much rarer noise is for each step away from 0."""
        return math.exp(-1 / self.scale)

    def sd(self, n_noises: int = 1) -> float:
        """The standard deviation of ``n_noises`` draws together."""
        return math.sqrt(n_noises / 2) / math.sinh(1 / (2 * self.scale))

    def error_bound(self, confidence: float, n_noises: int = 1) -> int:
        """Half the width of an interval that holds the count with ``confidence``."""
        return _half_width(float(self.scale), n_noises, confidence)

    def draw(self, query: Query[NDArray[np.int64]], chance: Chance) -> NDArray[np.int64]:
        """Add one independent draw to each counter.

        Called by ``streams`` at calls of whoever runs a stream, never at an event: [PP1] when it is
        made or opened, before the first event, on every counter, touched or not; [PP2] at the
        output; [PP3] when the state is copied, written or resealed; [PP4] when parts are added up,
        which bring their draws along. [PP5] An event draws nothing. How many draws there are
        follows from calls, and is needed for the error bound alone.
        """
        return chance.noisy(query.answer(self.sensitivity), DiscreteLaplace(self.scale))


@lru_cache(maxsize=64)
def _half_width(scale: float, n_noises: int, confidence: float) -> int:
    """The least w such that the sum of ``n_noises`` draws lies in [-w, w] with ``confidence``.

    The law of the sum is the inverse transform of a power of its characteristic function.
    """
    import numpy as np

    coarseness = max(1.0, min(scale * math.sqrt(n_noises) / FINEST, scale / 16))
    ratio = math.exp(-coarseness / scale)
    spread = scale / coarseness * (12 * math.sqrt(2 * n_noises) + 40)
    size = 1 << math.ceil(math.log2(2 * spread + 16))
    angles = 2 * math.pi * np.arange(size // 2 + 1) / size
    transform = (1 - ratio) ** 2 / (1 - 2 * ratio * np.cos(angles) + ratio**2)
    masses = np.fft.irfft(transform**n_noises, size)
    within = masses[0] + 2 * np.concatenate([[0.0], np.cumsum(masses[1 : size // 2])])
    width = int(np.searchsorted(within, confidence * (1 - 1e-12)))
    return width if coarseness == 1 else math.ceil((width + 1) * coarseness)
