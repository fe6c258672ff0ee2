"""``headcount count-events``."""

from __future__ import annotations

from typing import Annotated

import typer

import headcount as hc
from headcount.cli import options as option


def count_events(
    source: option.Source,
    user: option.User,
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
    epsilon: option.Epsilon = "1",
    delta: option.Delta = "1e-6",
    budget: option.AccountBudget = None,
    ledger: option.LedgerPlace = None,
    account: option.AccountName = None,
    where: option.Where = None,
    key: option.Key = None,
    out: option.Out = None,
    plot: option.Plot = None,
    plan: option.OnlyPlan = False,
) -> None:
    """Count rows in each group, no user counting for too many."""
    from headcount.cli.opened import opened
    from headcount.cli.show import release_and_show
    from headcount.tables.by import parse_group

    data = opened(source, user, epsilon, delta, budget, ledger=ledger, account=account, where=where)
    planned = data.count_events(
        [parse_group(text) for text in by],
        groups=option.listed(groups),
        top=top,
        within=within,
        bound=bound,
        method=method,
        debias=debias,
        spend=hc.Budget(epsilon=epsilon),
    )
    release_and_show(planned, key=key, out=out, plot=plot, only_plan=plan)
