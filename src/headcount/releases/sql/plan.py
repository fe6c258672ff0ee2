"""``sql``: a query in SQL, answered by the verb that means the same, with that verb's own plan.

The text is mapped to the verb's arguments and forgotten. The plan, its request and its cost are
those of the verb, so that one question has one answer, however it is written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headcount.errors import UsageError
from headcount.privacy.argument import NOTHING
from headcount.releases.sql.nearest import nearest
from headcount.releases.sql.parse import Parsed, parsed
from headcount.releases.sql.read import Asked, asked
from headcount.releases.sql.words import Refused
from headcount.releases.verbs import planned

if TYPE_CHECKING:
    from fractions import Fraction

    from headcount.privacy.budget import Budget
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

EVERYONE = [(1, None)]
"""How many rows a person has who is in the table at all."""


def plan_sql(
    dataset: Opened,
    query: str,
    *,
    groups: Any,
    within: Any,
    bound: Any,
    method: Any,
    spend: Budget | Fraction,
) -> Plan:
    """The plan of the verb that the query is a spelling of."""
    table = dataset.table
    try:
        written = parsed(query)
        read = asked(written, table)
    except Refused as refused:
        raise refused.error(nearest(refused.query, table)) from None
    given = {"groups": groups, "within": within, "bound": bound}
    return _answered(_chosen(dataset, written), read, given, method, spend)


def _chosen(dataset: Opened, written: Parsed) -> Opened:
    """The rows that the condition of a query chooses, if there is one."""
    if written.where is None:
        return dataset
    try:
        return dataset.narrowed(written.where)
    except UsageError as error:
        works = nearest(written, dataset.table)
        raise type(error)(f"{error} Without WHERE this works: {works}") from None


def _answered(
    rows: Opened, read: Asked, given: dict[str, Any], method: Any, spend: Budget | Fraction
) -> Plan:
    if read.by:
        return planned(
            read.verb, rows, by=list(read.by), top=read.top, method=method, **given, spend=spend,
            **({"debias": False} if read.verb == "count_events" else {}),
        )  # fmt: skip
    for name, value in given.items():
        if value is not None:
            raise UsageError(
                f"{name}= is for counts in groups, and this query has no GROUP BY: leave it out, "
                f"or add a column. {NOTHING}"
            )
    return planned(
        "count_ranges", rows, of=None, ranges=EVERYONE, per_user="median", method=method,
        spend=spend,
    )  # fmt: skip
