"""Examples of every command: under its help, and each of them works. And Tab completes in bash."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import typer.main

from headcount.cli.commands import app
from headcount.cli.examples import EXAMPLES

ON_POSTGRES = ("ledger grant", "ledger revoke")
"""What is for ledgers on a server; the folder of this test has a file."""
ON_A_FLEET = (
    *("fleet apply", "fleet rounds", "fleet release", "fleet serve ingest", "fleet serve control"),
    *("fleet aggregate", "fleet prepare", "fleet token make", "fleet token revoke"),
    *("fleet allow", "fleet withdraw", "fleet allowed"),
)
"""What needs PostgreSQL: tests/service/test_fleet_commands.py and others beside it run it."""
UNTIL_ENDED = ("fleet relay", "fleet core")
"""Servers, which the same tests start and end."""
TASK = """\
task: top_app
population: phones
owner: fleet-analytics@example.com
purpose: Which app is used most, per day
expires: {expires}
question: {{max_bytes: 64, pattern: "[a-z0-9._-]+"}}
rounds: {{every: 1d, keep_open: 18h, n: 30}}
spend: {{account: app-users, epsilon: 1}}
"""
RELEASES = """\
source: small.parquet
user: user_id
window: time:day
budget: {rho: 0.1, delta: 1e-6, per: day}
start: 2026-01-01
account: small
out: published/{release}/day={window}.parquet
releases:
  pages: {count_users: {by: page, bound: 10}, spend: 1/2}
"""


def paths(command: Any, within: str = "") -> Iterator[str]:
    for name, one in command.commands.items():
        if hasattr(one, "commands"):
            yield from paths(one, f"{within}{name} ")
        else:
            yield f"{within}{name}"


@pytest.fixture
def shell(headcount_command: str, tmp_path: Path) -> Any:
    environment = {
        **os.environ,
        "PATH": f"{Path(headcount_command).parent}:{os.environ['PATH']}",
        "HEADCOUNT_LEDGER": str(tmp_path / "ledger.db"),
        "HEADCOUNT_HEADS": str(tmp_path / "heads"),
        "COLUMNS": "500",
        "TERM": "dumb",
    }

    def typed(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return typed


@pytest.mark.slow
def test_every_command_has_examples_that_work(shell: Any, tmp_path: Path) -> None:
    expires = datetime.now(UTC).date() + timedelta(days=60)
    (tmp_path / "task.yaml").write_text(TASK.format(expires=expires))
    (tmp_path / "releases.yaml").write_text(RELEASES)
    assert set(paths(typer.main.get_command(app))) == set(EXAMPLES)
    for path, examples in EXAMPLES.items():
        for example in () if path in UNTIL_ENDED else examples:
            ran = shell(example)
            if path == "fleet simulate":
                # It starts a server of its own; tests/service/test_fleet_simulate.py looks closer.
                assert ran.returncode == 0 or "none is installed here" in ran.stderr, example
            elif path in (*ON_POSTGRES, *ON_A_FLEET):
                assert ran.returncode in (2, 4), example
                assert "PostgreSQL" in ran.stderr
            else:
                assert ran.returncode == 0, f"{example}\n{ran.stdout}{ran.stderr}"


@pytest.mark.parametrize("path", ["count-users", "sql", "ledger result", "stream new"])
def test_examples_are_under_the_help(shell: Any, path: str) -> None:
    said = " ".join(shell(f"headcount {path} --help").stdout.split())
    for example in EXAMPLES[path]:
        assert " ".join(example.split()) in said


COMPLETED = {
    "headcount count-": {"count-users", "count-events", "count-ranges"},
    "headcount ledger st": {"statement"},
    "headcount count-users --wit": {"--within"},
    "headcount verify --pub": {"--public-key"},
}


@pytest.mark.parametrize("line", COMPLETED)
def test_tab_completes_in_bash(shell: Any, line: str) -> None:
    words = line.split()
    # As bash does when Tab is pressed: it calls the function that was sourced.
    script = f"""
        source <(_HEADCOUNT_COMPLETE=source_bash headcount)
        COMP_WORDS=({" ".join(words)}) COMP_CWORD={len(words) - 1}
        $(complete -p headcount | sed 's/.*-F \\([^ ]*\\).*/\\1/') headcount
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    ran = shell(script)
    assert ran.returncode == 0, ran.stderr
    assert set(ran.stdout.split()) == COMPLETED[line]
