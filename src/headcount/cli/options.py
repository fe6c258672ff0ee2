"""The options that every verb has, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import headcount as hc
from headcount.privacy.argument import NOTHING
from headcount.tables.by import Truncate, parse_group

Source = Annotated[
    str, typer.Argument(help="Parquet or CSV files, or an address like duckdb://...")
]
User = Annotated[str, typer.Option(help="The column that says whose row it is.")]
Epsilon = Annotated[
    str | None, typer.Option(help="What this release spends. Give this or --spend.")
]
Spend = Annotated[
    str | None,
    typer.Option(help="Instead of --epsilon: a share of the account's whole limit, such as 1/10."),
]
Delta = Annotated[str, typer.Option(help="The delta of the account when it is opened.")]
AccountBudget = Annotated[
    str | None,
    typer.Option(
        help="All that may ever be spent, as epsilon; needed once, when the account is new. With "
        "--window it is the limit of all windows together, and may be left out."
    ),
]
Window = Annotated[
    str | None,
    typer.Option(
        help="To open an account with a budget for each window of time: its column and hour, day, "
        "week or month, as in time:day. Then --during says which a release is about."
    ),
]
Zone = Annotated[
    str | None,
    typer.Option(
        help="With --window: whose days they are, as in Europe/Stockholm; UTC if left out."
    ),
]
WindowBudget = Annotated[
    str | None,
    typer.Option("--budget-per-window", help="With --window: what each may spend, as epsilon."),
]
During = Annotated[
    str | None,
    typer.Option(
        help="The windows that this is about: 2026-03-01, 2026-03, 2026-W10, or a first and a last "
        "with two points between."
    ),
]
LedgerPlace = Annotated[str | None, typer.Option(help="The ledger: a file or a Postgres address.")]
AccountName = Annotated[str | None, typer.Option(help="The dataset's name in the ledger.")]
Where = Annotated[str | None, typer.Option(help="A public condition, such as \"country = 'SE'\".")]
Delimiter = Annotated[str, typer.Option(help="CSV: the character between two fields.")]
Quote = Annotated[str, typer.Option(help="CSV: the character around fields; '' if there is none.")]
Header = Annotated[
    bool,
    typer.Option(
        "--header/--no-header", help="CSV: whether the first line holds the columns' names."
    ),
]
Columns = Annotated[
    str | None, typer.Option(help="CSV without a header: the columns' names, with commas between.")
]
Types = Annotated[
    list[str] | None,
    typer.Option("--type", help="What a CSV or folder column holds: time=timestamp. Repeat it."),
]
Memory = Annotated[str | None, typer.Option(help="How much memory DuckDB may use, such as 2GB.")]
ScratchFolder = Annotated[
    str | None,
    typer.Option("--scratch", help="A folder of your own for what does not fit in memory."),
]
TrustedView = Annotated[
    str | None,
    typer.Option(help="Who vouches that no row of a view depends on two users, and why."),
]
MistakenUser = Annotated[
    list[str] | None,
    typer.Option(help="A column that was given as --user by mistake before; may be repeated."),
]
Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh", help="Draw new rows and charge again, also for what was answered before."
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        help="A name for this release: a job that repeats it never charges twice. For new rows of "
        "the same table: with --fresh."
    ),
]
Again = Annotated[
    str | None,
    typer.Option(
        help="Show what was released under this key; its first letters will do. Never charges."
    ),
]
WideTo = Annotated[
    str | None,
    typer.Option(
        help="Write all rows to Parquet files in this empty folder, for more groups than fit in "
        "memory. For rows that are drawn each by itself: --method threshold or laplace."
    ),
]
WideFiles = Annotated[
    int | None, typer.Option(help="On Spark, into how many files; 16 when not given.")
]
Out = Annotated[
    Path | None, typer.Option(help="Write the rows here: .parquet or .csv; - is standard output.")
]
Plot = Annotated[Path | None, typer.Option(help="Draw the rows here: .svg, .png or .html.")]
Report = Annotated[Path | None, typer.Option(help="Write a page about the release here: .html.")]
Json = Annotated[
    bool,
    typer.Option("--json", help="All rows and facts as JSON on standard output, and nothing else."),
]
AsCsv = Annotated[
    bool,
    typer.Option(
        "--csv", help="All rows as CSV on standard output, and nothing else. The same as --out -."
    ),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", help="Print the rows, unless --out has them, and errors; nothing else."
    ),
]
Sweep = Annotated[
    bool,
    typer.Option(
        "--sweep",
        help="Only show what error and how many rows to expect over a range of epsilons: nothing "
        "is spent. With --plot, as a picture.",
    ),
]
OnlyPlan = Annotated[
    bool,
    typer.Option("--plan", help="Only show the plan, with --json as JSON: nothing is spent."),
]
Explain = Annotated[
    bool,
    typer.Option("--explain", help="Say all of the plan before the release, not its gist."),
]


def csv_of(delimiter: str, quote: str, header: bool, columns: str | None) -> hc.Csv | None:
    """The dialect, where it is not the default one."""
    names = None if columns is None else columns.split(",")
    csv = hc.Csv(
        "\t" if delimiter == "\\t" else delimiter, quote or None, header=header, columns=names
    )
    return None if csv == hc.Csv() else csv


def types_of(written: list[str] | None) -> dict[str, str]:
    """Types as a shell writes them: ``time=timestamp``."""
    pairs = [text.rpartition("=") for text in written or []]
    for name, equals, kind in pairs:
        if not (name and equals):
            raise hc.UsageError(
                f"--type must be like time=timestamp, not {kind!r}. Nothing was charged."
            )
    return {name: kind for name, _, kind in pairs}


def windows_of(
    window: str | None, zone: str | None, each: str | None, budget: str | None, delta: str
) -> dict[str, Any]:
    """What opens an account, as a shell says it: a budget, or one for each window and one for all.

    An account that is there needs none of it.
    """
    limit = None if budget is None else hc.Budget(epsilon=budget, delta=delta)
    if window is None:
        if zone is not None or each is not None:
            raise hc.UsageError(
                "--zone and --budget-per-window are for --window, which says what a window is: "
                f"--window time:day. {NOTHING}"
            )
        return {"budget": limit}
    cut = parse_group(window)
    if not isinstance(cut, Truncate) or each is None:
        raise hc.UsageError(
            "A window is written as its column and its unit, with what each may spend: --window "
            "time:day --budget-per-window 0.8. To use an account that is open, leave both out. "
            f"{NOTHING}"
        )
    return {
        "window": hc.truncate(cut.column, cut.to, zone=zone),
        "budget": hc.Budget(epsilon=each, delta=delta, per=cut.to),
        "lifetime": limit,
    }


def during_of(written: str) -> tuple[str, str | None]:
    """The first and the last window that are meant, the last if there are several."""
    first, points, last = written.partition("..")
    return first, last if points else None


def spend_of(epsilon: str | None, share: str | None) -> hc.Budget | str:
    """What a release may cost, as a shell says it: an epsilon, or a share of the limit."""
    if (epsilon is None) == (share is None):
        raise hc.UsageError(
            "Say what this release may cost: --epsilon 1, or a share of the account's whole "
            "limit: --spend 1/10. Give one of the two. Nothing was charged."
        )
    return hc.Budget(epsilon=epsilon) if share is None else share
