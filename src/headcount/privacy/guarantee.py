"""What a release promises, in one value that can be printed and stored."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp
from headcount.privacy.unit import Unit


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The promise of one release: for whom, against which change, at what cost.

    ``epsilon`` at ``delta`` is the cost as people state it; ``spend`` is what the ledger adds up.
    """

    unit: Unit
    neighbours: Neighbours
    spend: Zcdp
    epsilon: Fraction
    delta: Fraction
    vouched: str | None = None
    """Who vouches that no row of the view that was counted depends on two users."""
    presence: str | None = None
    """What somebody pays who is in many windows, where one window is protected."""

    def __str__(self) -> str:
        promise = (
            f"epsilon {float(self.epsilon):.4g} at delta {float(self.delta):.3g} for {self.unit}, "
            f"under {self.neighbours.sentence_of(self.unit.whom)}"
        )
        if self.presence is not None:
            promise = f"{promise}. {self.presence.removesuffix('.')}"
        if self.vouched is None:
            return promise
        return (
            f"{promise}; only if no row of the view depends on two users, which is not checked "
            f"but vouched for: {self.vouched}"
        )
