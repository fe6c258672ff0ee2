"""``headcount profile``."""

from __future__ import annotations

from pathlib import Path

import typer

import headcount as hc


def profile(
    source: str = typer.Argument(help="Parquet or CSV files, or an address like duckdb://..."),
    user: str = typer.Option(help="The column that says whose row it is."),
    by: list[str] = typer.Option(help="What to count by: word, time:month or price:10. Repeat it."),
    epsilon: str = typer.Option("0.1", help="What this release spends."),
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
    """Show in how many groups users are, as a private histogram."""
    from headcount.cli.opened import opened
    from headcount.cli.show import release_and_show
    from headcount.tables.by import parse_group

    data = opened(source, user, epsilon, delta, budget, ledger=ledger, account=account, where=where)
    planned = data.profile([parse_group(text) for text in by], spend=hc.Budget(epsilon=epsilon))
    release_and_show(planned, key=key, out=out, plot=plot, only_plan=plan)
