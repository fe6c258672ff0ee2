"""``headcount count-users``."""

from __future__ import annotations

from typing import Annotated

import typer

import headcount as hc
from headcount.cli import options as option


def count_users(
    source: option.Source,
    user: option.User,
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
    """Count distinct users in each group."""
    from headcount.cli.opened import opened
    from headcount.cli.show import release_and_show
    from headcount.tables.by import parse_group

    data = opened(source, user, epsilon, delta, budget, ledger=ledger, account=account, where=where)
    planned = data.count_users(
        [parse_group(text) for text in by],
        groups=option.listed(groups),
        bound=bound,
        within=within,
        top=top,
        method=method,
        spend=hc.Budget(epsilon=epsilon),
    )
    release_and_show(planned, key=key, out=out, plot=plot, only_plan=plan)
