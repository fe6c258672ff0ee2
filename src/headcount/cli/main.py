"""``headcount``: the commands, and how errors end."""

from __future__ import annotations

import sys
from typing import Any

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
    terminal,
)
from headcount.cli.verb import verb
from headcount.errors import HeadcountError
from headcount.releases.output import reason
from headcount.screens import visible, visible_lines, without_addresses
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


def main() -> None:
    """Run a command; an error of ours ends with its text and its own exit code, no traceback."""
    terminal.take_any_text()
    try:
        code = app(standalone_mode=False)
        terminal.flush()
    except HeadcountError as error:
        print(f"headcount: {visible_lines(str(error))}", file=sys.stderr)
        code = error.exit_code
    except (typer.Abort, BrokenPipeError):  # whoever read the output has left
        code = 1
    except OSError as error:
        print(
            f"headcount: The system failed: {reason(error)}. Whether something was charged is in "
            "the ledger (headcount ledger show), with its result.",
            file=sys.stderr,
        )
        code = 1
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        code = _misspelt(error)
    terminal.let_go()
    sys.exit(code)


def _misspelt(error: Any) -> int:
    """Show what the parser of the command line says, which repeats what was given."""
    from typer.rich_utils import rich_format_error

    error.message = visible(without_addresses(str(error.message), sys.argv[1:]))
    rich_format_error(error)
    return int(error.exit_code)
