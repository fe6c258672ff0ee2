"""``headcount distribution``."""

from __future__ import annotations

from typing import Annotated

import typer

import headcount as hc
from headcount.cli import options as option


def distribution(
    source: option.Source,
    user: option.User,
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
    """Show what share each group has of users' rows, averaged over users."""
    from headcount.cli.opened import opened
    from headcount.cli.show import release_and_show
    from headcount.tables.by import parse_group

    data = opened(source, user, epsilon, delta, budget, ledger=ledger, account=account, where=where)
    planned = data.distribution(
        [parse_group(text) for text in by],
        groups=option.listed(groups),
        method=method,
        users=users,
        samples=samples,
        spend=hc.Budget(epsilon=epsilon),
    )
    release_and_show(planned, key=key, out=out, plot=plot, only_plan=plan)
