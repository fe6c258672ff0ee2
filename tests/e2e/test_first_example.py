"""README alone, from an empty folder and an empty environment: install, count, show, prove.

Its commands run as they are printed, from the wheel. What was typed and printed, with times, is
left beside as ``transcript.txt``.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import time
import venv
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headcount.version import __version__

ROOT = Path(__file__).parents[2]
MOST_COMMANDS = 9
MOST_CPU = 180
"""Seconds: what all commands take together on a machine that does nothing else is less."""
MOST = 1100


def printed_commands() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert first is not None
    return [line.removeprefix("$ ") for line in first.group(1).splitlines()]


def pins() -> str:
    """What a bare ``pip install headcount`` takes: this version, and the versions we lock."""
    lock = (ROOT / "requirements" / "dev.lock").read_text(encoding="utf-8")
    locked = re.findall(r"^([A-Za-z0-9_.-]+==[^\s\\]+(?: ; [^\\\n]+)?)", lock, re.MULTILINE)
    return "\n".join([f"headcount=={__version__}", *(pin.strip() for pin in locked)])


def links(folder: Path) -> str:
    """Where else this machine's pip looks for wheels; ours is looked for beside."""
    ask = [str(folder / "venv" / "bin" / "pip"), "config", "get", "global.find-links"]
    return subprocess.run(ask, capture_output=True, text=True, check=False).stdout.strip()


class Shell:
    """An empty folder and an empty environment, in which commands are typed."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.place = folder / "place"
        self.place.mkdir()
        venv.create(folder / "venv", with_pip=True)
        (folder / "pins.txt").write_text(pins(), encoding="utf-8")
        outside = {k: v for k, v in os.environ.items() if not k.startswith(NOT_TAKEN)}
        self.environment = {
            **outside,
            "PATH": f"{folder / 'venv' / 'bin'}:/usr/bin:/bin",
            "PIP_CONSTRAINT": str(folder / "pins.txt"),
            "PIP_FIND_LINKS": f"{wheel.parent} {links(folder)}",
            "HOME": str(folder),
            # Home is a temporary folder here, where no ledger begins by itself.
            "HEADCOUNT_LEDGER": str(folder / "ledger.db"),
            "COLUMNS": "120",
        }
        self.transcript = ""

    def type(self, command: str) -> subprocess.CompletedProcess[str]:
        began = time.monotonic()
        ran = subprocess.run(
            ["bash", "-c", command],
            cwd=self.place,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        took = time.monotonic() - began
        self.transcript += f"$ {command}\n{ran.stdout}{ran.stderr}({took:.1f} s)\n\n"
        return ran


NOT_TAKEN = ("PYTHON", "HEADCOUNT", "UV_", "VIRTUAL_ENV", "COLUMNS")


@pytest.mark.slow
def test_readme_takes_a_new_user_from_nothing_to_a_receipt_that_verifies(
    wheel: Path, tmp_path: Path
) -> None:
    commands = printed_commands()
    assert len(commands) <= MOST_COMMANDS
    shell = Shell(tmp_path, wheel)
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    printed: dict[str, str] = {}
    for command in commands:
        ran = shell.type(command)
        assert ran.returncode == 0, shell.transcript
        assert "Traceback" not in ran.stderr
        printed[command] = ran.stdout
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    shell.transcript += f"{len(commands)} commands, {wall:.0f} s, of which {cpu:.0f} s of CPU\n"
    (tmp_path / "transcript.txt").write_text(shell.transcript, encoding="utf-8")
    print(shell.transcript)
    assert cpu < MOST_CPU
    assert wall < MOST
    check_what_was_made(shell.place, printed, commands)
    again = shell.type(commands[2].replace("--epsilon 1", "--epsilon 3"))
    assert again.returncode == 3
    assert "Nothing was read and nothing was charged." in again.stderr


def check_what_was_made(place: Path, printed: dict[str, str], commands: list[str]) -> None:
    _, demo, count, _, show, _, _, verify = commands
    assert f"Next: {count}\n" in printed[demo], "demo suggests another first question than README"
    rows = pq.read_table(place / "pages.parquet")
    assert rows.column_names == ["page", "count", "low", "high", "sd"]
    assert rows.num_rows > 50
    assert "Plan: count users by page" in printed[count]
    assert "13.1 % spent" in printed[show]
    assert (place / "pages.svg").read_text().startswith("<svg")
    assert "<h1>Users by page</h1>" in (place / "pages.html").read_text()
    assert "Privacy statement" in (place / "statement.html").read_text()
    assert "has them all, as they were released" in printed[verify]
