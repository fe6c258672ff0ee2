"""``headcount profile``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headcount.cli import options as option

if TYPE_CHECKING:
    from headcount.privacy.budget import Budget
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan


def profile(data: Dataset, spend: Budget | str, by: option.By) -> Plan:
    """Show in how many groups users are, as a private histogram."""
    return data.profile(option.grouped(data, by), spend=spend)
