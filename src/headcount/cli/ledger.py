"""``headcount ledger``: open an account, look at it, file it, check it, take it along."""

from __future__ import annotations

import shlex
import sys
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from headcount.cli import options as option
from headcount.cli import windows as windows_of
from headcount.cli.output import write_text
from headcount.cli.spelling import counted
from headcount.errors import LedgerError, NoAccountError, UsageError
from headcount.screens import quoted, visible, visible_lines

if TYPE_CHECKING:
    from rich.console import Console

    from headcount.ledger.account import Account, Quota
    from headcount.ledger.journal import Head
    from headcount.ledger.ledger import Ledger
    from headcount.ledger.opening import Share

app = typer.Typer(
    help="The budget: what was spent, on what, and what is left.", no_args_is_help=True
)

WIDE = 400
COLUMNS = (
    "entry", "charged", "analyst", "release", "epsilon", "share", "threshold delta", "result",
)  # fmt: skip
WHERE = typer.Option(
    None, help="The ledger's file, or postgresql://user@host/database. Default: HEADCOUNT_LEDGER."
)
KEY = typer.Argument(
    None,
    help="The key of a release, its first letters, or the number of its entry. Default: the "
    "newest release.",
)
ACCOUNT = typer.Argument(help="The dataset's name in the ledger, or its files.")


@app.callback()
def top() -> None:
    """Look at the budget: what was spent, on what, and what is left."""


def _ledger(address: str | None) -> Ledger:
    """The ledger, to be written to: the first write makes it."""
    from headcount.ledger.ledger import Ledger
    from headcount.releases.accounts import default_ledger

    return Ledger(default_ledger(address))


def there(address: str | None) -> Ledger:
    """The ledger that is there: who only looks makes none."""
    from headcount.ledger.ledger import Ledger
    from headcount.releases.accounts import ledger_place

    place = ledger_place(address)
    if "://" not in str(place) and not Path(place).parent.is_dir():
        raise LedgerError(
            f"There is no ledger at {quoted(place)}. Check --ledger and HEADCOUNT_LEDGER."
        )
    book = Ledger(place)
    book.must_be_there()
    return book


def account_of(book: Ledger, named: str) -> str:
    """The account of this name, or the one that protects the people of these files."""
    from headcount.releases.accounts import named_source

    if book.find_account(named) is not None:
        return named
    found, _ = named_source(book, named, None, [])
    return found if book.find_account(found) is not None else named


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
        [], help="What one analyst may spend, as epsilon: ann=0.5. With ann=0, nothing. Repeat it."
    ),
    account: str | None = typer.Option(
        None, help="The account's name. By default the path, or the name that was given."
    ),
    covers: list[str] = typer.Option(
        [], help="Another source whose people this account protects. Repeat it."
    ),
    window: str | None = windows_of.WINDOW,
    zone: str | None = windows_of.ZONE,
    each: str | None = windows_of.EACH,
    ledger: str | None = WHERE,
) -> None:
    """Open an account, or add quotas and sources to an open one."""
    from headcount.ledger.statement.bar import text_bar
    from headcount.privacy.budget import Budget
    from headcount.privacy.neighbours import Neighbours
    from headcount.releases.accounts import named_source, opening_of

    if neighbours not in list(Neighbours):
        raise UsageError("neighbours must be add-remove or replace. Nothing was changed.")
    budget = None
    if epsilon is not None or rho is not None:
        budget = Budget(epsilon=epsilon, rho=rho, delta=delta)
    shares = [_quota(text) for text in quota]
    windows = windows_of.asked(window, zone, each, delta)
    book = _ledger(ledger)
    name, identity = named_source(book, source, account, covers)
    try:
        opening_of(book, name, budget, Neighbours(neighbours), identity, windows)
    except NoAccountError:
        raise NoAccountError(
            f"There is no account {quoted(name)} in the ledger {book.address!r}. Say what may ever "
            f"be spent on its people: headcount ledger open {shlex.quote(source)} --budget 3. "
            "Nothing was opened."
        ) from None
    opened = book.open_account(
        name, budget, Neighbours(neighbours), identity.covers, shares, windows
    )
    print(visible_lines(str(opened)))
    if opened.has_limit:
        print(f"  {text_bar(opened)}")
    for line in windows_of.lines(book, opened, None):
        print(visible(line))
    named = {analyst for analyst, _ in shares}
    for one in book.quotas(name):
        if one.analyst in named:
            print(f"  {visible(_quota_said(opened, one))}")


