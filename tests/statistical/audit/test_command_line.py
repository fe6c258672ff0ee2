"""The command as a user runs it: nothing it prints, writes or fails with tells of one user."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

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


def count(folder: Path, pair: Pair, with_user: bool) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    pq.write_table(arrow_table(pair.with_user if with_user else pair.base), folder / "t.parquet")
    options = ["--ledger", "l.db", "--account", "a", "--epsilon", "1", "--budget", "1"]
    return run(
        folder, "count-users", "t.parquet", "--user", USER, "--by", GROUP, *options,
        "--out", "out.parquet",
    )  # fmt: skip


def test_two_neighbours_print_the_same_but_for_rows(tmp_path: Path) -> None:
    sides = [count(tmp_path / name, PAIR, name == "with") for name in ("with", "without")]
    for done in sides:
        assert done.returncode == 0, done.stderr
    texts = []
    for done, name in zip(sides, ("with", "without"), strict=True):
        assert MARK not in done.stdout + done.stderr
        assert VICTIM not in done.stdout + done.stderr
        rows = {
            str(row[GROUP]) for row in pq.read_table(tmp_path / name / "out.parquet").to_pylist()
        }
        lines = [line for line in done.stdout.splitlines() if not line.startswith("key ")]
        shown = [line for line in lines if line.split("  ")[0] not in rows]
        header = [line for line in shown if not (line.startswith(GROUP) and "count" in line)]
        texts.append([" ".join(line.split()) for line in header if line.strip()])
    assert texts[0] == texts[1]
    metadata = [
        json.loads(pq.read_schema(tmp_path / name / "out.parquet").metadata[b"headcount"])
        for name in ("with", "without")
    ]
    assert metadata[0] == metadata[1]
    files = [sorted(p.name for p in (tmp_path / name).iterdir()) for name in ("with", "without")]
    assert files[0] == files[1]


def test_audit_ends_with_one_json_line(tmp_path: Path) -> None:
    done = run(tmp_path, "audit", "--json", "--mechanism", "gaussian")
    assert done.returncode == 0, done.stderr
    *cases, last = (json.loads(line) for line in done.stdout.splitlines())
    assert (last["mechanisms"], last["violations"], last["missed"]) == (1, 0, 0)
    assert last["mutants"] == sum(case["is_mutant"] for case in cases) == len(cases) - 1
