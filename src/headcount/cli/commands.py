"""``headcount``: all commands, each under its name."""

from __future__ import annotations

import typer

from headcount.cli import audit, demo, doctor, fleet, ledger, receipt, run, start, stream
from headcount.cli.examples import show_examples
from headcount.cli.verb import verb
from headcount.releases.verbs import STATED
from headcount.version import __version__

NOT_PROMISED = (
    "Privacy is promised for what is released, not for timing, memory, or whoever runs the machine."
)

app = typer.Typer(
    name="headcount",
    help="Publish counts about people without betraying any one of them.",
    epilog=NOT_PROMISED,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for name in STATED:
    app.command(name.replace("_", "-"))(verb(name))
app.command("run")(run.run)
app.command("start")(start.start)
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)
app.command("audit")(audit.audit)
app.command("receipt")(receipt.receipt)
app.command("verify")(receipt.verify)
app.add_typer(ledger.app, name="ledger")
app.add_typer(stream.app, name="stream")
app.add_typer(fleet.app, name="fleet")
show_examples(app)


@app.callback(invoke_without_command=True)
def top(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    """Publish counts about people without betraying any one of them."""
    if version:
        print(__version__)
        raise typer.Exit
