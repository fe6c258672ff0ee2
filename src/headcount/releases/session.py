"""What the door hands to a verb for one release, and what the verb hands back.

Whoever has no session can neither draw nor keep a table in the engine. An auditor hands out one of
its own, whose chance writes down what is asked of it. Who paid, how much, and what is promised for
it, a verb neither knows nor says: the door adds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from headcount.contributions.store import Store
    from headcount.mechanisms.chance import Chance
    from headcount.releases.stages import Progress


@dataclass(frozen=True, slots=True)
class Session:
    """The dangerous things of one release."""

    chance: Chance
    """Where noise and choices come from."""
    key: bytes
    """A secret that orders and samples what users bring; of this release alone."""
    store: Store
    """Tables in the engine that end with the release."""
    progress: Progress
    """Where to say which stage begins; it knows the public list."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows that may be published, and words on how they came to be."""

    rows: pa.Table
    method: str
    bounds: str
    noise: str
    notes: tuple[str, ...]
    value: str = "count"
    """The column that ``low`` and ``high`` are around."""
    stated: Mapping[str, float] = field(default_factory=dict)
    """Further numbers that belong to the rows, by name."""
    bars: str = ""
    """What the error bars cover, where that is not all there is."""
    withheld: pa.Table | None = None
    """Rows that were paid for and do not keep what the others promise."""
