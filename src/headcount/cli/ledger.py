"""``headcount ledger``: open an account, look at it, file it, check it, take it along."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from headcount.cli.output import write_text
from headcount.errors import UsageError
from headcount.screens import visible, visible_lines

if TYPE_CHECKING:
    from rich.console import Console

    from headcount.ledger.account import Account
    from headcount.ledger.ledger import Ledger
    from headcount.privacy.budget import Budget

app = typer.Typer(
    help="The budget: what was spent, on what, and what is left.", no_args_is_help=True
)

WHERE = typer.Option(
    None, help="The ledger's file, or postgresql://user@host/database. Default: HEADCOUNT_LEDGER."
)


@app.callback()
def top() -> None:
    """Look at the budget: what was spent, on what, and what is left."""


def _ledger(address: str | None) -> Ledger:
    from headcount.ledger.ledger import Ledger
    from headcount.releases.accounts import default_ledger

    return Ledger(address if address is not None else default_ledger())


@app.command("open")
def open_account(
    source: str = typer.Argument(
        help="Files, an address like duckdb://..., or a name for a dataset that has no place."
    ),
    epsilon: str | None = typer.Option(
        None, "--budget", "--epsilon", help="All that may ever be spent, as epsilon."
    ),
    rho: str | None = typer.Option(None, help="The same as rho. Give this or --budget."),
    delta: str = typer.Option("1e-6", help="The delta of the limit."),
    neighbours: str = typer.Option("add-remove", help="add-remove or replace."),
    quota: list[str] = typer.Option(
        [], help="What one analyst may spend, as epsilon: ann=0.5. Repeat it."
    ),
    account: str | None = typer.Option(
        None, help="The account's name. By default the path, or the name that was given."
    ),
    covers: list[str] = typer.Option(
        [], help="Another source whose people this account protects. Repeat it."
    ),
    ledger: str | None = WHERE,
) -> None:
    """Open an account, or add quotas and sources to an open one."""
    from headcount.ledger.bar import text_bar
    from headcount.privacy.budget import Budget
    from headcount.privacy.neighbours import Neighbours
    from headcount.releases.accounts import named_source, opening_of

    if neighbours not in list(Neighbours):
        raise UsageError("neighbours must be add-remove or replace. Nothing was changed.")
    budget = None
    if epsilon is not None or rho is not None:
        budget = Budget(epsilon=epsilon, rho=rho, delta=delta)
    shares = [_quota(text) for text in quota]
    book = _ledger(ledger)
    name, identity = named_source(book, source, account, covers)
    opening_of(book, name, budget, Neighbours(neighbours), identity)
    opened = book.open_account(name, budget, Neighbours(neighbours), covers=identity.covers)
    for analyst, share in shares:
        book.set_quota(name, analyst, share)
    print(visible_lines(str(opened)))
    print(f"  {text_bar(opened)}")


def _quota(text: str) -> tuple[str, Budget]:
    from headcount.privacy.budget import Budget

    analyst, _, epsilon = text.rpartition("=")
    if not analyst:
        raise UsageError(
            "A quota is written analyst=epsilon, such as ann=0.5. Nothing was changed."
        )
    return analyst, Budget(epsilon=epsilon)


@app.command()
def show(
    account: str | None = typer.Option(None, help="Only this account."),
    ledger: str | None = WHERE,
) -> None:
    """Show the budget of each account, and who spent it, when, on which release."""
    from rich.console import Console

    book = _ledger(ledger)
    console = Console()
    accounts = book.accounts() if account is None else [book.account(account)]
    if not accounts:
        console.print("The ledger has no accounts yet.")
    for one in accounts:
        _show(console, book, one)


def _show(console: Console, book: Ledger, account: Account) -> None:
    from rich.table import Table
    from rich.text import Text

    from headcount.accounting.convert import shown
    from headcount.ledger.bar import percent, text_bar
    from headcount.ledger.statement import epsilon_alone

    def say(text: str) -> None:
        # Not as a string: square brackets and names of emoji would mean something.
        console.print(Text(visible(text)), highlight=False, soft_wrap=True)

    say(str(account))
    say(f"  {text_bar(account)} {percent(account)} spent")
    say(f"  epsilon {shown(account.epsilon_left)} left for one release")
    for quota in book.quotas(account.name):
        spent, limit = (shown(epsilon_alone(account, part)) for part in (quota.spent, quota.limit))
        say(f"  quota of {quota.analyst}: epsilon {spent} of {limit} spent")
    for source in book.covered_by(account.name):
        say(f"  covers {source}")
    entries = book.entries(account.name)
    if not entries:
        return
    table = Table(box=None, pad_edge=False)
    for name in ("entry", "charged", "analyst", "release", "epsilon", "delta", "result"):
        table.add_column(name)
    for entry in entries:
        table.add_row(
            str(entry.sequence),
            entry.charged_at,
            Text(visible(entry.analyst)),
            Text(visible(entry.title)),
            shown(epsilon_alone(account, entry.spend)),
            f"{float(entry.spend.delta):.3g}",
            "stored" if entry.has_result else "none",
        )
    console.print(table)
    # Not in the table, which would cut them: keys are for copying.
    for entry in entries:
        say(f"  key of entry {entry.sequence}: {visible(entry.key)}")


@app.command()
def statement(
    account: str = typer.Argument(help="The dataset's name in the ledger."),
    out: Path | None = typer.Option(None, help="Write here: .md or .html. Default: the screen."),
    ledger: str | None = WHERE,
) -> None:
    """Write the account's privacy statement, a document to file."""
    from headcount.ledger.statement import statement as written

    as_html = out is not None and out.suffix.lower() == ".html"
    write_text(out, (".md", ".html"), lambda: written(_ledger(ledger), account, as_html=as_html))


@app.command()
def grant(
    role: str = typer.Argument(help="analyst, auditor or owner."),
    name: str = typer.Argument(help="A role that can log in to the PostgreSQL server."),
    ledger: str | None = WHERE,
) -> None:
    """Let somebody use a ledger on PostgreSQL: charge, or only read, or own it."""
    book = _ledger(ledger)
    book.grant(role, name)
    print(visible_lines(f"{name} is {role} of the ledger {book.address} now."))


@app.command()
def verify(
    ledger: str | None = WHERE,
    copy: Path | None = typer.Option(
        None, help="Check a backup, or what export wrote, instead. Works offline."
    ),
) -> None:
    """Check every entry, sum, cost and stored result. Exit code 4 if anything is wrong."""
    if copy is not None:
        from headcount.ledger.copies import verify_copy

        place, history = str(copy), verify_copy(copy)
    else:
        book = _ledger(ledger)
        place, history = book.address, book.verify()
    print(f"The ledger {visible(place)} is as it was written.")
    print(f"  {history.head.sequence} entries, each with the hash of the one before")
    print(f"  {history.n_charges} charges in {len(history.accounts)} accounts: sums agree, and no")
    print("  charge was below the cost of its event")
    read = "hashes agree" if history.read_results else "named here, and kept elsewhere"
    print(f"  {len(history.results)} stored results: {read}")
    print(f"  head {history.head.hash}")


@app.command()
def export(
    out: Path | None = typer.Option(None, help="Write here. Default: the screen."),
    ledger: str | None = WHERE,
) -> None:
    """Write the journal as JSON lines, with its hashes and without the results."""
    import json

    def lines() -> str:
        return "".join(json.dumps(entry) + "\n" for entry in _ledger(ledger).journal())

    write_text(out, (), lines)
