"""What the equal-error release needs to be told about the data, and what each answer promises.

The promises are what the noise is calibrated to: whoever answers keeps them for every table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from headcount.privacy.bounds import Bounds

    Integers = NDArray[np.int64]
    Positions = NDArray[np.intp]


class KnownQueries(Protocol):
    """Sums over users for groups that are public; the numbers passed in are public too."""

    def class_totals(self, values: Integers, classes: Integers, norm: int) -> Integers:
        """By class; one user's vector has l2 norm ``norm`` at most."""
        ...

    def clipped_share(
        self,
        *,
        weights: Integers,
        first_level: Integers,
        clip: int,
        caps: Integers,
        lower_clips: tuple[int, ...],
        unit_bits: int,
    ) -> Integers:
        """By row of caps and candidate; one user adds from 0 to ``2**unit_bits`` to each."""
        ...

    def clipped_totals(
        self, index: Integers, weights: Integers, clip: int, value_bits: int
    ) -> Integers:
        """By group; one user's vector has squared l2 norm ``clip * 4**value_bits`` at most."""
        ...

    def clipped_off(
        self, index: Integers, shares: tuple[Integers, Integers], classes: Integers, norm: int
    ) -> Integers:
        """By class, of the last two ``clipped_totals``; one user's l2 norm is at most ``norm``."""
        ...


class PairQueries(Protocol):
    """Sums over users before any group is public."""

    def users_per_cell(self) -> Integers:
        """One user adds one, to one cell."""
        ...

    def users_per_rows_cell(self) -> Integers:
        """The same for rows per user: one user adds one, to one cell."""
        ...

    def largest(self, n: int) -> Integers:
        """The largest counts of users, each moved by one user by at most one.

        Positions refer to these groups from here on.
        """
        ...

    def discover(
        self, bounds: Bounds, draw: Callable[[Integers], tuple[Positions, Integers]]
    ) -> Integers:
        """What ``draw`` lets out of the totals of bounded weights, in an order of public names.

        Positions refer to these groups from here on.
        """
        ...

    def known(self, order: Positions) -> KnownQueries:
        """Queries about the groups at these positions, which are public."""
        ...
