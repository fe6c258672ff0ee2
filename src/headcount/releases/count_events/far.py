"""Users far beyond the bound of a count of listed groups, counted by group.

What a bound leaves out is measured up to a cap for each user, as one total. Fifty robots in a group
of their own lose hundreds of times that cap, so their group would come out at a small share of
itself. So users with very many rows in a group are counted there, and a group in which they stand
out from noise is given back what they lost, or is not shown. Everything here but the question is a
function of noisy numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headcount.accounting.tail import each_of, upper_point
from headcount.mechanisms.gaussian import Gaussian
from headcount.privacy.bounds import MAX_GROUPS_LIMIT, Bounds
from headcount.results.cells import label

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from headcount.contributions.events import Events
    from headcount.mechanisms.chance import Chance
    from headcount.privacy.length import Length
    from headcount.privacy.neighbours import Neighbours
    from headcount.privacy.spend import Zcdp

    Floats = NDArray[np.float64]

LATTICE_BITS = 20
# In bounds: where the cells of a group begin. Below the first a loss is within the cap that it is
# measured up to; beyond the last nobody can say how much a user lost.
FAR, VERY_FAR = 8, 128
# Of a user between the two, in bounds, where all sizes are alike on a scale of logarithms.
SPAN = math.log(VERY_FAR / FAR)
MEAN = (VERY_FAR - FAR) / SPAN
SD = math.sqrt((VERY_FAR**2 - FAR**2) / (2 * SPAN) - MEAN**2)
FALSE = 0.1  # of releases in which nobody is far beyond the bound, how many see somebody who is
MOST_UNSURE = 0.5  # of a count, one sd, where users far beyond the bound are in it
SHOWN_NAMES = 5
NOT_SHOWN = (
    "Not shown: {names}. By a noisy count some users have far more rows there than the bound of "
    "{bound:,.3g} events, which leaves most of these out, and it is not known how many. (One "
    "release in ten names a group where nobody has.) Leave groups= out, or give a bound."
)


@dataclass(frozen=True, slots=True)
class Far:
    """One question about users far beyond the bound, and its noise."""

    bounds: Bounds
    noise: Gaussian

    @classmethod
    def calibrate(cls, n_groups: int, spend: Zcdp, neighbours: Neighbours) -> Far:
        """Noise on every cell of every group, for the cost of a user who is in all groups."""
        bounds = Bounds(min(n_groups, MAX_GROUPS_LIMIT), 1, LATTICE_BITS)
        n_cells = len((FAR, VERY_FAR)) * n_groups
        return cls(bounds, Gaussian.calibrate(bounds.sensitivity(neighbours, n_cells), spend))

    def least(self, n_groups: int) -> float:
        """How many users of a group stand out, about, who are in no other."""
        return self.noise.sd / self.bounds.scale * self.point(2 * n_groups)

    @staticmethod
    def point(n_cells: int) -> float:
        """How many sds stand out, where there are so many cells."""
        return upper_point(each_of(FALSE, n_cells))

    def seen(self, events: Events, length: Length, chance: Chance) -> Seen:
        """Who stands out, by group in the order of the list."""
        edges = [math.ceil(times * length.value) for times in (FAR, VERY_FAR)]
        noisy = self.noise.draw(events.far_beyond(edges, self.bounds), chance)
        users, sd = noisy.reshape(-1, 2) / self.bounds.scale, self.noise.sd / self.bounds.scale
        sure = users > sd * self.point(users.size)
        return Seen.of(np.where(sure, users, 0.0), sd, float(length.value))


@dataclass(frozen=True, slots=True)
class Seen:
    """What users far beyond the bound lost, by group, and how sure that is."""

    lost: Floats
    sds: Floats
    is_open: NDArray[np.bool_]
    """Whether somebody lost nobody knows how much."""

    @classmethod
    def of(cls, users: Floats, sd: float, bound: float) -> Seen:
        """From the users who stand out between the edges, and beyond the last."""
        between = users[:, 0]
        noise = np.where(between > 0, sd * MEAN, 0.0)
        return cls(bound * MEAN * between, bound * np.hypot(noise, SD * between), users[:, 1] > 0)

    @classmethod
    def nobody(cls, n_groups: int) -> Seen:
        """Where nobody was looked for."""
        none = np.zeros(n_groups)
        return cls(none, none, none > 0)

    def untold(self, counts: Floats) -> NDArray[np.bool_]:
        """Groups that are not shown, where these are the counts with all that was lost."""
        return self.is_open | ((self.lost > 0) & (self.sds > MOST_UNSURE * counts))


def not_shown(groups: pa.Table, bound: float) -> tuple[str, ...]:
    """A word on groups that are not shown, first of all, if there are any."""
    rows: list[dict[str, Any]] = groups.slice(0, SHOWN_NAMES).to_pylist()
    names = [", ".join(repr(label(value)) for value in row.values()) for row in rows]
    if not names:
        return ()
    more = groups.num_rows - len(names)
    rest = f", and {more:,} more of the groups listed" if more else ""
    return (NOT_SHOWN.format(names="; ".join(names) + rest, bound=bound),)
