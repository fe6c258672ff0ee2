"""Every Python example and every command in the README and the docs runs, in its turn, as printed.

What a page shows as output is what comes out, but for numbers: noise is drawn again each time.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STEP = re.compile(r"^```(python|console|output)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LANGUAGES = {"python", "console", "output", "text", "sql", "typescript", ""}
PAGES = [
    path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if STEP.search(path.read_text(encoding="utf-8"))
]
SERVER = (
    "needs a PostgreSQL server and its roles: tests/service/test_share.py runs the page's SQL and "
    "grants on one, and calls of the library in place of its other commands"
)
NOT_RUN = {
    ("*", "pip install"): "needs the network; tests/e2e/test_first_example.py installs the wheel",
    ("how-to/share-a-budget.md", ""): SERVER,
    ("how-to/fleet.md", ""): (
        "needs PostgreSQL and devices: tests/service/test_fleet_commands.py types these commands"
    ),
    ("how-to/fleet-simulate.md", ""): (
        "needs PostgreSQL: tests/service/test_fleet_simulate.py runs the command"
    ),
    ("how-to/fleet-control.md", ""): (
        "needs PostgreSQL: tests/service/test_fleet_commands.py and test_fleet_control.py ask the "
        "same, and not by curl"
    ),
    ("explanation/fleet.md", "headcount fleet"): "the same",
    ("how-to/fleet-typescript.md", "just"): (
        "needs npm: tests/service/test_fleet_typescript.py runs the client"
    ),
    ("how-to/fleet-attestation.md", "headcount fleet"): (
        "needs PostgreSQL and a core: tests/service/test_fleet_evidence.py types these commands"
    ),
    ("how-to/ledger.md", "chgrp auditors"): "needs a group of the machine's",
    ("how-to/before-spending.md", "headcount start"): (
        "asks in a terminal; tests/e2e/test_start.py answers"
    ),
    ("reference/cli.md", ""): "tests/e2e/test_examples.py runs these, from top to bottom",
    ("how-to/stream.md", "tail -n 0 -F"): "follows a log, and never ends",
    ("explanation/how-we-test-privacy.md", "headcount audit"): (
        "takes minutes: run by just audit and tests/statistical/audit"
    ),
}
"""Commands that are shown and not run here, by page and beginning, and why."""
NEEDED = {
    "how-to/stream.md": {
        "pages.txt": "home\nhelp\n",
        "events.jsonl": '{"page": "home"}\n',
        "pages.hcs": None,
    },
}
"""Files that commands of a page are about; those of no text must not be there yet."""


def reason(page: str, command: str) -> str | None:
    for (where, begins), why in NOT_RUN.items():
        if where in ("*", page) and command.startswith(begins):
            return why
    return None


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix().removeprefix("docs/")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_examples_of_a_page_run(
    page: Path, demo_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page_name = name_of(page)
    if page_name == "tutorials/spark.md" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    begins_empty = page.parent.name == "tutorials"
    if not begins_empty:
        shutil.copy(demo_file, tmp_path / "events.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADCOUNT_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    names: dict[str, object] = {}
    said = ""
    for language, block in STEP.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            if reason(page_name, block):
                continue
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile(block, str(page), "exec"), names)
            said = printed.getvalue()
        elif language == "console":
            for name, text in NEEDED.get(page_name, {}).items():
                Path(name).unlink(missing_ok=True)
                if text is not None:
                    Path(name).write_text(text)
            said = run_commands(page_name, block)
        else:
            assert_shown(page_name, block, said)


def run_commands(page: str, block: str) -> str:
    """Run each line that begins with a prompt; the lines after it are what it prints."""
    everything = ""
    for part in re.split(r"^\w*\$ ", block, flags=re.MULTILINE)[1:]:
        command, *output = part.splitlines()
        if reason(page, command):
            continue
        if command == "headcount demo" and Path("events.parquet").exists():
            continue
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {command}"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        everything += done.stdout + done.stderr
        assert_shown(page, "\n".join(output), done.stdout + done.stderr)
    return everything


def masked(line: str) -> str:
    """A line without its numbers, names of files, bars and blanks."""
    line = re.sub(r"'?/[\w./-]+'?", "PATH", re.sub(r"[█░]+", "BAR", line))
    return " ".join(re.sub(r"[\d.,]*\d(e[+-]?\d+)?", "N", line).split())


def assert_shown(page: str, shown: str, said: str) -> None:
    """Every line that a page shows came out, in order."""
    lines = iter([masked(line) for line in said.splitlines()])
    for line in filter(None, map(masked, shown.splitlines())):
        if line != "…":
            assert any(line == one for one in lines), (page, line, said)


def test_every_block_is_of_a_kind_that_is_run_or_listed() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        fences = re.findall(r"^```(\w*)$", page.read_text("utf-8"), re.MULTILINE)
        assert set(fences[::2]) <= LANGUAGES, page


def test_no_code_hides_in_other_blocks() -> None:
    """What is indented, or called text, is not run."""
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = page.read_text("utf-8")
        outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
        assert not re.search(r"\n\n    (?![-*] |\d+\. )\S", outside), page
        for block in re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            assert not re.search(r"^(\$ |import |from \S+ import )", block, re.MULTILINE), page


def test_what_is_not_run_is_still_on_its_page() -> None:
    for page, begins in NOT_RUN:
        texts = [one.read_text("utf-8") for one in PAGES if page in ("*", name_of(one))]
        assert any(f"$ {begins}" in text for text in texts), (page, begins)
