"""What the learning of a distribution asks of the engine: users' shares, around a public centre.

A user's row of shares is never written out: groups a user has no rows in add the centre alone, in
closed form, so every query touches the groups users do have. ``distribution.md`` proves what each
answer promises.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headcount.contributions.arithmetic import floor_ratio
from headcount.contributions.groups import INDEX, USER
from headcount.privacy.lattice import (
    FIRST_OCTAVE,
    KEPT_BITS,
    LAST_OCTAVE,
    PER_OCTAVE,
    SHARE_BITS,
    WEIGHT_BITS,
    length_edges,
)
from headcount.tables.engine import cast_always, double

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headcount.contributions.store import Store

    Integers = NDArray[np.int64]

N_ROWS = "hc_n_rows"
N_ALL = "hc_n_all"
SHARE = "hc_share"
CENTRE = "hc_centre"
WEIGHT = "hc_weight"
NORM = "hc_norm"
KEPT = "hc_kept"

MAX_ROWS = 1 << 20
MARGIN = 1 << 49


class UserShares:
    """The shares of users in public groups, kept in the engine while a release runs."""

    def __init__(self, counted: Any, n_groups: int, store: Store) -> None:
        """``counted`` has one row per user and group, with the number of rows."""
        self.n_groups = n_groups
        self._store = store
        self._counted = store.keep(counted)
        rows = self._counted
        totals = store.keep(
            rows.group_by(USER).agg(**{N_ALL: cast_always(rows[N_ROWS].sum(), "int64")})
        )
        joined = rows.inner_join(totals, USER)
        ratio = (
            joined[N_ROWS].cast("float64") * double(1 << SHARE_BITS) / joined[N_ALL].cast("float64")
        )
        share = (ratio + double(0.5)).floor().cast("int64")
        self._totals = totals
        self._shares = store.keep(joined.select(USER, INDEX, **{SHARE: share}))

    def n_users(self) -> Integers:
        """How many users have rows in the groups: one number, to which a user adds one [D1]."""
        users = self._totals
        return self._numbers(users.agg(hc_users=cast_always(users.count(), "int64")))

    def users_by_samples(self, edges: Integers) -> Integers:
        """How many users have at most so many rows and more than the edge before [D1]."""
        return self._cells(self._totals, _placed(self._totals[N_ALL], edges), len(edges) + 1)

    def around(self, centre: Integers | None, weights: Integers | None) -> Residuals:
        """Users' shares less a public centre, times public weights; all of it in integers.

        centre:   for each group, in units of ``2**-SHARE_BITS`` after the weight
        weights:  for each group, in units of ``2**-WEIGHT_BITS``, at most one
        """
        if centre is None and weights is None:
            return Residuals(self, self._shares, None, self._store)
        every = np.arange(self.n_groups)
        public = {
            CENTRE: np.zeros_like(every) if centre is None else centre,
            WEIGHT: np.full_like(every, 1 << WEIGHT_BITS) if weights is None else weights,
        }
        rows = self._shares.inner_join(self._public(public), INDEX)
        product = (rows[SHARE] * rows[WEIGHT]).cast("float64")
        weighted = (product / double(1 << WEIGHT_BITS) + double(0.5)).floor().cast("int64")
        values = rows.select(USER, INDEX, CENTRE, **{SHARE: weighted})
        return Residuals(self, self._store.keep(values), centre, self._store)

    def counts_by_group(self, samples: int) -> Integers:
        """How many users have how many of ``samples`` rows in a group, scaled down to that [D4].

        One row per group, columns 0 to ``samples``; column 0 is left at zero.
        """
        joined = self._counted.inner_join(self._totals, USER)
        scaled = floor_ratio(joined[N_ROWS] * samples, joined[N_ALL])
        placed = joined.select(INDEX, hc_value=scaled).filter(lambda t: t["hc_value"] > 0)
        counted = placed.group_by([INDEX, "hc_value"]).agg(
            hc_users=cast_always(placed.count(), "int64")
        )
        true_users = np.zeros((self.n_groups, samples + 1), np.int64)
        for index, value, users in self._stream(counted):
            true_users[index, value] = users
        return true_users

    def floored_totals(self) -> Integers:
        """By group, users' shares rounded down; one user adds at most one in l1 [D3]."""
        joined = self._counted.inner_join(self._totals, USER)
        share = floor_ratio(joined[N_ROWS] * (1 << SHARE_BITS), joined[N_ALL])
        placed = joined.select(INDEX, **{SHARE: share})
        return self._by_group(
            placed.group_by(INDEX).agg(hc_total=cast_always(placed[SHARE].sum(), "int64"))
        )

    def _public(self, columns: dict[str, Integers]) -> Any:
        index = pa.array(np.arange(self.n_groups), pa.int64())
        numbers = {name: pa.array(values, pa.int64()) for name, values in columns.items()}
        return self._store.engine.relation(pa.table({INDEX: index, **numbers}))

    def _stream(self, query: Any) -> Iterable[tuple[Integers, ...]]:
        schema = pa.schema([(name, pa.int64()) for name in query.columns])
        for batch in self._store.engine.stream(query, schema):
            yield tuple(column.to_numpy() for column in batch.columns)

    def _by_group(self, query: Any) -> Integers:
        true_totals = np.zeros(self.n_groups, np.int64)
        for index, totals in self._stream(query):
            true_totals[index] = totals
        return true_totals

    def _numbers(self, query: Any) -> Integers:
        schema = pa.schema([(name, pa.int64()) for name in query.columns])
        rows = [b for b in self._store.engine.stream(query, schema) if b.num_rows]
        return np.array([column[0].as_py() or 0 for column in rows[0].columns], np.int64)

    def _cells(self, users: Any, cell: Any, n_cells: int) -> Integers:
        placed = users.select(hc_cell=cell)
        counted = placed.group_by("hc_cell").agg(hc_users=cast_always(placed.count(), "int64"))
        true_users = np.zeros(n_cells, np.int64)
        for cells, n_each in self._stream(counted):
            true_users[cells] = n_each
        return true_users


