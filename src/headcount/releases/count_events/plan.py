"""``count_events``: how many rows there are in each group; one user adds a limited number."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from headcount.contributions.groups import group_rows
from headcount.errors import UsageError
from headcount.privacy.neighbours import Neighbours
from headcount.releases.count_events.debiased import plan_debiased
from headcount.releases.count_events.found import plan_found_events
from headcount.releases.count_events.known import plan_known_events
from headcount.releases.count_users.adaptive import plan_equal
from headcount.releases.facts import limit_for, require_add_remove

if TYPE_CHECKING:
    from headcount.contributions.groups import Grouped
    from headcount.privacy.budget import Budget
    from headcount.privacy.spend import Zcdp
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan

MAX_VALUE = 1 << 12
"""How many rows of one user count in one group, where the release adapts."""


def plan_count_events(
    dataset: Opened,
    by: Any,
    *,
    groups: Sequence[Any] | None,
    top: int | None,
    within: float | None,
    bound: float | None,
    method: str,
    debias: bool,
    spend: Budget | Fraction,
) -> Plan:
    """Known groups get noise on each; without a list, groups are found and counted as users are."""
    # Builds the expression and so checks every name and kind; nothing runs.
    grouped = group_rows(dataset.table, by, groups)
    given, limit = grouped.given, limit_for(dataset.account, spend)
    is_plain = given is None and dataset.account.neighbours is Neighbours.ADD_REMOVE
    adapts = within is not None or method == "equal" or (method == "auto" and is_plain)
    if (adapts or given is None) and (bound is not None or debias):
        raise UsageError(
            "bound= and debias= are for known groups without a target: give groups=[...] and "
            "leave within= out, or leave them out. Nothing was charged."
        )
    if adapts:
        return _plan_adaptive(dataset, by, grouped, limit, within, top, method)
    if given is None:
        return plan_found_events(dataset, by, grouped.rules, limit, top=top, method=method)
    plan_known = plan_debiased if debias else plan_known_events
    return plan_known(dataset, by, given, grouped, limit, top=top, bound=bound, method=method)


def _plan_adaptive(
    dataset: Opened,
    by: Any,
    grouped: Grouped,
    limit: Zcdp,
    within: float | None,
    top: int | None,
    method: str,
) -> Plan:
    """As for users, with a user's rows in a group for weights; a list of groups is a filter."""
    if method not in ("auto", "equal"):
        raise UsageError(f"method={method!r} has no target; leave within= out.")
    require_add_remove(dataset.account, "within=", "Leave within= out.")
    capped = f"Of one user at most {MAX_VALUE:,} rows count in one group."
    return plan_equal(
        dataset,
        by,
        (*grouped.rules, capped),
        limit,
        within,
        "equal",
        groups=grouped.given,
        top=top,
        max_value=MAX_VALUE,
    )