def _quota(text: str) -> tuple[str, Share]:
    from headcount.privacy.argument import number_of
    from headcount.privacy.budget import Budget

    analyst, _, epsilon = text.rpartition("=")
    if not analyst:
        raise UsageError(
            "A quota is written analyst=epsilon, such as ann=0.5. Nothing was changed."
        )
    return analyst, 0 if number_of(epsilon) == 0 else Budget(epsilon=epsilon)


def _quota_said(account: Account, quota: Quota) -> str:
    from headcount.accounting.convert import shown
    from headcount.ledger.statement.statement import epsilon_alone

    if quota.spent.rho >= quota.limit.rho:
        more = " more" if quota.spent.rho > 0 else ""
        return f"quota of {quota.analyst}: may spend nothing{more}"
    spent, limit = (shown(epsilon_alone(account, part)) for part in (quota.spent, quota.limit))
    return f"quota of {quota.analyst}: epsilon {spent} of {limit} spent"


@app.command()
def show(
    named: str | None = typer.Argument(None, metavar="[ACCOUNT]", help="Only this account."),
    account: str | None = typer.Option(None, help="The same."),
    windows: str | None = windows_of.SHOWN,
    ledger: str | None = WHERE,
) -> None:
    """Show the budget of each account, and who spent it, when, on which release."""
    from rich.console import Console

    book = there(ledger)
    # A pipe has no width of its own, and must not cut what others read.
    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    print(f"ledger {visible(book.address)}")
    only = account if named is None else account_of(book, named)
    accounts = book.accounts() if only is None else [book.account(only)]
    if not accounts:
        console.print("The ledger has no accounts yet.")
    for one in accounts:
        _show(console, book, one, windows)


def _show(console: Console, book: Ledger, account: Account, windows: str | None) -> None:
    from rich.table import Table
    from rich.text import Text

    from headcount.ledger.opening import is_number
    from headcount.ledger.statement.bar import (
        ADDING_UP,
        is_of_delta,
        percent,
        text_bar,
    )

    def say(text: str) -> None:
        # Not as a string: square brackets and names of emoji would mean something.
        console.print(Text(visible(text)), highlight=False, soft_wrap=True)

    say(str(account))
    if account.has_limit:
        unit = ", of the delta for thresholds" if is_of_delta(account) else ""
        say(f"  {text_bar(account)} {percent(account)} spent{unit}")
        say(f"  epsilon {account.shown_left} left for one release, or for several that cost less")
        say(f"  {ADDING_UP}.")
    for line in windows_of.lines(book, account, windows):
        say(line)
    for quota in book.quotas(account.name):
        say(f"  {_quota_said(account, quota)}")
    for source in filterfalse(is_number, book.covered_by(account.name)):
        say(f"  covers {source}")
    entries = windows_of.about(account, book.entries(account.name), windows)
    if not entries:
        return
    table = Table(box=None, pad_edge=False)
    for name in COLUMNS:
        # Times are for copying: narrow screens break other columns.
        table.add_column(name, no_wrap=name == "charged", overflow="fold")
    for entry in entries:
        table.add_row(
            str(entry.sequence),
            entry.charged_at,
            Text(visible(entry.analyst)),
            Text(visible(entry.title)),
            *windows_of.paid(account, entry),
            entry.rounds_shown or ("stored" if entry.has_result else "none"),
        )
    console.print(table)
    # Not in the table, which would cut them: keys are for copying.
    for entry in entries:
        say(f"  key of entry {entry.sequence}: {visible(entry.key)}")


