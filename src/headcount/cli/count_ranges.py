"""``headcount count-ranges``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headcount.cli import options as option
from headcount.errors import UsageError
from headcount.privacy.argument import NOTHING, number_of, shown

if TYPE_CHECKING:
    from headcount.privacy.budget import Budget
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan


def count_ranges(
    data: Dataset,
    spend: Budget | str,
    ranges: Annotated[
        list[str],
        typer.Option("--range", help="From a number up to another: 18:65, or :18. Repeat it."),
    ],
    of: option.Of = None,
    per_user: option.PerUser = "median",
    method: Annotated[
        str, typer.Option(help="How: auto, hierarchy, sample or sample-levels.")
    ] = "auto",
) -> Plan:
    """Count users by the public ranges that a number of theirs is in."""
    return data.count_ranges(
        of,
        [_pair(text) for text in ranges],
        per_user=per_user,
        method=method,
        spend=spend,
    )


def _pair(text: str) -> tuple[str | None, str | None]:
    first, colon, last = text.partition(":")
    if not colon or any(end and number_of(end) is None for end in (first, last)):
        raise UsageError(
            f"--range is two numbers, or one and no end: 18:65, :18 or 65:, not {shown(text)}. "
            f"{NOTHING}"
        )
    return first or None, last or None
