"""The command as a user runs it: nothing it prints, writes or fails with tells of one user."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from headcount.audit.neighbours import MARK, VICTIM, Pair, heavy
from headcount.trials.tables import GROUP, USER, arrow_table

NEW = tuple((VICTIM, f"{MARK}-{j}", 1) for j in range(50))
PAIR = Pair("heavy groups, and one user with many new groups", heavy(200), NEW)


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from headcount.cli.main import main; main()", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


def count(folder: Path, pair: Pair, with_user: bool, *how: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    pq.write_table(arrow_table(pair.with_user if with_user else pair.base), folder / "t.parquet")
    options = ["--ledger", "l.db", "--account", "a", "--epsilon", "1", "--budget", "1", *how]
    return run(
        folder, "count-users", "t.parquet", "--user", USER, "--by", GROUP, *options,
        "--out", "out.parquet",
    )  # fmt: skip


@pytest.mark.parametrize("how", [("--bound", "20"), ()])
def test_two_neighbours_print_the_same_but_for_rows(how: tuple[str, ...], tmp_path: Path) -> None:
    """By default also but for notes, whose numbers are drawn as the rows are and are paid for."""
    names = ("with", "without")
    sides = [count(tmp_path / name, PAIR, name == "with", *how) for name in names]
    for done in sides:
        assert done.returncode == 0, done.stderr
    texts, facts = [], []
    for done, name in zip(sides, names, strict=True):
        assert MARK not in done.stdout + done.stderr
        assert VICTIM not in done.stdout + done.stderr
        table = pq.read_table(tmp_path / name / "out.parquet")
        rows = {str(row[GROUP]) for row in table.to_pylist()}
        facts.append(json.loads(table.schema.metadata[b"headcount"]))
        # Which method is taken follows from a noisy profile, and the first note says which.
        notes = [] if how else [facts[-1].pop("method"), *facts[-1].pop("notes")]
        lines = [line for line in done.stdout.splitlines() if not line.startswith("key ")]
        shown = [line for line in lines if line.split("  ")[0] not in rows and line not in notes]
        header = [line for line in shown if not (line.startswith(GROUP) and "count" in line)]
        texts.append([" ".join(line.split()) for line in header if line.strip()])
    assert texts[0] == texts[1]
    assert facts[0] == facts[1]
    files = [sorted(p.name for p in (tmp_path / name).iterdir()) for name in names]
    assert files[0] == files[1]


def test_audit_ends_with_one_json_line(tmp_path: Path) -> None:
    done = run(tmp_path, "audit", "--json", "--mechanism", "gaussian")
    assert done.returncode == 0, done.stderr
    *cases, last = (json.loads(line) for line in done.stdout.splitlines())
    assert (last["mechanisms"], last["violations"], last["missed"]) == (1, 0, 0)
    assert last["mutants"] == sum(case["is_mutant"] for case in cases) == len(cases) - 1
