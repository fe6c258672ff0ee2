"""The largest groups by distinct users, with no bound on how many a user is in."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from headcount.contributions.bounded import SEAL, BoundedContributions
from headcount.contributions.groups import TOTAL, group_rows
from headcount.contributions.tally import Tally
from headcount.privacy.sensitivity import Sensitivity
from headcount.tables import GroupBy, UserTable

if TYPE_CHECKING:
    import pyarrow as pa

NO_BOUND = 1 << 62
ONE_EACH = Sensitivity(
    l0=NO_BOUND, l1=Fraction(NO_BOUND), l2_squared=Fraction(NO_BOUND), linf=Fraction(1)
)
"""A user moves every count by at most one, in however many groups."""


def largest_counts(table: UserTable, by: GroupBy | Sequence[GroupBy], n: int) -> pa.Table:
    """The ``n`` groups with the most users and their true counts, largest first.

    Which of several groups with the last count is among them is the engine's choice: no claim
    rests on it.
    """
    import ibis
    import pyarrow as pa

    grouped = group_rows(table, by)
    each = BoundedContributions(grouped, grouped.pairs(), ONE_EACH, 0, None, 1, SEAL)
    true_tally = Tally(each)
    totals: Any = true_tally.query(ordered=False)
    largest = totals.order_by(ibis.desc(totals[TOTAL])).limit(n)
    return pa.Table.from_batches(table.engine.stream(largest, true_tally.schema), true_tally.schema)
