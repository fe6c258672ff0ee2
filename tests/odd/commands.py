"""Random command lines: most options as they should be, one or two that are not."""

from __future__ import annotations

import contextlib
import io
import random
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main
from tests.odd.values import WORDS

from headcount.cli.commands import app
from headcount.cli.main import main
from headcount.releases.verbs import VERBS

WRITTEN = {
    "--by": "group", "--groups": "groups.txt", "--bound": "2", "--within": "0.2", "--top": "3",
    "--method": "auto", "--users": "100", "--samples": "5", "--of": "x", "--low": "0",
    "--high": "50", "--at": "0.5", "--step": "1", "--per-user": "median", "--range": "0:10",
    "--at-most": "10", "--buckets": "100",
}  # fmt: skip
COMMANDS: Any = typer.main.get_command(app)
OWN = {
    name: {
        option: WRITTEN[option]
        for parameter in COMMANDS.commands[name].params
        for option in parameter.opts
        if option in WRITTEN
    }
    for name in (verb.replace("_", "-") for verb in VERBS)
}
NEEDED = {"--by", "--low", "--high", "--range"}
COMMON = {
    "--user": "user", "--epsilon": "1", "--spend": "1/1000000", "--delta": "1e-6",
    "--budget": "1000", "--account": "web", "--where": "x > 3", "--delimiter": ",",
    "--quote": '"', "--columns": "a,b", "--type": "x=text", "--memory": "1GB",
    "--scratch": ".",
    "--window": "t:day", "--zone": "UTC", "--budget-per-window": "1", "--during": "2026-03",
    "--trusted-view": "ann: yes", "--key": "k", "--out": "rows.csv", "--plot": "p.html",
}  # fmt: skip
ASKED = ["--user=user", "--epsilon=0.1", "--budget=1000", "--ledger=l.db"]
OTHERS = [
    ["start", "{}"], ["start", "ok.parquet", "--ledger", "{}"],
    ["demo", "{}", "--users", "5", "--pages", "3"], ["demo", "d.parquet", "--users", "{}"],
    ["ledger", "show", "--account", "{}"], ["ledger", "show", "--ledger", "{}"],
    ["ledger", "statement", "{}"], ["ledger", "statement", "web", "--out", "{}"],
    ["ledger", "result", "{}"], ["ledger", "result", "k", "--account", "{}", "--out", "{}"],
    ["ledger", "export", "--out", "{}"], ["ledger", "verify", "--ledger", "{}"],
    ["verify", "{}"], ["verify", "{}", "{}", "--public-key", "{}"], ["receipt", "{}"],
    ["receipt", "k", "--out", "{}"], ["ledger", "key", "--ledger", "{}"],
    ["ledger", "registry", "{}"], ["ledger", "registry", "web", "--out", "{}"],
    ["ledger", "open", "{}", "--epsilon", "{}"], ["ledger", "open", "new", "--rho", "{}"],
    ["ledger", "open", "new", "--epsilon", "1", "--quota", "{}"],
    ["ledger", "open", "new", "--epsilon", "1", "--delta", "{}", "--neighbours", "{}"],
    ["ledger", "open", "new", "--epsilon", "1", "--covers", "{}"],
    ["stream", "new", "{}", "--epsilon", "{}", "--buckets", "4"],
    ["stream", "new", "s.state", "--epsilon", "{}", "--groups", "{}"],
    ["stream", "new", "s.state", "--like", "{}"], ["stream", "describe", "{}"],
    ["stream", "snapshot", "{}", "{}"], ["stream", "reseal", "{}"], ["stream", "merge", "{}", "{}"],
    ["stream", "finish", "{}"], ["stream", "finish", "ok.state", "--out", "{}"],
    ["stream", "finish", "ok.state", "--method", "{}", "--confidence", "{}"],
    ["stream", "finish", "ok.state", "--events", "{}"], ["audit", "--mechanism", "{}"],
    ["audit", "--passes", "{}", "--mechanism", "none"], ["{}"], ["--{}"], ["ledger", "{}"],
    ["sql", "ok.parquet", "{}", *ASKED],
    ["sql", "ok.parquet", "SELECT {}, COUNT(*) FROM ok", *ASKED],
    ["sql", "{}", "SELECT COUNT(DISTINCT user) FROM ok", *ASKED],
    ["sql", "ok.parquet", 'SELECT "group", COUNT(*) FROM ok GROUP BY 1 {}', *ASKED],
]  # fmt: skip


def some_command(chooser: random.Random) -> list[str]:
    """A command line; it has an odd word, or an odd choice of options."""
    if chooser.random() < 0.4:
        parts = chooser.choice(OTHERS)
        return [
            part.replace("{}", chooser.choice(WORDS)) if "{}" in part else part for part in parts
        ]
    command = chooser.choice(list(OWN))
    own = OWN[command]
    options = {name: own[name] for name in own if name in NEEDED or chooser.random() < 0.25}
    options["--user"] = "user"
    options[chooser.choice(["--epsilon", "--spend"])] = "1/1000000"
    if "--epsilon" in options:
        options["--epsilon"] = "0.1"
    for name in chooser.sample(list(COMMON), chooser.choice([0, 1, 2])):
        options.setdefault(name, COMMON[name])
    for name in chooser.sample(list(options), chooser.choice([0, 1, 1, 2])):
        options[name] = chooser.choice(WORDS)
    source = chooser.choice(["ok.parquet", "ok.parquet", "ok.parquet", chooser.choice(WORDS)])
    # A shell hands over words; an equals sign keeps those that begin with a dash apart.
    said = [command, source, *(f"{name}={value}" for name, value in options.items())]
    said.append(f"--ledger={'l.db' if chooser.random() < 0.95 else chooser.choice(WORDS)}")
    return said


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


def run(arguments: list[str], folder: Path) -> Ended:
    """Run a command in this process, as a shell would in that folder."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(sys, "argv", ["headcount", *arguments]),
    ):
        try:
            main()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return Ended(code, out.getvalue(), err.getvalue())
