"""Large groups that a discovery does not see, since their users are in very many groups.

A user in a thousand groups weighs a thirtieth of one in each when groups are discovered, so a group
of three hundred such users weighs ten. So the users of the groups that were not found are counted
one for one, and the largest of these is selected where it stands out: one user moves every count by
one at most, however many groups they are in, and only one group leaves a look.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from headcount.accounting.calibrate import selection_epsilon
from headcount.accounting.compose import cost
from headcount.mechanisms.equal_error.tuning import MOST_OVERLOOKED, OVERLOOKED_ROWS
from headcount.privacy.event import Selection
from headcount.privacy.sensitivity import Sensitivity
from headcount.privacy.spend import Zcdp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.mechanisms.chance import Chance
    from headcount.privacy.query import Query

MAX_COUNT = 1 << 32


@dataclass(frozen=True, slots=True)
class Overlooked:
    """Looks for the largest of the groups that are not public; build with ``calibrate``."""

    epsilon: Fraction
    delta: Fraction

    @classmethod
    def calibrate(cls, spend: Zcdp) -> Overlooked:
        """The cost of one look, and the delta of all of them."""
        return cls(selection_epsilon(spend.rho), spend.delta / MOST_OVERLOOKED)

    @property
    def price(self) -> Zcdp:
        """What a look costs [EE6]."""
        return Zcdp(cost(Selection(self.epsilon)).rho, self.delta)

    @property
    def reach(self) -> int:
        """How far above the boundary "none" is, in users, rounded up [EE6]."""
        margin = math.log(OVERLOOKED_ROWS) - math.log(float(self.delta))
        return math.ceil(margin * (1 + 1e-9) / float(self.epsilon))

    @property
    def least(self) -> int:
        """About how many users a group has that is seen half of the time."""
        return self.reach + 1

    @property
    def sensitivity(self) -> Sensitivity:
        """A user moves each count by one at most, in however many groups."""
        return Sensitivity.of_entries()

    def look(self, query: Query[NDArray[np.int64]], gone: list[int], chance: Chance) -> int | None:
        """The number of one of the largest groups, or none.

        The counts are sorted, largest first, and hold one more than are looked at, 0 where there is
        no group. [EE6] the boundary is that of the whole table, whatever was seen since.
        """
        true_counts = np.minimum(query.answer(self.sensitivity), MAX_COUNT)
        left = np.setdiff1d(np.arange(OVERLOOKED_ROWS), gone)
        none = int(true_counts[OVERLOOKED_ROWS]) + 1 + self.reach
        chosen = chance.select(np.append(true_counts[left], none), self.epsilon)
        return None if chosen == len(left) else int(left[chosen])
