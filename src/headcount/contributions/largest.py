"""The largest groups by distinct users, with no bound on how many a user is in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from headcount.contributions import read
from headcount.contributions.bounded import SEAL, BoundedContributions
from headcount.contributions.group_totals import GroupTotals
from headcount.contributions.groups import TOTAL, Grouped, group_rows
from headcount.contributions.tally import Tally
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables import GroupBy, UserTable
from headcount.tables.engine import cast_always

ONE_EACH = Sensitivity.of_entries()
"""A user moves every count by at most one, in however many groups."""


def largest_counts(
    table: UserTable,
    by: GroupBy | Sequence[GroupBy],
    n: int,
    groups: Iterable[Any] | None = None,
) -> GroupTotals:
    """The ``n`` groups with the most users and their counts, largest first.

    Which of several groups with the last count is among them is the engine's choice: no claim
    rests on it.
    """
    grouped = group_rows(table, by, groups).named()
    return largest_of(each_pair(grouped, grouped.rows), n)


def each_pair(grouped: Grouped, pairs: Any) -> BoundedContributions:
    """Every distinct pair of a user and a group, worth one."""
    return BoundedContributions(grouped, pairs, ONE_EACH, 0, None, 1, SEAL)


def largest_of(each: BoundedContributions, n: int) -> GroupTotals:
    """The ``n`` largest totals of a tally and their groups, largest first."""
    return _first(each, Tally(each).query(ordered=False), n)


def largest_of_others(
    each: BoundedContributions, n: int, others: Callable[[Any], Any]
) -> GroupTotals:
    """The same of the totals that ``others`` leaves: of groups that are not on a public list."""
    rows, grouped = each.expr, each.grouped
    count = cast_always(rows.count() * each.constant, "int64")
    totals = others(rows.group_by(list(grouped.columns)).agg(**{TOTAL: count}))
    named = totals.select(
        **{name: totals[own] for name, own in zip(grouped.names, grouped.columns, strict=True)},
        **{TOTAL: totals[TOTAL]},
    )
    return _first(each, named, n)


def _first(each: BoundedContributions, totals: Any, n: int) -> GroupTotals:
    import ibis

    true_tally = Tally(each)
    largest = totals.order_by(ibis.desc(totals[TOTAL])).limit(n)
    ask = partial(read.table, each.grouped.table.engine, largest, true_tally.schema)
    return GroupTotals(true_tally.sensitivity, ask)
