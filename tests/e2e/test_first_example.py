"""The README's first example, exactly as printed, from the wheel, in an empty environment."""

from __future__ import annotations

import os
import re
import subprocess
import venv
from pathlib import Path

import pyarrow.parquet as pq

ROOT = Path(__file__).parents[2]


def printed_commands() -> list[str]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert first is not None
    return [line.removeprefix("$ ") for line in first.group(1).splitlines()]


def pins(wheel: Path) -> str:
    """What a bare ``pip install headcount`` takes: this wheel, and the versions we lock."""
    lock = (ROOT / "requirements" / "dev.lock").read_text(encoding="utf-8")
    locked = re.findall(r"^([A-Za-z0-9_.-]+==[^\s\\]+(?: ; [^\\\n]+)?)", lock, re.MULTILINE)
    return "\n".join([f"headcount @ file://{wheel}", *(pin.strip() for pin in locked)])


def test_five_commands_take_a_new_user_to_a_first_count(wheel: Path, tmp_path: Path) -> None:
    commands = printed_commands()
    assert len(commands) <= 5
    place = tmp_path / "place"
    place.mkdir()
    venv.create(tmp_path / "venv", with_pip=True)
    (tmp_path / "pins.txt").write_text(pins(wheel), encoding="utf-8")
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "HEADCOUNT", "UV_"))},
        "PATH": f"{tmp_path / 'venv' / 'bin'}:/usr/bin:/bin",
        "PIP_CONSTRAINT": str(tmp_path / "pins.txt"),
        "HOME": str(tmp_path),
        # Home is a temporary folder here, where no ledger begins by itself.
        "HEADCOUNT_LEDGER": str(tmp_path / "ledger.db"),
        "COLUMNS": "120",
    }
    printed = ""
    for command in commands:
        ran = subprocess.run(
            ["bash", "-c", command],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
        printed += ran.stdout
    rows = pq.read_table(place / "pages.parquet")
    assert rows.column_names == ["page", "count", "low", "high", "sd"]
    assert rows.num_rows > 50
    assert "Plan: count users by page" in printed
    assert re.search(r"epsilon (1|0\.9\d+) of 3 spent", printed)
    again = subprocess.run(
        ["bash", "-c", commands[2].replace("--epsilon 1", "--epsilon 3")],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 3
    assert "Nothing was read and nothing was charged." in again.stderr
