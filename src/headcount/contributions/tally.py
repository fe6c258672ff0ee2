"""The true tally: one row per group, summed by the engine, streamed in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from headcount.contributions.bounded import VALUE, BoundedContributions
from headcount.contributions.group_totals import GroupTotals
from headcount.contributions.groups import INDEX, TOTAL
from headcount.contributions.listed import arrow_type
from headcount.privacy.bounds import Bounds
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.sensitivity import NO_BOUND, Sensitivity
from headcount.tables.engine import cast_always

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, repr=False, eq=False)
class Tally:
    """What all users together give to each group, in lattice units, before any noise.

    With a public list there is one row for every listed group, also for those nobody is in.
    Totals are sums of integers, so they do not depend on the order of the rows [T1].
    """

    contributions: BoundedContributions
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    """The relation that the totals are asked under; no contribution is negative."""

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one user can move the totals."""
        return self.contributions.sensitivity.under(self.neighbours, self.n_listed or NO_BOUND)

    @property
    def bounds(self) -> Bounds | None:
        """The bounds on groups per user, when users were counted."""
        return self.contributions.bounds

    @property
    def lattice_bits(self) -> int:
        """A total of ``2**lattice_bits`` is one user, or one row."""
        return self.contributions.lattice_bits

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of the group columns."""
        return self.contributions.group_names

    @property
    def n_listed(self) -> int | None:
        """How many groups the public list has, when there is one."""
        listed = self.contributions.grouped.listed
        return None if listed is None else len(listed)

    @property
    def schema(self) -> pa.Schema:
        """The group columns and ``true_total``, the same from every engine."""
        import pyarrow as pa

        grouped = self.contributions.grouped
        fields = [
            pa.field(name, arrow_type(kind))
            for name, kind in zip(grouped.names, grouped.kinds, strict=True)
        ]
        return pa.schema([*fields, pa.field(TOTAL, pa.int64())])

    def parts(self, *, ordered: bool = False) -> Iterator[GroupTotals]:
        """Run the query, part by part: each has some of the groups, with the totals to ask for.

        The order of an unordered stream depends on rows of other groups: never show it. Else
        groups come in the order of their bytes, missing ones last.
        """
        import pyarrow as pa

        engine = self.contributions.grouped.table.engine
        for batch in engine.stream(self.query(ordered=ordered), self.schema):
            yield GroupTotals(self.sensitivity, partial(pa.Table.from_batches, [batch]))

    def query(self, *, ordered: bool = True) -> Any:
        """The Ibis expression that :meth:`parts` runs."""
        given, grouped = self.contributions, self.contributions.grouped
        rows = given.expr
        if given.constant is None:
            total = cast_always(rows[VALUE].sum(), "int64")
        else:
            total = cast_always(rows.count() * given.constant, "int64")
        totals = rows.group_by(list(grouped.columns)).agg(**{TOTAL: total})
        own = [f"hc_group_{index}" for index in range(len(grouped.names))]
        if grouped.listed is not None:
            return self._with_empty_groups(totals, own, ordered)
        named = totals.select(
            **{name: totals[column] for name, column in zip(self.group_names, own, strict=True)},
            **{TOTAL: totals[TOTAL]},
        )
        # Last of all, since engines need not keep the order of a query within a query.
        return named.order_by(self._order(named)) if ordered else named

    def _order(self, named: Any) -> list[Any]:
        import ibis

        sort_key = self.contributions.grouped.table.engine.sort_key
        return [ibis.asc(sort_key(named[name]), nulls_first=False) for name in self.group_names]

    def _with_empty_groups(self, totals: Any, own: list[str], ordered: bool) -> Any:
        listed = self.contributions.grouped.relation.left_join(totals, INDEX)
        if ordered:
            listed = listed.order_by(listed[INDEX])
        return listed.select(
            **{name: listed[column] for name, column in zip(self.group_names, own, strict=True)},
            **{TOTAL: listed[TOTAL].fill_null(0)},
        )

    def __repr__(self) -> str:
        return (
            f"Tally(by {', '.join(self.group_names)}, "
            f"on {self.contributions.grouped.table.engine.name})"
        )
