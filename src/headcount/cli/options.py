"""The options that every verb has, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Source = Annotated[
    str, typer.Argument(help="Parquet or CSV files, or an address like duckdb://...")
]
User = Annotated[str, typer.Option(help="The column that says whose row it is.")]
By = Annotated[
    list[str], typer.Option(help="What to count by: word, time:month or price:10. Repeat it.")
]
Groups = Annotated[Path | None, typer.Option(help="A text file of public groups, one per line.")]
Top = Annotated[int | None, typer.Option(help="Only so many groups, the largest.")]
Of = Annotated[
    str | None, typer.Option(help="A column of numbers; without it, how many rows a user has.")
]
PerUser = Annotated[
    str,
    typer.Option(help="The one value of a user: median, mean, sum, min, max or sampled."),
]
Epsilon = Annotated[str, typer.Option(help="What this release spends.")]
Delta = Annotated[str, typer.Option(help="The delta of the account when it is opened.")]
AccountBudget = Annotated[
    str | None,
    typer.Option(
        help="The account's epsilon when it is opened; by default what this release spends."
    ),
]
LedgerPlace = Annotated[str | None, typer.Option(help="The ledger: a file or a Postgres address.")]
AccountName = Annotated[str | None, typer.Option(help="The dataset's name in the ledger.")]
Where = Annotated[str | None, typer.Option(help="A public condition, such as \"country = 'SE'\".")]
Key = Annotated[str | None, typer.Option(help="Repeat a release under its key: no new charge.")]
Out = Annotated[Path | None, typer.Option(help="Write the rows here: .parquet or .csv.")]
Plot = Annotated[Path | None, typer.Option(help="Draw the rows here: .svg, .png or .html.")]
OnlyPlan = Annotated[bool, typer.Option("--plan", help="Only show the plan: nothing is spent.")]


def listed(groups: Path | None) -> list[str] | None:
    """The public groups of a text file, one per line."""
    return None if groups is None else groups.read_text(encoding="utf-8").splitlines()
