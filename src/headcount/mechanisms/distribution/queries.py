"""What learning a distribution asks about the data.

Every answer comes with how far one user can move it; the noise is calibrated to that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from headcount.privacy.bounds import Bounds
    from headcount.privacy.query import Query

    Integers = NDArray[np.int64]
    Positions = NDArray[np.intp]


class ResidualQueries(Protocol):
    """Users' weighted shares less one public centre."""

    def users_by_length(self) -> Query[Integers]:
        """By cell of ``privacy.lattice.length_edges``; one user is in at most one cell."""
        ...

    def users_beyond(self, first: int, n_edges: int, unit_bits: int) -> Query[Integers]:
        """By edge, longest first, ``2**unit_bits`` for every user who is longer."""
        ...

    def clipped(self, norm_squared: int) -> Query[Integers]:
        """By group; one user's squared l2 norm is at most ``norm_squared * 4**KEPT_BITS``.

        Without a centre no entry is negative.
        """
        ...

    def kept(self, norm_squared: int) -> Query[Integers]:
        """One number, to which one user adds from 0 to ``2**KEPT_BITS``."""
        ...


class ShareQueries(Protocol):
    """Sums over users for groups that are public; the numbers passed in are public too."""

    n_groups: int

    def n_users(self) -> Query[Integers]:
        """One number, to which one user adds one at most."""
        ...

    def users_by_samples(self, edges: Integers) -> Query[Integers]:
        """By cell of rows per user; one user is in at most one cell."""
        ...

    def floored_totals(self) -> Query[Integers]:
        """By group; one user adds no negative entry, and ``2**SHARE_BITS`` at most in all."""
        ...

    def counts_by_group(self, samples: int) -> Query[Integers]:
        """Users by group and number of samples; a user has one or more in ``samples`` groups."""
        ...

    def around(self, centre: Integers | None, weights: Integers | None) -> ResidualQueries:
        """Queries about residuals around a public centre, under public weights."""
        ...


class FoundQueries(Protocol):
    """Sums over users before any group is public."""

    def discover(
        self, bounds: Bounds, draw: Callable[[Query[Integers]], tuple[Positions, Integers]]
    ) -> Integers:
        """What ``draw`` lets out of the totals of bounded weights."""
        ...

    def shares(self) -> ShareQueries:
        """Queries about the groups that were discovered, and all others as one more."""
        ...
