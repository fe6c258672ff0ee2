"""``headcount count-events``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from headcount.cli import options as option

if TYPE_CHECKING:
    from headcount.privacy.budget import Budget
    from headcount.releases.dataset import Dataset
    from headcount.releases.plan import Plan


def count_events(
    data: Dataset,
    spend: Budget | str,
    by: option.By,
    groups: option.Groups = None,
    top: Annotated[
        int | None, typer.Option(help="Release only so many of the largest counts.")
    ] = None,
    within: Annotated[
        float | None, typer.Option(help="The relative error to aim at, such as 0.10.")
    ] = None,
    bound: Annotated[
        float | None,
        typer.Option(help="For how many events a user counts; chosen privately by default."),
    ] = None,
    method: Annotated[str, typer.Option(help="How: auto, gaussian, laplace or equal.")] = "auto",
    debias: Annotated[
        bool, typer.Option("--debias", help="Undo the bound, where users are alike.")
    ] = False,
) -> Plan:
    """Count rows in each group, no user counting for too many."""
    return data.count_events(
        option.grouped(data, by),
        groups=option.listed(groups),
        top=top,
        within=within,
        bound=bound,
        method=method,
        debias=debias,
        spend=spend,
    )
