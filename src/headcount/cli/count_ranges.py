"""``headcount count-ranges``."""

from __future__ import annotations

from typing import Annotated

import typer

import headcount as hc
from headcount.cli import options as option


def count_ranges(
    source: option.Source,
    user: option.User,
    ranges: Annotated[
        list[str],
        typer.Option("--range", help="From a number up to another: 18:65, or :18. Repeat it."),
    ],
    of: option.Of = None,
    per_user: option.PerUser = "median",
    method: Annotated[
        str, typer.Option(help="How: auto, hierarchy, sample or sample-levels.")
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
    """Count users by the public ranges that a number of theirs is in."""
    from headcount.cli.opened import opened
    from headcount.cli.show import release_and_show

    data = opened(source, user, epsilon, delta, budget, ledger=ledger, account=account, where=where)
    planned = data.count_ranges(
        of,
        [_pair(text) for text in ranges],
        per_user=per_user,
        method=method,
        spend=hc.Budget(epsilon=epsilon),
    )
    release_and_show(planned, key=key, out=out, plot=plot, only_plan=plan)


def _pair(text: str) -> tuple[str | None, str | None]:
    first, _, last = text.partition(":")
    return first or None, last or None
