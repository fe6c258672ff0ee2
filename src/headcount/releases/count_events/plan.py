"""``count_events``: how many rows there are in each group, no user counting for too many."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from headcount.contributions.groups import group_rows
from headcount.errors import UsageError
from headcount.releases.count_events.debiased import plan_debiased
from headcount.releases.count_events.found import plan_found_events
from headcount.releases.count_events.known import plan_known_events
from headcount.releases.facts import limit_for

if TYPE_CHECKING:
    from headcount.privacy.budget import Budget
    from headcount.releases.opened import Opened
    from headcount.releases.plan import Plan


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
    """Known groups get noise on each; without a list, groups are found and large ones leave."""
    # Builds the expression and so checks every name and kind; nothing runs.
    grouped = group_rows(dataset.table, by, groups)
    given, limit = grouped.given, limit_for(dataset.account, spend)
    if given is None or within is not None or method == "equal":
        if bound is not None or debias:
            raise UsageError(
                "bound= and debias= are for known groups without a target: give groups=[...] and "
                "leave within= out, or leave them out. Nothing was charged."
            )
        rules = grouped.rules
        return plan_found_events(
            dataset, by, rules, limit, within=within, top=top, method=method, groups=given
        )
    plan_known = plan_debiased if debias else plan_known_events
    return plan_known(dataset, by, given, grouped, limit, top=top, bound=bound, method=method)
