"""``headcount profile``."""

from __future__ import annotations

import headcount as hc
from headcount.cli import options as option


def profile(
    source: option.Source,
    user: option.User,
    by: option.By,
    epsilon: option.Epsilon = "0.1",
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
    """Show in how many groups users are, as a private histogram."""
    from headcount.cli.opened import opened
    from headcount.cli.show import release_and_show
    from headcount.tables.by import parse_group

    data = opened(source, user, epsilon, delta, budget, ledger=ledger, account=account, where=where)
    planned = data.profile([parse_group(text) for text in by], spend=hc.Budget(epsilon=epsilon))
    release_and_show(planned, key=key, out=out, plot=plot, only_plan=plan)
