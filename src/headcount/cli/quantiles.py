"""``headcount quantiles``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headcount.cli import options as option

if TYPE_CHECKING:
    from headcount.privacy.budget import Budget
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan


def quantiles(
    data: Dataset,
    spend: Budget | str,
    low: Annotated[str, typer.Option(help="Values below this public number are moved to it.")],
    high: Annotated[str, typer.Option(help="Values above this public number are moved to it.")],
    of: option.Of = None,
    at: Annotated[list[str], typer.Option(help="A quantile, such as 0.9. Repeat it.")] = ["0.5"],  # noqa: B006
    step: Annotated[str | None, typer.Option(help="The width of the public cells.")] = None,
    per_user: option.PerUser = "median",
    method: Annotated[
        str,
        typer.Option(
            help="How: auto, hierarchy, exponential, sample, sample-levels or sample-search."
        ),
    ] = "auto",
) -> Plan:
    """Show quantiles of a number over users, such as the median."""
    return data.quantiles(
        of,
        at=at,
        bounds=(low, high),
        step=step,
        per_user=per_user,
        method=method,
        spend=spend,
    )
