"""``headcount count-users``."""

from __future__ import annotations

from pathlib import Path

import typer

import headcount as hc


def count_users(
    source: str = typer.Argument(help="Parquet or CSV files, or an address like duckdb://..."),
    user: str = typer.Option(help="The column that says whose row it is."),
    by: list[str] = typer.Option(help="What to count by: word, time:month or price:10. Repeat it."),
    groups: Path | None = typer.Option(None, help="A text file of public groups, one per line."),
    bound: int | None = typer.Option(None, help="In how many groups a user counts fully."),
    within: float | None = typer.Option(None, help="The relative error to aim at, such as 0.10."),
    method: str = typer.Option("auto", help="How: auto, threshold, equal or peel."),
    epsilon: str = typer.Option("1", help="What this release spends."),
    delta: str = typer.Option("1e-6", help="The delta of the account when it is opened."),
    budget: str | None = typer.Option(
        None, help="The account's epsilon when it is opened; by default what this release spends."
    ),
    ledger: str | None = typer.Option(None, help="The ledger: a file or a Postgres address."),
    account: str | None = typer.Option(None, help="The dataset's name in the ledger."),
    where: str | None = typer.Option(None, help="A public condition, such as \"country = 'SE'\"."),
    key: str | None = typer.Option(None, help="Repeat a release under its key: no new charge."),
    out: Path | None = typer.Option(None, help="Write the rows here: .parquet or .csv."),
    plot: Path | None = typer.Option(None, help="Draw the rows here: .svg, .png or .html."),
    plan: bool = typer.Option(False, "--plan", help="Only show the plan: nothing is spent."),
) -> None:
    """Count distinct users in each group."""
    from headcount.cli.opened import opened
    from headcount.cli.show import release_and_show
    from headcount.tables.by import parse_group

    data = opened(source, user, epsilon, delta, budget, ledger=ledger, account=account, where=where)
    named = None if groups is None else groups.read_text(encoding="utf-8").splitlines()
    planned = data.count_users(
        [parse_group(text) for text in by],
        groups=named,
        bound=bound,
        within=within,
        method=method,
        spend=hc.Budget(epsilon=epsilon),
    )
    release_and_show(planned, key=key, out=out, plot=plot, only_plan=plan)
