"""``headcount`` from a shell: run a command, and end as the page on exit codes says.

Little is imported before ``main`` begins, so that Ctrl-C while the rest is imported ends quietly.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

from headcount.cli import terminal
from headcount.stops import heeding_stops

STOPPED = 130


def main() -> None:
    """Run a command; an error of ours ends with its text and its own exit code, no traceback."""
    terminal.take_any_text()
    terminal.say_warnings()
    try:
        with heeding_stops():
            code = _run()
        terminal.let_go()
    except KeyboardInterrupt:
        code = _stopped()
    sys.exit(code)


def _stopped() -> int:
    """A release that was stopped says itself what was charged; this is for all other moments."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    from headcount.cli.stopped import last_words

    print(f"headcount: {last_words()}", file=sys.stderr)
    terminal.let_go()
    return STOPPED


def _run() -> int:
    import typer

    from headcount.cli.commands import app
    from headcount.cli.spelling import in_shell
    from headcount.errors import HeadcountError
    from headcount.results.output import reason
    from headcount.screens import visible_lines

    try:
        code = app(standalone_mode=False)
        terminal.flush()
    except HeadcountError as error:
        said = in_shell(str(error))
        if sys.argv[1:2] == ["stream"]:
            said = said.replace("Nothing was charged", "Nothing was changed")
        print(f"headcount: {visible_lines(said)}", file=sys.stderr)
        return error.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except BrokenPipeError:  # whoever read the output has left
        return 1
    except OSError as error:
        print(
            f"headcount: The system failed: {reason(error)}. Whether something was charged is in "
            "the ledger (headcount ledger show), with its result.",
            file=sys.stderr,
        )
        return 1
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        return _misspelt(error)
    if code == STOPPED:  # what Typer makes of Ctrl-C
        raise KeyboardInterrupt
    return int(code or 0)


def _misspelt(error: Any) -> int:
    """Show what the parser of the command line says, which repeats what was given."""
    from typer.rich_utils import rich_format_error

    from headcount.screens import visible, without_addresses

    error.message = visible(without_addresses(str(error.message), sys.argv[1:]))
    rich_format_error(error)
    return int(error.exit_code)
