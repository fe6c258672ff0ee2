"""What mechanisms have in common, so that whoever uses one need not ask which it is.

Every mechanism is a frozen value made by ``calibrate`` from a sensitivity or bounds and a spend.
``event`` is what the ledger is charged, ``draw`` takes queries and a chance, and nothing else
reads or draws. Those that publish counts say how far off these are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance, Law
    from headcount.privacy.event import Event
    from headcount.privacy.query import Query
    from headcount.privacy.sensitivity import Sensitivity


class Mechanism(Protocol):
    """Something that is paid for before it is asked."""

    @property
    def event(self) -> Event:
        """What the ledger is charged."""


class Counts(Mechanism, Protocol):
    """Adds noise of one law to all counts that it publishes."""

    @property
    def law(self) -> Law:
        """What is added to every count."""

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one user may move what it is asked for."""

    @property
    def sd(self) -> float:
        """The standard deviation of a count."""

    def error_bound(self, confidence: float) -> float:
        """A count moves by less than this, with this confidence."""


class CountsEvery(Counts, Protocol):
    """Publishes every group, so the groups must be public."""

    @property
    def threshold(self) -> None:
        """There is none."""

    def draw(self, query: Query[NDArray[np.int64]], chance: Chance) -> NDArray[np.int64]:
        """All counts with their noise."""


class CountsLarge(Counts, Protocol):
    """Publishes the groups above a threshold, which may be found in the table."""

    @property
    def threshold(self) -> int:
        """A noisy count at or below this stays secret."""

    def draw(
        self, query: Query[NDArray[np.int64]], chance: Chance
    ) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Which groups pass, and their noisy counts."""
