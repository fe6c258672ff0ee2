"""``count_events`` of known groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headcount.errors import UsageError

if TYPE_CHECKING:
    from headcount.contributions.groups import Grouped
    from headcount.privacy.spend import Zcdp
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan


def plan_known_events(
    dataset: Dataset,
    by: Any,
    groups: Sequence[Any],
    grouped: Grouped,
    limit: Zcdp,
    *,
    top: int | None,
    bound: float | None,
    method: str,
    debias: bool,
) -> Plan:
    """Plan counts of events in known groups."""
    raise UsageError("Counts of events in known groups are on their way.")
