"""``headcount count-users``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headcount.cli import options as option

if TYPE_CHECKING:
    from headcount.privacy.budget import Budget
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan


def count_users(
    data: Dataset,
    spend: Budget | str,
    by: option.By,
    groups: option.Groups = None,
    bound: Annotated[
        int | None, typer.Option(help="In how many groups a user counts fully.")
    ] = None,
    within: Annotated[
        float | None, typer.Option(help="The relative error to aim at, such as 0.10.")
    ] = None,
    top: option.Top = None,
    method: Annotated[
        str, typer.Option(help="How: auto, threshold, laplace, equal, peel or sample.")
    ] = "auto",
) -> Plan:
    """Count distinct users in each group."""
    return data.count_users(
        option.grouped(data, by),
        groups=option.listed(groups),
        bound=bound,
        within=within,
        top=top,
        method=method,
        spend=spend,
    )
