"""What the equal-error release asks of the engine about groups that are public by now.

Weights and classes come from earlier, noisy answers: they are public, and go to the engine as
integers, so that every engine sums the same numbers. The claims are in ``proof.md``.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headcount.contributions import read
from headcount.contributions.clip import N_ROWS
from headcount.contributions.equal_error.levels import LEVEL, Levels, clipped_share, totals
from headcount.contributions.equal_error.norm_limits import SQUARE, NormLimits
from headcount.contributions.equal_error.vectors import (
    LOST,
    MARGIN,
    cells,
    clipped_sums,
    kept_share,
    sum_where,
    users_beyond,
    where,
)
from headcount.contributions.far import far_beyond
from headcount.contributions.groups import INDEX, USER
from headcount.contributions.store import Store
from headcount.privacy.query import Query, together
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables.engine import cast_always, double

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headcount.privacy.bounds import Bounds

FIRST, SECOND = "hc_norm_first", "hc_norm_second"
MAX_NORM_SQUARED = 1 << 62


class KnownPairs:
    """The pairs of public groups, each group by its number."""

    def __init__(self, pairs: Any, n_groups: int, store: Store, max_value: int = 1) -> None:
        self.pairs = pairs
        self.max_value = max_value
        self.n_groups = n_groups
        self.store = store
        self._norm_limits: NormLimits | None = None

    def with_numbers(self, pairs: Any, *per_row: str, **columns: NDArray[np.int64]) -> Any:
        """Pairs with public integers of their group beside them; groups without are left out.

        Those named in ``per_row`` are multiplied by the value of the pair.
        """
        numbers = pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})
        joined = pairs.inner_join(self.store.engine.relation(numbers), INDEX)
        if self.max_value == 1:
            return joined
        return joined.mutate(**{name: joined[name] * joined[N_ROWS] for name in per_row})

    def only(self, places: NDArray[np.intp]) -> KnownPairs:
        """Queries about some of these groups, by their place in ``places``."""
        chosen = self.store.engine.relation(
            pa.table({"hc_old": places.astype(np.int64), "hc_new": np.arange(len(places))})
        )
        joined = self.pairs.inner_join(chosen, self.pairs[INDEX] == chosen["hc_old"])
        also = () if self.max_value == 1 else (N_ROWS,)
        kept = joined.select(USER, *also, **{INDEX: joined["hc_new"]})
        return KnownPairs(self.store.keep(kept), len(places), self.store, self.max_value)

    def _n(self, pairs: Any) -> Any:
        """How many of what is counted there are in these pairs: users, or rows."""
        return cast_always(pairs.count() if self.max_value == 1 else pairs[N_ROWS].sum(), "int64")

    @cached_property
    def _true_counts(self) -> NDArray[np.int64]:
        counted = self.pairs.group_by(INDEX).agg(hc_n=self._n(self.pairs))
        return self._by_index(counted, 1)[:, 0]

    def _by_index(self, query: Any, n_columns: int) -> NDArray[np.int64]:
        true_values = np.zeros((self.n_groups, n_columns), np.int64)
        for index, *values in read.columns(self.store.engine, query):
            true_values[index] = np.stack(values, axis=1)
        return true_values

    def class_totals(
        self, values: NDArray[np.int64], classes: NDArray[np.int64], norm: int
    ) -> Query[NDArray[np.int64]]:
        """Sum of values over the pairs of each class; one user adds at most ``norm`` in l2 [E1]."""
        sensitivity = Sensitivity.of_norm(norm**2, int(classes.max()) + 1)
        return Query(sensitivity, partial(self._class_totals, values, classes, norm))

    def _class_totals(
        self, values: NDArray[np.int64], classes: NDArray[np.int64], norm: int
    ) -> NDArray[np.int64]:
        n_classes = int(classes.max()) + 1
        numbers = {INDEX: np.arange(self.n_groups), "hc_value": values, "hc_class": classes}
        joined = self.with_numbers(self.pairs, "hc_value", **numbers)
        value = joined["hc_value"].cast("float64")
        squared = joined.mutate(**{SQUARE: value * value})
        sums = {f"hc_{i}": sum_where(squared, "hc_value", i) for i in range(n_classes)}
        squares = {
            f"{SQUARE}_{i}": where(squared, SQUARE, i, double(0)).sum() for i in range(n_classes)
        }
        per_user = self.store.keep(squared.group_by(USER).agg(**sums, **squares))
        self._norm_limits = NormLimits(per_user, values, classes)
        entries = [per_user[f"hc_{i}"].cast("float64") for i in range(n_classes)]
        return read.one_row(self.store.engine, clipped_sums(per_user, entries, norm))

    def far_beyond(self, edges: Sequence[int], bounds: Bounds) -> Query[NDArray[np.int64]]:
        """Users with so many rows in a group, by group, between edges of cells."""
        return far_beyond(self.pairs, self.n_groups, edges, bounds, self.store.engine)

    def clipped(
        self, index: NDArray[np.int64], weights: NDArray[np.int64], clip: int
    ) -> ClippedPairs:
        """Users of each listed group, each worth the group's weight, at most ``clip`` in all."""
        if int(((weights.astype(object) * self.max_value) ** 2).sum()) > MAX_NORM_SQUARED:
            raise ValueError("the weights of one user could overflow")  # [E5]
        return ClippedPairs(self, index, weights, clip)

    def _totals_of(self, clipped: ClippedPairs, value_bits: int) -> NDArray[np.int64]:
        """The sums that :meth:`ClippedPairs.totals` asks for."""
        index, weights = clipped.index, clipped.weights
        some, heavy = clipped.weighted, clipped.heavy
        joined = some.inner_join(heavy, USER)
        shortened = joined["hc_w"].cast("float64") * kept_share(joined["hc_norm"], clipped.clip)
        value = (shortened * double(1 << value_bits) * double(MARGIN - 1) / double(MARGIN)).floor()
        placed = joined.mutate(hc_value=value.cast("int64"))
        summed = placed.group_by(INDEX).agg(
            hc_total=cast_always(placed["hc_value"].sum(), "int64"),
            hc_n=self._n(placed),
        )
        true_clipped = self._by_index(summed, 2)[index]
        true_whole = self._true_counts[index] - true_clipped[:, 1]
        true_totals: NDArray[np.int64] = (true_whole * weights << value_bits) + true_clipped[:, 0]
        return true_totals

    def _taken_away(
        self,
        rounds: tuple[ClippedPairs, ClippedPairs],
        shares: tuple[NDArray[np.int64], NDArray[np.int64]],
        classes: NDArray[np.int64],
        norm: int,
        edges: Sequence[float],
    ) -> list[NDArray[np.int64]]:
        """The sums that :meth:`ClippedPairs.taken_away` asks for."""
        n_classes = int(classes.max()) + 1
        first, second = (one.heavy for one in rounds)
        numbers = {
            INDEX: rounds[0].index,
            "hc_a": shares[0],
            "hc_b": shares[1],
            "hc_class": classes,
        }
        heavy = first.select(USER).union(second.select(USER), distinct=True)
        joined = self.with_numbers(self._of(heavy), "hc_a", "hc_b", **numbers)
        sums = {
            f"hc_{letter}_{i}": sum_where(joined, f"hc_{letter}", i)
            for letter in "ab"
            for i in range(n_classes)
        }
        per_user = joined.group_by(USER).agg(**sums)
        per_user = per_user.left_join(first.select(USER, **{FIRST: first["hc_norm"]}), USER)
        per_user = per_user.drop(f"{USER}_right")
        per_user = self.store.keep(
            per_user.left_join(second.select(USER, **{SECOND: second["hc_norm"]}), USER)
        )
        lost_first, lost_second = (
            double(1) - kept_share(per_user[norm], one.clip).fill_null(double(1))
            for norm, one in zip((FIRST, SECOND), rounds, strict=True)
        )
        entries = [
            per_user[f"hc_a_{i}"].cast("float64") * lost_first
            + per_user[f"hc_b_{i}"].cast("float64") * lost_second
            for i in range(n_classes)
        ]
        return [
            read.one_row(self.store.engine, clipped_sums(per_user, entries, norm)),
            read.one_row(self.store.engine, users_beyond(per_user, entries, norm, edges)),
        ]

    def beyond(self, index: NDArray[np.int64], weights: NDArray[np.int64], clip: int) -> Any:
        """Pairs of all users whose squared norm is above the clip, and perhaps of others."""
        if self._norm_limits is None:
            return self.pairs
        return self._of(self._norm_limits.beyond(index, weights, clip))

    def _of(self, users: Any) -> Any:
        """Pairs of a few users, kept: engines that see it all at once join the many first."""
        return self.store.keep(self.pairs.semi_join(users, USER))

    def clipped_share(
        self,
        *,
        weights: NDArray[np.int64],
        values: NDArray[np.int64],
        first_level: NDArray[np.int64],
        clips: tuple[int, ...],
        caps: NDArray[np.int64],
        unit_bits: int,
    ) -> tuple[Query[NDArray[np.int64]], ...]:
        """What candidates would clip off, by row of caps; a user adds one unit at most [E3]."""
        levels = Levels(weights, values, first_level, clips, caps, unit_bits)
        return clipped_share(partial(self._leveled, levels), self.store, levels)

    def users_by_loss(
        self,
        index: NDArray[np.int64],
        *,
        weights: NDArray[np.int64],
        values: NDArray[np.int64],
        clip: int,
        cap: int,
        edges: Sequence[float],
    ) -> Query[NDArray[np.int64]]:
        """Users by what a clip would take of these groups, in caps; a user is in one cell [E6]."""
        numbers = {INDEX: index, "hc_w": weights[index], "hc_v": values[index]}
        ask = partial(self._users_by_loss, numbers, clip, cap, edges)
        return Query(Sensitivity.of_entries(1), ask)

    def _users_by_loss(
        self, numbers: dict[str, NDArray[np.int64]], clip: int, cap: int, edges: Sequence[float]
    ) -> NDArray[np.int64]:
        beyond = self.beyond(numbers[INDEX], numbers["hc_w"], clip)
        users = totals(self.with_numbers(beyond, "hc_w", "hc_v", **numbers))
        users = users.filter(users["hc_norm"] > clip)
        lost = users["hc_sum"].cast("float64") * (double(1) - kept_share(users["hc_norm"], clip))
        counted = cells(users.select(**{LOST: lost / double(cap)}), edges)
        return read.one_row(self.store.engine, counted)

    def _leveled(self, levels: Levels) -> Any:
        """Pairs of all who may lose something at a candidate, with weights and levels."""
        weights = levels.weights
        index = np.arange(self.n_groups)
        numbers = {
            INDEX: index, "hc_w": weights, "hc_v": levels.values, LEVEL: levels.first_level
        }  # fmt: skip
        beyond = self.beyond(index, weights, levels.least_clip)
        return self.with_numbers(beyond, "hc_w", "hc_v", **numbers)


