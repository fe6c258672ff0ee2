"""What the learning of a distribution asks of the engine: users' shares, around a public centre.

A user's row of shares is never written out: groups a user has no rows in add the centre alone, in
closed form, so every query touches the groups users do have. ``proof.md`` proves what each
answer promises.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headcount.contributions import read
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
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.query import Query
from headcount.privacy.sensitivity import Sensitivity
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

    def __init__(
        self,
        counted: Any,
        n_groups: int,
        store: Store,
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> None:
        """``counted`` has one row per user and group, with the number of rows."""
        self.n_groups = n_groups
        self.neighbours = neighbours
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

    def n_users(self) -> Query[Integers]:
        """How many users have rows in the groups: one number, to which a user adds one [D1]."""
        users = self._totals
        counted = users.agg(hc_users=cast_always(users.count(), "int64"))
        return Query(
            Sensitivity.of_sum(1, self.neighbours),
            partial(read.one_row, self._store.engine, counted),
        )

    def users_by_samples(self, edges: Integers) -> Query[Integers]:
        """How many users have at most so many rows and more than the edge before [D1]."""
        return self.cells(self._totals, _placed(self._totals[N_ALL], edges), len(edges) + 1)

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

    def counts_by_group(self, samples: int) -> Query[Integers]:
        """How many users have how many of ``samples`` rows in a group, scaled down to that [D4].

        One row per group, columns 0 to ``samples``; column 0 is left at zero.
        """
        users = 2 if self.neighbours is Neighbours.REPLACE else 1
        one_each = Sensitivity.of_entries(users * samples, 1, self.neighbours)
        return Query(one_each, partial(self._counts_by_group, samples))

    def _counts_by_group(self, samples: int) -> Integers:
        joined = self._counted.inner_join(self._totals, USER)
        scaled = floor_ratio(joined[N_ROWS] * samples, joined[N_ALL])
        placed = joined.select(INDEX, hc_value=scaled).filter(lambda t: t["hc_value"] > 0)
        counted = placed.group_by([INDEX, "hc_value"]).agg(
            hc_users=cast_always(placed.count(), "int64")
        )
        true_users = np.zeros((self.n_groups, samples + 1), np.int64)
        for index, value, users in read.columns(self._store.engine, counted):
            true_users[index, value] = users
        return true_users

    def floored_totals(self) -> Query[Integers]:
        """By group, users' shares rounded down; one user adds at most one in l1 [D3]."""
        one = Fraction(1 << SHARE_BITS)
        whole = Sensitivity(self.n_groups, one, one**2, one).under(self.neighbours)
        return Query(whole, self._floored_totals)

    def _floored_totals(self) -> Integers:
        joined = self._counted.inner_join(self._totals, USER)
        share = floor_ratio(joined[N_ROWS] * (1 << SHARE_BITS), joined[N_ALL])
        placed = joined.select(INDEX, **{SHARE: share})
        summed = placed.group_by(INDEX).agg(hc_total=cast_always(placed[SHARE].sum(), "int64"))
        return read.by_place(self._store.engine, summed, self.n_groups)

    def _public(self, columns: dict[str, Integers]) -> Any:
        index = pa.array(np.arange(self.n_groups), pa.int64())
        numbers = {name: pa.array(values, pa.int64()) for name, values in columns.items()}
        return self._store.engine.relation(pa.table({INDEX: index, **numbers}))

    def cells(self, users: Any, cell: Any, n_cells: int) -> Query[Integers]:
        """How many users are in each cell; a user is in one."""
        placed = users.select(hc_cell=cell)
        counted = placed.group_by("hc_cell").agg(hc_users=cast_always(placed.count(), "int64"))
        ask = partial(read.by_place, self._store.engine, counted, n_cells)
        return Query(Sensitivity.of_cell(self.neighbours), ask)


class Residuals:
    """Users' weighted shares less one centre: how long they are, and their clipped sums."""

    def __init__(
        self, shares: UserShares, values: Any, centre: Integers | None, store: Store
    ) -> None:
        self._shares = shares
        self._store = store
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

    def users_by_length(self) -> Query[Integers]:
        """How many users have a squared length in each cell; a user is in one [D1]."""
        n_cells = len(length_edges()) + 1
        return self._shares.cells(self._norms, _length_cell(self._norms[NORM]), n_cells)

    def users_beyond(self, first: int, n_edges: int, unit_bits: int) -> Query[Integers]:
        """How many users are longer than each of so many edges, from ``first`` on, longest first.

        In units of ``2**unit_bits``. A user who comes, goes or gets longer moves all of these
        numbers the same way, or not at all [D1].
        """
        relation, unit = self._shares.neighbours, 1 << unit_bits
        one_unit = Sensitivity.of_entries(n_edges, unit, relation, one_way=True)
        return Query(one_unit, partial(self._users_beyond, first, n_edges, unit_bits))

    def _users_beyond(self, first: int, n_edges: int, unit_bits: int) -> Integers:
        true_users = self.users_by_length().ask()
        true_longer = np.cumsum(true_users[::-1])[::-1][first + 1 :][:n_edges][::-1]
        return true_longer << unit_bits

    def clipped(self, norm_squared: int) -> Query[Integers]:
        """By group, residuals shortened to this squared length, in units of ``2**-KEPT_BITS`` [D2].

        One user adds at most ``norm_squared * 4**KEPT_BITS`` in squared l2; users who replace
        each other are twice that apart, or around a centre four times, since residuals have signs.
        """
        squared, relation = norm_squared << 2 * KEPT_BITS, self._shares.neighbours
        if relation is Neighbours.REPLACE:
            squared *= 2 if self._centre is None else 4
        n_groups, longest = self._shares.n_groups, math.isqrt(squared) + 1
        distance = Sensitivity(
            l0=n_groups,
            l1=Fraction(longest * n_groups),
            l2_squared=Fraction(squared),
            linf=Fraction(longest),
            neighbours=relation,
        )
        return Query(distance, partial(self._clipped, norm_squared))

    def _clipped(self, norm_squared: int) -> Integers:
        users = self._kept_users(norm_squared)
        rows = self._values.inner_join(users, USER)
        # A share and a kept part make at most 31 bits: no sum of users overflows [D5].
        placed = rows.select(INDEX, hc_value=rows[SHARE] * rows[KEPT])
        summed = placed.group_by(INDEX).agg(hc_total=cast_always(placed["hc_value"].sum(), "int64"))
        true_totals = read.by_place(self._store.engine, summed, self._shares.n_groups)
        if self._centre is not None:
            true_totals = true_totals - self._centre * self._kept(norm_squared)[0]
        return true_totals

    def kept(self, norm_squared: int) -> Query[Integers]:
        """What of all users is kept: one number, to which a user adds ``2**KEPT_BITS`` at most."""
        whole = Sensitivity.of_sum(1 << KEPT_BITS, self._shares.neighbours)
        return Query(whole, partial(self._kept, norm_squared))

    def _kept(self, norm_squared: int) -> Integers:
        users = self._kept_users(norm_squared)
        summed = users.agg(hc_kept=cast_always(users[KEPT].sum(), "int64"))
        return read.one_row(self._store.engine, summed)

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
