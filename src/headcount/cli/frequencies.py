"""``headcount frequencies``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headcount.cli import options as option

if TYPE_CHECKING:
    from headcount.privacy.budget import Budget
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan


def frequencies(
    data: Dataset,
    spend: Budget | str,
    by: option.By,
    groups: option.Groups = None,
    at_most: Annotated[
        int | None, typer.Option(help="How many groups there can be, when that is public.")
    ] = None,
    buckets: Annotated[
        int | None, typer.Option(help="Hash groups into so many, with noise on each.")
    ] = None,
    bound: Annotated[
        int | None, typer.Option(help="How many groups of a user count; chosen privately if not.")
    ] = None,
    method: Annotated[str, typer.Option(help="How: auto, central or laplace.")] = "auto",
) -> Plan:
    """Show how many groups have each number of users, but not which groups."""
    return data.frequencies(
        option.grouped(data, by),
        groups=option.listed(groups),
        at_most=at_most,
        buckets=buckets,
        bound=bound,
        method=method,
        spend=spend,
    )
