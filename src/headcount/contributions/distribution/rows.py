"""From rows to how many each user has in each public group, and in all other groups together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headcount.contributions.distribution.shares import MAX_ROWS, N_ROWS
from headcount.contributions.groups import INDEX, USER, Grouped, matches
from headcount.contributions.listed import GroupList

if TYPE_CHECKING:
    from headcount.contributions.store import Store


def listed_counts(grouped: Grouped) -> Any:
    """Rows per user and listed group; rows of other groups are dropped by rule."""
    return _capped(grouped.rows, [USER, INDEX], grouped.rows.count())


def own_counts(grouped: Grouped) -> Any:
    """Rows per user and group, under the groups' own names."""
    return _capped(grouped.rows, [USER, *grouped.columns], grouped.rows.count())


def found_counts(grouped: Grouped, counted: Any, found: pa.Table, store: Store) -> Any:
    """Rows per user and found group; rows of all other groups are one more group, the last."""
    own = grouped.columns
    missing = tuple(found.column(i).null_count > 0 for i in range(len(own)))
    listed = GroupList((), grouped.kinds, missing)
    table = found.rename_columns(list(own)).append_column(
        INDEX, pa.array(range(found.num_rows), pa.int64())
    )
    relation = store.engine.relation(table)
    joined = counted.left_join(relation, matches(counted, relation, own, listed))
    placed = joined.select(
        joined[USER], joined[N_ROWS], **{INDEX: joined[INDEX].fill_null(found.num_rows)}
    )
    return _capped(placed, [USER, INDEX], placed[N_ROWS].sum())


def _capped(rows: Any, by: list[str], count: Any) -> Any:
    """Rows of one user in one group beyond a public cap do not count: sums stay exact [D1]."""
    import ibis

    from headcount.tables.engine import cast_always

    capped = ibis.least(cast_always(count, "int64"), ibis.literal(MAX_ROWS, "int64"))
    return rows.group_by(by).agg(**{N_ROWS: capped})
