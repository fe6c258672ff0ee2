"""Several looks at users' cells, each through a sample of its own.

**Contract**

========== ==================================================================================
input      for each look, how many users a coin of chance ``rate`` kept in each public block
output     for each look, the blocks with at least ``threshold`` kept users, with that number
noise      the coins alone: new ones for every look
guarantee  that of ``SampleThreshold`` for ``n_samples`` fresh samples of one answer each
neighbours those of the ``SampleThreshold``; a user is in at most one block of each look
========== ==================================================================================

**Reference** Sample and threshold differential privacy (2022), for hierarchies, ranges and
quantiles.

**Errata** As printed, all levels of a hierarchy and all steps of a search count one sample.
Subtracting a child's count from its parent's then shows a single coin: delta is at least the rate.
Here a look is numbered, takes coins of its own, and cannot be repeated.

The proof is in ``proof.md``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from headcount.mechanisms.sample_threshold import SampleThreshold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.privacy.cells import Blocks
    from headcount.privacy.event import SampleThreshold as SampleThresholdEvent
    from headcount.privacy.neighbours import Neighbours
    from headcount.privacy.query import Query
    from headcount.privacy.spend import Zcdp

Ask = Callable[[int, "Blocks"], "Query[NDArray[np.int64]]"]
"""``ask(number, blocks)``: kept users per block, under coins that no other number has."""


@dataclass(frozen=True, slots=True)
class FreshSamples:
    """So many looks as were paid for; build with ``calibrate``."""

    sample: SampleThreshold

    @classmethod
    def calibrate(cls, limit: Zcdp, n_samples: int, neighbours: Neighbours) -> FreshSamples:
        """The rate and threshold that show the smallest blocks in ``n_samples`` looks."""
        return cls(SampleThreshold.calibrate(limit, n_samples=n_samples, neighbours=neighbours))

    @property
    def event(self) -> SampleThresholdEvent:
        """What the ledger records, for all looks together."""
        return self.sample.event

    def looks(self, ask: Ask) -> Looks:
        """The looks of one release."""
        return Looks(self.sample, ask)


@dataclass(slots=True)
class Looks:
    """Looks at one table, each with coins of its own, until all that were paid for are used."""

    sample: SampleThreshold
    ask: Ask
    used: int = field(default=0)

    def look(self, blocks: Blocks) -> NDArray[np.int64]:
        """Sampled users of each block, 0 where hidden. [FS1] a new number each time."""
        if self.used >= self.sample.n_samples:
            raise RuntimeError("more looks than were paid for")
        self.used += 1
        # [FS2] The engine hides small blocks already; what leaves here is hidden whatever it did.
        kept, counts = self.sample.keep(self.ask(self.used, blocks))
        shown = np.zeros(blocks.n_blocks, np.int64)
        shown[kept] = counts
        return shown
