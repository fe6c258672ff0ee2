"""Write docs/reference/cli.md from the commands themselves; a test checks that it is up to date."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import typer.main

from headcount.cli.commands import NOT_PROMISED, app
from headcount.cli.examples import EXAMPLES
from headcount.releases.dataset import Dataset
from headcount.releases.verbs import STATED

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "cli.md"


def _option(parameter: Any) -> str:
    text = getattr(parameter, "help", None) or ""
    if parameter.param_type_name == "argument":
        return f"| `{(parameter.name or '').upper()}` | {text} |"
    need = " (required)" if parameter.required else ""
    default = ""
    if parameter.default not in (None, False, (), []) and not callable(parameter.default):
        default = f" Default: `{parameter.default}`."
    names = [*parameter.opts, *parameter.secondary_opts]
    return f"| `{', '.join(names)}` | {text}{need}{default} |"


def _command(path: str, command: Any) -> list[str]:
    if hasattr(command, "commands"):
        lines: list[str] = []
        for name in sorted(command.commands):
            lines += _command(f"{path} {name}", command.commands[name])
        return lines
    lines = [
        f"## {path}",
        "",
        (command.help or "").strip(),
        "",
        *_in_python(path.split()[-1].replace("-", "_")),
        "| option | meaning |",
        "|---|---|",
    ]
    lines += [_option(p) for p in command.params if p.name not in ("help",)]
    return [*lines, "", *_examples(path.removeprefix("headcount "))]


def _examples(path: str) -> list[str]:
    said = EXAMPLES.get(path, ())
    return ["```console", *(f"$ {one}" for one in said), "```", ""] if said else []


def _in_python(verb: str) -> list[str]:
    """The method that a command calls, where it is a verb."""
    if verb not in STATED:
        return []
    parameters = list(inspect.signature(getattr(Dataset, verb)).parameters.values())[1:]
    said = [one.name for one in parameters]
    said.insert(sum(one.kind is not one.KEYWORD_ONLY for one in parameters), "*")
    return [f"In Python: `data.{verb}({', '.join(said)})`.", ""]


def page() -> str:
    """The page as it should be."""
    root = typer.main.get_command(app)
    lines = [
        "# Command line",
        "",
        NOT_PROMISED,
        "",
        *_command("headcount", root),
        "## Exit codes",
        "",
        "| code | meaning |",
        "|---|---|",
        "| 0 | done |",
        "| 1 | a fault of the system; `headcount ledger show` says what was charged |",
        "| 2 | the request makes no sense; nothing was read, nothing was charged |",
        "| 3 | the account cannot pay; nothing was read, nothing was charged |",
        "| 4 | the ledger, or a receipt, cannot be trusted or used as asked; nothing is released, "
        "and nothing was charged unless the message says so |",
        "| 5 | the engine failed after the charge; the charge stays |",
        "| 6 | `headcount audit` found a violation, or missed a mutant; `headcount run`: a window "
        "is lost, or will be within 14 days, since its rows are deleted then |",
        "| 7 | a file could not be written; what was paid for is stored, and the message says how "
        "to have it without a charge. `headcount run`, which ends with 1 for that: a window is not "
        "ready, nothing was charged for it, and all else was released |",
        "| 8 | the database of a fleet cannot be used, or not as asked |",
        "| 130 | stopped by you with Ctrl-C; the message says what was charged, and the same "
        "command finishes it without a second charge (leave `--fresh` out, unless it had a "
        "`--key`). What `headcount stream add` counted is kept |",
        "| 129, 143 | `headcount stream add` was stopped by the system (SIGHUP, SIGTERM); what it "
        "counted is kept |",
        "",
        "What a command is to write is checked before the charge: its ending, its folder, its "
        "permissions, the space there is, and that it is neither the source nor the ledger.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