class Residuals:
    """Users' weighted shares less one centre: how long they are, and their clipped sums."""

    def __init__(
        self, shares: UserShares, values: Any, centre: Integers | None, store: Store
    ) -> None:
        self._shares = shares
        self._values = values
        self._centre = centre
        share = values[SHARE]
        square, constant = share * share, 0
        if centre is not None:
            square = share * (share - 2 * values[CENTRE])
            constant = int((centre.astype(object) ** 2).sum())
            if constant > 1 << 2 * SHARE_BITS + 1:
                raise ValueError("a centre is no longer than a user's shares can be")
        norm = cast_always(square.sum(), "int64") + constant
        self._norms = store.keep(values.group_by(USER).agg(**{NORM: norm}))

    def users_by_length(self) -> Integers:
        """How many users have a squared length in each cell; a user is in one [D1]."""
        n_cells = len(length_edges()) + 1
        return self._shares._cells(self._norms, _length_cell(self._norms[NORM]), n_cells)

    def clipped(self, norm_squared: int) -> Integers:
        """By group, residuals shortened to this squared length, in units of ``2**-KEPT_BITS`` [D2].

        One user adds at most ``norm_squared * 4**KEPT_BITS`` in squared l2.
        """
        users = self._kept_users(norm_squared)
        rows = self._values.inner_join(users, USER)
        placed = rows.select(INDEX, hc_value=rows[SHARE] * rows[KEPT])
        summed = placed.group_by(INDEX).agg(hc_total=cast_always(placed["hc_value"].sum(), "int64"))
        true_totals = self._shares._by_group(summed)
        if self._centre is not None:
            true_totals = true_totals - self._centre * self.kept(norm_squared)[0]
        return true_totals

    def kept(self, norm_squared: int) -> Integers:
        """What of all users is kept: one number, to which a user adds ``2**KEPT_BITS`` at most."""
        users = self._kept_users(norm_squared)
        return self._shares._numbers(users.agg(hc_kept=cast_always(users[KEPT].sum(), "int64")))

    def _kept_users(self, norm_squared: int) -> Any:
        import ibis

        norms = self._norms
        whole = ibis.literal(1 << KEPT_BITS, "int64")
        ratio = (double(norm_squared) / norms[NORM].cast("float64")).sqrt()
        short = ratio * double(1 << KEPT_BITS) * (double(MARGIN - 1) / double(MARGIN))
        kept = ibis.cases((norms[NORM] <= norm_squared, whole), else_=short.floor().cast("int64"))
        return norms.select(USER, **{KEPT: kept})


def _length_cell(norm: Any) -> Any:
    """The number of edges at or below a squared length; powers of two, so exact in doubles."""
    import ibis

    octaves = range(FIRST_OCTAVE, LAST_OCTAVE + 1)
    first = ibis.cases(
        (norm < 1 << FIRST_OCTAVE, ibis.literal(0, "int64")),
        *(
            (norm < 1 << octave + 1, ibis.literal((i * PER_OCTAVE) - PER_OCTAVE + 1, "int64"))
            for i, octave in enumerate(octaves)
        ),
        else_=ibis.literal(len(octaves) * PER_OCTAVE, "int64"),
    )
    unit = ibis.cases(
        *((norm < 1 << octave + 1, double(1 << octave - 3)) for octave in octaves),
        else_=double(1),
    )
    inside = (norm >= 1 << FIRST_OCTAVE) & (norm < 1 << LAST_OCTAVE + 1)
    part = (norm.cast("float64") / unit).floor().cast("int64")
    return first + ibis.cases((inside, part), else_=ibis.literal(0, "int64"))


def _placed(value: Any, edges: Sequence[int] | Integers) -> Any:
    import ibis

    return ibis.cases(
        *((value <= int(edge), ibis.literal(i, "int64")) for i, edge in enumerate(edges)),
        else_=ibis.literal(len(edges), "int64"),
    )
