"""What the equal-error release asks of the engine about groups that are public by now.

Weights and classes come from earlier, noisy answers: they are public, and go to the engine as
integers, so that every engine sums the same numbers. The claims are in ``equal_error.md``.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headcount.contributions.clip import N_ROWS
from headcount.contributions.equal_error_reach import SQUARE, Reach
from headcount.contributions.groups import INDEX, USER
from headcount.contributions.store import Store
from headcount.tables.engine import cast_always, double

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MARGIN = 1 << 48
FIRST, SECOND = "hc_norm_first", "hc_norm_second"
MAX_NORM_SQUARED = 1 << 62


class KnownPairs:
    """The pairs of public groups, each group by its number."""

    def __init__(self, pairs: Any, n_groups: int, store: Store, max_value: int = 1) -> None:
        self.pairs = pairs
        self.max_value = max_value
        self.n_groups = n_groups
        self.store = store
        self._norms: list[tuple[Any, int]] = []
        self._reach: Reach | None = None

    def with_numbers(self, pairs: Any, *per_row: str, **columns: NDArray[np.int64]) -> Any:
        """Pairs with public integers of their group beside them; groups without are left out.

        Those named in ``per_row`` are multiplied by the value of the pair.
        """
        numbers = pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})
        joined = pairs.inner_join(self.store.engine.relation(numbers), INDEX)
        if self.max_value == 1:
            return joined
        return joined.mutate(**{name: joined[name] * joined[N_ROWS] for name in per_row})

    def _n(self, pairs: Any) -> Any:
        """How many of what is counted there are in these pairs: users, or rows."""
        return cast_always(pairs.count() if self.max_value == 1 else pairs[N_ROWS].sum(), "int64")

    @cached_property
    def _true_counts(self) -> NDArray[np.int64]:
        counted = self.pairs.group_by(INDEX).agg(hc_n=self._n(self.pairs))
        return self._by_index(counted, 1)[:, 0]

    def _by_index(self, query: Any, n_columns: int) -> NDArray[np.int64]:
        true_values = np.zeros((self.n_groups, n_columns), np.int64)
        schema = pa.schema([(name, pa.int64()) for name in query.columns])
        for batch in self.store.engine.stream(query, schema):
            index = batch.column(0).to_numpy()
            for column in range(n_columns):
                true_values[index, column] = batch.column(column + 1).to_numpy()
        return true_values

    def class_totals(
        self, values: NDArray[np.int64], classes: NDArray[np.int64], norm: int
    ) -> NDArray[np.int64]:
        """Sum of values over the pairs of each class; one user adds at most ``norm`` in l2 [E1]."""
        n_classes = int(classes.max()) + 1
        numbers = {INDEX: np.arange(self.n_groups), "hc_value": values, "hc_class": classes}
        joined = self.with_numbers(self.pairs, "hc_value", **numbers)
        value = joined["hc_value"].cast("float64")
        squared = joined.mutate(**{SQUARE: value * value})
        sums = {f"hc_{i}": _sum_where(squared, "hc_value", i) for i in range(n_classes)}
        squares = {
            f"{SQUARE}_{i}": _where(squared, SQUARE, i, double(0)).sum() for i in range(n_classes)
        }
        per_user = self.store.keep(squared.group_by(USER).agg(**sums, **squares))
        self._reach = Reach(per_user, values, classes)
        entries = [per_user[f"hc_{i}"].cast("float64") for i in range(n_classes)]
        return self._clipped_sums(per_user, entries, norm)

    def _clipped_sums(self, per_user: Any, entries: Sequence[Any], norm: int) -> NDArray[np.int64]:
        """Sums over users of non-negative vectors, each shortened to ``norm`` and floored [E1]."""
        import ibis

        vectors = per_user.select(**{f"hc_{i}": entry for i, entry in enumerate(entries)})
        squares = [vectors[name] * vectors[name] for name in vectors.columns]
        vectors = vectors.mutate(hc_length=sum(squares[1:], squares[0]).sqrt())
        longest = ibis.greatest(vectors["hc_length"], double(norm))
        ratio = double(norm) / longest * double(MARGIN - 1) / double(MARGIN)
        true_sums = vectors.agg(
            **{
                f"hc_sum_{i}": cast_always(
                    (vectors[f"hc_{i}"] * ratio).floor().cast("int64").sum(), "int64"
                )
                for i in range(len(entries))
            }
        )
        schema = pa.schema([(name, pa.int64()) for name in true_sums.columns])
        rows = [batch for batch in self.store.engine.stream(true_sums, schema) if batch.num_rows]
        return np.array([column[0].as_py() or 0 for column in rows[0].columns], np.int64)

    def clipped_totals(
        self, index: NDArray[np.int64], weights: NDArray[np.int64], clip: int, value_bits: int
    ) -> NDArray[np.int64]:
        """Users of each listed group, each worth the group's weight, in units of 2**-value_bits.

        One user's weights are shortened to a squared l2 norm of ``clip`` [E2]. Only users beyond
        it are looked at pair by pair: the others add the weight itself, so counting does.
        """
        if int(((weights.astype(object) * self.max_value) ** 2).sum()) > MAX_NORM_SQUARED:
            raise ValueError("the weights of one user could overflow")
        pairs = self.beyond(index, weights, clip)
        some = self.with_numbers(pairs, "hc_w", **{INDEX: index, "hc_w": weights})
        norms = some.group_by(USER).agg(
            hc_norm=cast_always((some["hc_w"] * some["hc_w"]).sum(), "int64")
        )
        heavy = self.store.keep(norms.filter(norms["hc_norm"] > clip))
        self._norms.append((heavy, clip))
        clipped = some.inner_join(heavy, USER)
        shortened = clipped["hc_w"].cast("float64") * _kept_share(clipped["hc_norm"], clip)
        value = (shortened * double(1 << value_bits) * double(MARGIN - 1) / double(MARGIN)).floor()
        placed = clipped.mutate(hc_value=value.cast("int64"))
        summed = placed.group_by(INDEX).agg(
            hc_total=cast_always(placed["hc_value"].sum(), "int64"),
            hc_n=self._n(placed),
        )
        true_clipped = self._by_index(summed, 2)[index]
        true_whole = self._true_counts[index] - true_clipped[:, 1]
        true_totals: NDArray[np.int64] = (true_whole * weights << value_bits) + true_clipped[:, 0]
        return true_totals

    def beyond(self, index: NDArray[np.int64], weights: NDArray[np.int64], clip: int) -> Any:
        """Pairs of all users whose squared norm is above the clip, and perhaps of others."""
        if self._reach is None:
            return self.pairs
        return self._of(self._reach.beyond(index, weights, clip))

    def _of(self, users: Any) -> Any:
        """Pairs of a few users, kept: engines that see it all at once join the many first."""
        return self.store.keep(self.pairs.semi_join(users, USER))

    def clipped_off(
        self,
        index: NDArray[np.int64],
        shares: tuple[NDArray[np.int64], NDArray[np.int64]],
        classes: NDArray[np.int64],
        norm: int,
    ) -> NDArray[np.int64]:
        """What the last two clips took away, in shares of the rows, summed by class [E1]."""
        n_classes = int(classes.max()) + 1
        (first, first_clip), (second, second_clip) = self._norms[-2:]
        numbers = {INDEX: index, "hc_a": shares[0], "hc_b": shares[1], "hc_class": classes}
        heavy = first.select(USER).union(second.select(USER), distinct=True)
        joined = self.with_numbers(self._of(heavy), "hc_a", "hc_b", **numbers)
        sums = {
            f"hc_{letter}_{i}": _sum_where(joined, f"hc_{letter}", i)
            for letter in "ab"
            for i in range(n_classes)
        }
        per_user = joined.group_by(USER).agg(**sums)
        per_user = per_user.left_join(first.select(USER, **{FIRST: first["hc_norm"]}), USER)
        per_user = per_user.drop(f"{USER}_right")
        per_user = per_user.left_join(second.select(USER, **{SECOND: second["hc_norm"]}), USER)
        lost_first = double(1) - _kept_share(per_user[FIRST], first_clip).fill_null(double(1))
        lost_second = double(1) - _kept_share(per_user[SECOND], second_clip).fill_null(double(1))
        entries = [
            per_user[f"hc_a_{i}"].cast("float64") * lost_first
            + per_user[f"hc_b_{i}"].cast("float64") * lost_second
            for i in range(n_classes)
        ]
        return self._clipped_sums(per_user, entries, norm)

    def clipped_share(
        self,
        *,
        weights: NDArray[np.int64],
        first_level: NDArray[np.int64],
        clip: int,
        caps: NDArray[np.int64],
        lower_clips: tuple[int, ...],
        unit_bits: int,
    ) -> NDArray[np.int64]:
        """What candidates would clip off, by row of caps; a user adds one unit at most [E3]."""
        from headcount.contributions.equal_error_levels import Levels, clipped_share

        levels = Levels(weights, first_level, clip, caps, lower_clips, unit_bits)
        return clipped_share(self, levels)


def _where(joined: Any, name: str, number: int, otherwise: Any) -> Any:
    import ibis

    return ibis.cases((joined["hc_class"] == number, joined[name]), else_=otherwise)


def _sum_where(joined: Any, name: str, number: int) -> Any:
    return cast_always(_where(joined, name, number, 0).sum(), "int64")


def _kept_share(norm: Any, clip: int) -> Any:
    """``sqrt(clip / norm)``, below 1 for the users it is asked of."""
    return (double(clip) / norm.cast("float64")).sqrt()