class ClippedPairs:
    """The pairs of some groups under public weights, and the users who are above a clip.

    One user's weights are shortened to a squared l2 norm of ``clip`` [E2]. Only users beyond it
    are looked at pair by pair: the others add the weight itself, so counting does.
    """

    def __init__(
        self,
        known: KnownPairs,
        index: NDArray[np.int64],
        weights: NDArray[np.int64],
        clip: int,
    ) -> None:
        self._known = known
        self.index, self.weights, self.clip = index, weights, clip

    @cached_property
    def weighted(self) -> Any:
        """Pairs of those who may be above the clip, with the weights of their groups."""
        pairs = self._known.beyond(self.index, self.weights, self.clip)
        numbers = {INDEX: self.index, "hc_w": self.weights}
        return self._known.with_numbers(pairs, "hc_w", **numbers)

    @cached_property
    def heavy(self) -> Any:
        """The users above the clip, with their squared norms; kept, since it is read again."""
        some = self.weighted
        norm = cast_always((some["hc_w"] * some["hc_w"]).sum(), "int64")
        norms = some.group_by(USER).agg(hc_norm=norm)
        return self._known.store.keep(norms.filter(norms["hc_norm"] > self.clip))

    def totals(self, value_bits: int) -> Query[NDArray[np.int64]]:
        """By group, in units of ``2**-value_bits`` of its weight."""
        sensitivity = Sensitivity.of_norm(self.clip << 2 * value_bits, len(self.index))
        return Query(sensitivity, partial(self._known._totals_of, self, value_bits))

    def taken_away(
        self,
        second: ClippedPairs,
        shares: tuple[NDArray[np.int64], NDArray[np.int64]],
        classes: NDArray[np.int64],
        norm: int,
        edges: Sequence[float],
    ) -> tuple[Query[NDArray[np.int64]], ...]:
        """What this clip and a second one took, in shares of the rows, summed by class [E1].

        And how many users had more taken than the norm lets them say, by how much more [E6].
        """
        sensitivity = Sensitivity.of_norm(norm**2, int(classes.max()) + 1)
        one_cell = Sensitivity.of_entries(1)
        ask = partial(self._known._taken_away, (self, second), shares, classes, norm, edges)
        return together([sensitivity, one_cell], ask)
