"""``headcount frequencies``."""

from __future__ import annotations

from typing import Annotated

import typer

import headcount as hc
from headcount.cli import options as option


def frequencies(
    source: option.Source,
    user: option.User,
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
    """Show how many groups have each number of users, but not which groups."""
    from headcount.cli.opened import opened
    from headcount.cli.show import release_and_show
    from headcount.tables.by import parse_group

    data = opened(source, user, epsilon, delta, budget, ledger=ledger, account=account, where=where)
    planned = data.frequencies(
        [parse_group(text) for text in by],
        groups=option.listed(groups),
        at_most=at_most,
        buckets=buckets,
        bound=bound,
        method=method,
        spend=hc.Budget(epsilon=epsilon),
    )
    release_and_show(planned, key=key, out=out, plot=plot, only_plan=plan)
