"""What the equal-error release asks about the data.

Every answer comes with how far one user can move it; the noise is calibrated to that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from headcount.privacy.bounds import Bounds
    from headcount.privacy.query import Query

    Integers = NDArray[np.int64]
    Positions = NDArray[np.intp]


class ClippedQueries(Protocol):
    """Users' weights in groups that are public, clipped."""

    def totals(self, value_bits: int) -> Query[Integers]:
        """By group; one user's vector has squared l2 norm ``clip * 4**value_bits`` at most."""
        ...

    def taken_away(
        self,
        second: Self,
        shares: tuple[Integers, Integers],
        classes: Integers,
        norm: int,
        edges: Sequence[float],
    ) -> Sequence[Query[Integers]]:
        """By class, what this clip and a second one took; a user's l2 norm is ``norm`` at most.

        And users by what that norm hides of them, in cells; one user adds one, to one cell.
        """
        ...


class KnownQueries(Protocol):
    """Sums over users for groups that are public; the numbers passed in are public too."""

    def only(self, places: Positions) -> Self:
        """The same about some of these groups, each by its place among ``places``."""
        ...

    def class_totals(self, values: Integers, classes: Integers, norm: int) -> Query[Integers]:
        """By class; one user's vector has l2 norm ``norm`` at most."""
        ...

    def clipped_share(
        self,
        *,
        weights: Integers,
        values: Integers,
        first_level: Integers,
        clips: tuple[int, ...],
        caps: Integers,
        unit_bits: int,
    ) -> Sequence[Query[Integers]]:
        """By candidate, a question a row of caps; a user adds 0 to ``2**unit_bits`` to each."""
        ...

    def users_by_loss(
        self,
        index: Integers,
        *,
        weights: Integers,
        values: Integers,
        clip: int,
        cap: int,
        edges: Sequence[float],
    ) -> Query[Integers]:
        """Users by what they would lose of these groups, in cells; one adds one, to one cell."""
        ...

    def far_beyond(self, edges: Sequence[int], bounds: Bounds) -> Query[Integers]:
        """By group, users with so many rows there, in cells, as in discovery of l2 norm 1."""
        ...

    def clipped(self, index: Integers, weights: Integers, clip: int) -> ClippedQueries:
        """Users of the groups at ``index``, whose weights are clipped to a squared norm."""
        ...


class PairQueries(Protocol):
    """Sums over users before any group is public."""

    def users_per_cell(self) -> Query[Integers]:
        """One user adds one, to one cell."""
        ...

    def users_per_rows_cell(self) -> Query[Integers]:
        """The same for rows per user: one user adds one, to one cell."""
        ...

    def largest(self, n: int) -> Query[Integers]:
        """The largest counts of users, each moved by one user by at most one.

        Positions refer to these groups from here on.
        """
        ...

    def discover(
        self, bounds: Bounds, draw: Callable[[Query[Integers]], tuple[Positions, Integers]]
    ) -> Integers:
        """What ``draw`` lets out of the totals of bounded weights, in an order of public names.

        Positions refer to these groups from here on.
        """
        ...

    def largest_others(self, n: int) -> Query[Integers]:
        """The largest counts of users of groups that positions do not refer to, 0 after the last.

        One user moves each by at most one.
        """
        ...

    def count_of_other(self, number: int) -> Query[Integers]:
        """The users of one of them that is public by now; one user adds one at most."""
        ...

    def take_in_largest(self, numbers: Sequence[int]) -> None:
        """Let positions refer to these too, after those of before."""
        ...

    def others(self) -> Self:
        """The same about the pairs of all groups but those that positions refer to by now."""
        ...

    def take_in(self, others: Self) -> None:
        """Let positions refer to the groups of ``others`` too, after those of before."""
        ...

    def known(self, order: Positions) -> KnownQueries:
        """Queries about the groups at these positions, which are public."""
        ...


class ListedQueries(Protocol):
    """Sums over users for groups that are listed; positions are those of the list."""

    @property
    def differences(self) -> Query[Integers]:
        """By group, twice its users less the users of any: one user moves each by one."""
        ...

    @property
    def users(self) -> Query[Integers]:
        """How many users are in any listed group."""
        ...

    def users_per_cell(self) -> Query[Integers]:
        """One user adds one, to one cell."""
        ...

    def weighed(self, bounds: Bounds) -> Query[Integers]:
        """By group, the bounded weights of its users."""
        ...

    def known(self) -> KnownQueries:
        """Queries about all groups of the list."""
        ...