@app.command()
def result(
    key: str | None = KEY,
    account: str | None = typer.Option(None, help="Only of this account."),
    part: int | None = typer.Option(
        None, help="The round, where the charge pays for several: 0 for the first."
    ),
    out: option.Out = None,
    plot: option.Plot = None,
    report: option.Report = None,
    json: option.Json = False,
    csv: option.AsCsv = False,
    quiet: option.Quiet = False,
    withheld: bool = typer.Option(
        False, "--withheld", help="The rows that a target withheld, instead of those shown."
    ),
    ledger: str | None = WHERE,
) -> None:
    """Show what was released under a key, from the ledger alone. Nothing is read or charged."""
    from headcount.cli.output import Output, files_of_ledger
    from headcount.cli.show import write_and_show
    from headcount.releases.stored import of_withheld, stored_release

    output = Output.asked(out, plot, report, as_json=json, as_csv=csv, quiet=quiet)
    book = there(ledger)
    output.check(files_of_ledger(ledger))
    release = stored_release(book, key, account, part)
    if withheld:
        release = of_withheld(release)
    write_and_show(release, output, release.facts.notes, "The same command shows them again.")


@app.command()
def statement(
    account: str = ACCOUNT,
    out: Path | None = typer.Option(None, help="Write here: .md or .html. Default: the screen."),
    ledger: str | None = WHERE,
) -> None:
    """Write the account's privacy statement, a document to file."""
    from headcount.ledger.statement.statement import statement as written

    as_html = out is not None and out.suffix.lower() == ".html"

    def text() -> str:
        book = there(ledger)
        return written(book, account_of(book, account), as_html=as_html)

    write_text(out, (".md", ".html"), text)


@app.command()
def registry(
    account: str = ACCOUNT,
    out: Path | None = typer.Option(None, help="Write here: .yaml. Default: the screen."),
    ledger: str | None = WHERE,
) -> None:
    """Write the account as a draft record for the public registry of deployments, to fill in."""
    from headcount.ledger.statement.registry import registry_record

    def text() -> str:
        book = there(ledger)
        return registry_record(book, account_of(book, account))

    write_text(out, (".yaml", ".yml"), text)


@app.command()
def grant(
    role: str = typer.Argument(help="analyst, auditor or owner."),
    name: str = typer.Argument(help="A role that can log in to the PostgreSQL server."),
    ledger: str | None = WHERE,
) -> None:
    """Let somebody use a ledger on PostgreSQL: charge, or only read, or own it."""
    print(visible_lines(there(ledger).grant(role, name)))


@app.command()
def revoke(
    name: str = typer.Argument(help="A role of the PostgreSQL server."),
    ledger: str | None = WHERE,
) -> None:
    """Take all of a role's rights on a ledger on PostgreSQL. What it spent stays spent."""
    book = there(ledger)
    book.revoke(name)
    print(visible_lines(f"{name} has no rights on the ledger {book.address} any more."))


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
        book = there(ledger)
        place, history = book.address, book.verify()
    print(f"The ledger {visible(place)} is as it was written.")
    read = "hashes agree" if history.read_results else "named here, and kept elsewhere"
    n_charges = counted(history.n_charges, "charge")
    print(f"  {counted(history.head.sequence, 'entry')}, each with the hash of the one before")
    print(f"  {n_charges} in {counted(len(history.accounts), 'account')}: sums agree, and no")
    print("  charge was below the cost of its event")
    print(f"  {counted(len(history.results), 'stored result')}: {read}")
    if history.parts:
        print(f"  {counted(len(history.parts), 'stored part')} of charges for rounds: {read}")
    print(f"  head {history.head.hash}")
    if copy is not None:
        print(f"  {_how_new(history.head)}")
    if not history.is_noted:
        print("  This machine's head was not moved: the server waits for a standby that is away.")


def _how_new(head: Head) -> str:
    """Whether this machine saw a later entry of the ledger that a copy is of."""
    from headcount.ledger.heads import default_folder, seen_of

    seen = seen_of(head.ledger, default_folder()) if head.ledger else None
    if seen is not None and seen.sequence > head.sequence:
        return (
            f"It is not the newest copy: this machine has seen entry {seen.sequence} of the same "
            "ledger."
        )
    return "A copy cannot show that it is the newest."


@app.command()
def key(ledger: str | None = WHERE) -> None:
    """Show the public key of receipts that are signed here; the first look makes it."""
    print(there(ledger).signing_key().public)


@app.command()
def export(
    out: Path | None = typer.Option(None, help="Write here. Default: the screen."),
    ledger: str | None = WHERE,
) -> None:
    """Write the journal as JSON lines, with its hashes and without the results."""
    import json

    def lines() -> str:
        return "".join(json.dumps(entry) + "\n" for entry in there(ledger).journal())

    write_text(out, (), lines)
