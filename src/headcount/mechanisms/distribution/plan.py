"""What is public of a distribution to be learned: the limit, the method, what is known of users."""

from __future__ import annotations

from dataclasses import dataclass

from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp


@dataclass(frozen=True, slots=True)
class DistributionPlan:
    """The public half of ``Distribution``, which its stages read."""

    limit: Zcdp
    method: str = "auto"
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    users: int | None = None
    samples: int | None = None
