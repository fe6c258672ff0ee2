"""Every Python example in the README and the docs runs, top to bottom, as printed.

In tutorials the commands run too, in their turn.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = [
    path
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if BLOCK.search(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_examples_of_a_page_run(
    page: Path, demo_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_tutorial = page.parent.name == "tutorials"
    if not is_tutorial:  # those begin in an empty folder
        shutil.copy(demo_file, tmp_path / "events.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEADCOUNT_LEDGER", str(tmp_path / "ledger.db"))
    names: dict[str, object] = {}
    for language, block in STEP.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(block, str(page), "exec"), names)
        elif is_tutorial:
            run_commands(block)


def run_commands(block: str) -> None:
    for line in block.splitlines():
        if line.startswith("$ headcount"):
            command = [str(Path(sys.executable).with_name("headcount")), *shlex.split(line)[2:]]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
