"""Rows for other programs: all of them on standard output, and nothing else there."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(headcount_command: str, tmp_path: Path) -> Run:
    """A command in a folder with a table of three large groups, one of them not a plain text."""
    rows = [(user, group) for group in ("plain", "=1+1", "a\x1b[31mb") for user in range(500)]
    users, groups = zip(*rows, strict=True)
    table = pa.table({"user": users, "page": groups})
    pa.parquet.write_table(table, tmp_path / "events.parquet")

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [headcount_command, *words, "--ledger", "ledger.db"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )

    return command


COUNT = (
    "count-users", "events.parquet", "--user", "user", "--by", "page", "--epsilon", "5",
    "--budget", "9",
)  # fmt: skip


def test_rows_as_json_alone(run: Run) -> None:
    done = run(*COUNT, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert {row["page"] for row in said["rows"]} == {"plain", "=1+1", "a\x1b[31mb"}
    assert all(row["low"] <= row["count"] <= row["high"] for row in said["rows"])
    assert said["facts"]["asked"]["by"] == "page"
    assert said["facts"]["key"]
    # People who look see the plan, the promise and who paid.
    assert "Plan: count users by page" in done.stderr
    assert "paid by entry" in done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("words", [("--csv",), ("--out", "-")])
def test_rows_as_csv_alone(run: Run, words: tuple[str, ...], tmp_path: Path) -> None:
    done = run(*COUNT, *words)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {row["page"] for row in rows} == {"plain", "'=1+1", "a\x1b[31mb"}
    assert not (tmp_path / "-").exists()
    run(*COUNT, "--out", "rows.csv")
    assert (tmp_path / "rows.csv").read_text() == done.stdout


def test_quiet_is_quiet(run: Run) -> None:
    first = run(*COUNT, "--json")
    done = run(*COUNT, "--json", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["rows"] == json.loads(first.stdout)["rows"]
    table = run(*COUNT, "-q")
    assert table.stderr == ""
    assert "plain" in table.stdout
    assert "epsilon" not in table.stdout


def test_a_stored_release_is_piped_too(run: Run) -> None:
    said = json.loads(run(*COUNT, "--json").stdout)
    done = run("ledger", "result", said["facts"]["key"], "--json")
    assert json.loads(done.stdout)["rows"] == said["rows"]


def test_one_way_at_a_time(run: Run, tmp_path: Path) -> None:
    done = run(*COUNT, "--json", "--out", "-")
    assert done.returncode == 2
    assert "--json and --out - both write the rows" in done.stderr
    assert not (tmp_path / "ledger.db").exists()


def test_a_terminal_gets_no_escapes_of_others(
    run: Run, headcount_command: str, tmp_path: Path
) -> None:
    run(*COUNT)
    keeper, terminal = pty.openpty()
    subprocess.run(
        [headcount_command, *COUNT, "--csv", "-q", "--ledger", "ledger.db"],
        cwd=tmp_path,
        stdout=terminal,
        check=True,
    )
    os.close(terminal)
    shown = os.read(keeper, 1 << 16).decode()
    os.close(keeper)
    assert "a\\x1b[31mb" in shown
    assert "\x1b" not in shown


def test_stages_have_times_on_a_terminal_and_are_silent_elsewhere(
    run: Run, headcount_command: str, tmp_path: Path
) -> None:
    elsewhere = run(*COUNT)
    assert "reading" not in elsewhere.stderr
    keeper, terminal = pty.openpty()
    subprocess.run(
        [headcount_command, *COUNT, "--fresh", "--epsilon", "1", "--ledger", "ledger.db"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=terminal,
        check=True,
    )
    os.close(terminal)
    shown = os.read(keeper, 1 << 20).decode()
    os.close(keeper)
    assert re.search(r"\d\.\d s  \w+", shown)
    quiet_keeper, quiet = pty.openpty()
    subprocess.run(
        [headcount_command, *COUNT, "-q", "--ledger", "ledger.db"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=quiet,
        check=True,
    )
    os.write(quiet, b"end")
    assert os.read(quiet_keeper, 1 << 16) == b"end"
    os.close(quiet)
    os.close(quiet_keeper)


def test_the_doctor_finds_what_works_and_makes_nothing(
    headcount_command: str, tmp_path: Path
) -> None:
    clean = {name: value for name, value in os.environ.items() if "HEADCOUNT" not in name}
    clean |= {"HOME": str(tmp_path), "XDG_DATA_HOME": "", "XDG_CONFIG_HOME": ""}

    def look(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [headcount_command, "doctor", *words], env=clean, capture_output=True, text=True
        )

    place = str(tmp_path / "ledger.db")
    fine = look("--ledger", place)
    assert fine.returncode == 0, fine.stdout
    for what in ("headcount", "DuckDB", "entropy", "ledger", "heads", "free disk"):
        assert f"\nok     {what}" in f"\n{fine.stdout}"
    assert list(tmp_path.iterdir()) == []
    Path(place).write_bytes(b"this is no ledger at all" * 100)
    ill = look("--ledger", place)
    assert ill.returncode == 1
    assert "\nWRONG  ledger" in ill.stdout
    assert "\nok     free disk" in ill.stdout
    secret = look("--ledger", "postgresql://me:hunter2@127.0.0.1:1/none")
    assert secret.returncode == 1
    assert "hunter2" not in secret.stdout + secret.stderr


def test_a_plan_as_json_alone_and_never_as_csv(run: Run, tmp_path: Path) -> None:
    planned = run(*COUNT, "--plan", "--json")
    assert planned.returncode == 0, planned.stderr
    said = json.loads(planned.stdout)
    assert said["plan"] == "count users by page"
    assert said["cost"]["epsilon"] == "5"
    assert said["asked"] == {"user": "user", "by": "page"}
    assert said["answered_by"] is None
    for words in (("--csv",), ("--out", "-")):
        refused = run(*COUNT, "--plan", *words)
        assert refused.returncode == 2
        assert "--plan --json" in refused.stderr
        assert refused.stdout == ""
    assert not (tmp_path / "ledger.db").exists()


def test_the_gist_of_a_plan_and_all_of_it(run: Run) -> None:
    first = run(*COUNT)
    assert "  you get " in first.stdout
    assert "\n  rules " not in first.stdout
    assert "--explain" in first.stdout
    assert "\n  rules " in run(*COUNT, "--explain").stdout
    assert "\n  rules " in run(*COUNT, "--plan").stdout


def test_a_shell_is_told_what_to_write_in_a_shell(run: Run, tmp_path: Path) -> None:
    # As large as 6,000 over their number, so that some keep a target and others do not.
    sizes = [(group, 6000 // (group + 1)) for group in range(120)]
    rows = [(31 * group + user, f"g{group:03}") for group, size in sizes for user in range(size)]
    users, groups = zip(*rows, strict=True)
    pa.parquet.write_table(pa.table({"user": users, "page": groups}), tmp_path / "events.parquet")
    done = run(*COUNT, "--within", "0.05")
    assert done.returncode == 0, done.stderr
    assert "measured rows are withheld" in done.stdout
    for text in (done.stdout, done.stderr, run(*COUNT, "--within", "0.05", "--key", "x").stderr):
        assert "release." not in text
        assert "=True" not in text
        assert "again=" not in text
    (command,) = [
        line.split("paid for: headcount ")[1].split(" shows")[0]
        for line in done.stdout.splitlines()
        if "--withheld shows them" in line
    ]
    withheld = run(*command.split(), "--json")
    assert withheld.returncode == 0, withheld.stderr
    shown = {
        row["page"] for row in json.loads(run(*COUNT, "--within", "0.05", "--json").stdout)["rows"]
    }
    others = {row["page"] for row in json.loads(withheld.stdout)["rows"]}
    assert others
    assert not others & shown
    none = run("ledger", "result", run(*COUNT).stdout.split("\nkey ")[1].split()[0], "--withheld")
    assert none.returncode == 2
    assert "No row of this release was withheld" in none.stderr
