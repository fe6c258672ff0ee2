"""Who can be beyond a clip at all, told from earlier sums, so that few users are looked at.

This saves work and changes no answer: whoever is left out has a norm within the clip [E4].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.contributions.groups import USER
from headcount.tables.engine import double

if TYPE_CHECKING:
    from numpy.typing import NDArray

SQUARE = "hc_square"
SLACK = 1 + 1e-6  # more than rounding does to a sum of doubles, in whatever order it is taken


@dataclass(frozen=True, slots=True)
class NormLimits:
    """For each user and class of groups, the sum of squares of public values of their pairs.

    per_user:  a column for the user, and one for each class
    values:    of each group, at least 1
    classes:   of each group
    """

    per_user: Any
    values: NDArray[np.int64]
    classes: NDArray[np.int64]

    def beyond(self, index: NDArray[np.int64], weights: NDArray[np.int64], clip: int) -> Any:
        """The users whose weights, in these groups, may have a squared norm above the clip.

        No weight of a class is more than its largest ratio to the value, so no norm is more than
        that ratio makes of the sum of squares.
        """
        ratios = np.zeros(int(self.classes.max()) + 1)
        np.maximum.at(ratios, self.classes[index], weights / self.values[index])
        limits = (self.per_user[f"{SQUARE}_{i}"] * double(x**2) for i, x in enumerate(ratios))
        may_be = sum(limits, double(0)) > double(clip / SLACK)
        return self.per_user.filter(may_be).select(USER)
