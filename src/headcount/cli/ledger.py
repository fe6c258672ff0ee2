"""``headcount ledger``."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(
    help="The budget: what was spent, on what, and what is left.", no_args_is_help=True
)


@app.callback()
def top() -> None:
    """Look at the budget: what was spent, on what, and what is left."""


@app.command()
def show(
    ledger: Path | None = typer.Option(None, help="The ledger's file."),
    account: str | None = typer.Option(None, help="Only this account."),
) -> None:
    """Show accounts and their entries."""
    from rich.console import Console
    from rich.table import Table

    from headcount.accounting.convert import shown
    from headcount.ledger.ledger import Ledger
    from headcount.releases.open import default_ledger_path

    book = Ledger(ledger if ledger is not None else default_ledger_path())
    console = Console()
    accounts = book.accounts() if account is None else [book.account(account)]
    if not accounts:
        console.print("The ledger has no accounts yet.")
    for one in accounts:
        console.print(str(one), highlight=False, soft_wrap=True)
        console.print(f"  epsilon {shown(one.epsilon_left)} left for one release")
        entries = book.entries(one.name)
        if not entries:
            continue
        table = Table(box=None, pad_edge=False)
        for name in ("entry", "charged", "verb", "rho", "delta", "result", "key"):
            table.add_column(name)
        for entry in entries:
            table.add_row(
                str(entry.sequence),
                entry.charged_at,
                entry.verb,
                f"{float(entry.spend.rho):.4g}",
                f"{float(entry.spend.delta):.3g}",
                "stored" if entry.has_result else "none",
                entry.key,
            )
        console.print(table)
