"""``headcount distribution``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headcount.cli import options as option

if TYPE_CHECKING:
    from headcount.privacy.budget import Budget
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan


def distribution(
    data: Dataset,
    spend: Budget | str,
    by: option.By,
    groups: option.Groups = None,
    method: Annotated[
        str,
        typer.Option(help="How: auto, clip, coarse-fine, dense, sparse, gaussian or laplace."),
    ] = "auto",
    users: Annotated[
        int | None, typer.Option(help="How many users there are, where that is public.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="About how many rows a user has, where that is public.")
    ] = None,
) -> Plan:
    """Show what share each group has of users' rows, averaged over users."""
    return data.distribution(
        option.grouped(data, by),
        groups=option.listed(groups),
        method=method,
        users=users,
        samples=samples,
        spend=spend,
    )
