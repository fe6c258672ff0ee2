"""``headcount quantiles``."""

from __future__ import annotations

from typing import Annotated

import typer

import headcount as hc
from headcount.cli import options as option


def quantiles(
    source: option.Source,
    user: option.User,
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
    """Show quantiles of a number over users, such as the median."""
    from headcount.cli.opened import opened
    from headcount.cli.show import release_and_show

    data = opened(source, user, epsilon, delta, budget, ledger=ledger, account=account, where=where)
    planned = data.quantiles(
        of,
        at=at,
        bounds=(low, high),
        step=step,
        per_user=per_user,
        method=method,
        spend=hc.Budget(epsilon=epsilon),
    )
    release_and_show(planned, key=key, out=out, plot=plot, only_plan=plan)
