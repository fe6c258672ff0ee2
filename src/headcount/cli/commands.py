"""``headcount``: all commands, each under its name."""

from __future__ import annotations

import typer

from headcount.cli import (
    audit,
    count_events,
    count_ranges,
    count_users,
    demo,
    distribution,
    frequencies,
    ledger,
    profile,
    quantiles,
    stream,
)
from headcount.cli.verb import verb
from headcount.version import __version__

NOT_PROMISED = (
    "Privacy is promised for what is released, not for timing, memory, or whoever runs the machine."
)

app = typer.Typer(
    name="headcount",
    help="Publish counts about people without betraying any one of them.",
    epilog=NOT_PROMISED,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("count-users")(verb(count_users.count_users))
app.command("count-events")(verb(count_events.count_events))
app.command("distribution")(verb(distribution.distribution))
app.command("profile")(verb(profile.profile))
app.command("quantiles")(verb(quantiles.quantiles))
app.command("count-ranges")(verb(count_ranges.count_ranges))
app.command("frequencies")(verb(frequencies.frequencies))
app.command("demo")(demo.demo)
app.command("audit")(audit.audit)
app.add_typer(ledger.app, name="ledger")
app.add_typer(stream.app, name="stream")


@app.callback(invoke_without_command=True)
def top(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    """Publish counts about people without betraying any one of them."""
    if version:
        print(__version__)
        raise typer.Exit
