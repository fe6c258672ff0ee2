"""What the commands of a ledger say, from a shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path, demo_file: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``python -m headcount`` beside a file of events, with a ledger and heads of its own."""
    monkeypatch.setenv("HEADCOUNT_HEADS", str(tmp_path / "heads"))
    monkeypatch.setenv("HEADCOUNT_LEDGER", "l.db")
    shutil.copy(demo_file, tmp_path / "events.parquet")

    def command(*words: str, code: int = 0) -> str:
        ran = subprocess.run(
            [sys.executable, "-m", "headcount", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr

    return command


COUNT = ("count-users", "events.parquet", "--user=user_id", "--by=page", "--epsilon=1")


def test_what_is_left_is_rounded_down_everywhere(run: Run) -> None:
    run(*COUNT, "--budget=3")
    (shown,) = re.findall(r"epsilon (\S+) left for one release", run("ledger", "show"))
    (account,) = re.findall(r"account '(.*?)'", run("ledger", "show"))
    (stated,) = re.findall(
        r"one more release of epsilon ([\d.]+)\.", run("ledger", "statement", account)
    )
    assert shown == stated
    plan = run(*COUNT, f"--epsilon={shown}", "--fresh", "--plan")
    assert "left after" in plan, "what is shown can be asked for"


def test_shares_add_up_and_it_is_said_that_epsilons_do_not(run: Run) -> None:
    plan = run(*COUNT, "--budget=3", "--plan")
    assert re.search(r"share +13 % of the budget; about six more like this after it\. Shares", plan)
    run("profile", *COUNT[1:-1], "--epsilon=2", "--budget=3")
    run("profile", *COUNT[1:-1], "--epsilon=1")
    said = run("ledger", "show")
    assert "Shares add up; epsilons do not" in said
    (spent,) = re.findall(r"([\d.]+) % spent", said)
    shares = re.findall(r"profile by page +\S+ +([\d.]+) %", said)
    assert len(shares) == 2
    assert sum(map(float, shares)) == pytest.approx(float(spent), abs=0.11)
    assert sum(map(float, shares)) < 100, "though epsilon 2 and epsilon 1 make 3"


def test_show_names_the_delta_and_cuts_no_time(run: Run) -> None:
    run(*COUNT, "--budget=3")
    said = run("ledger", "show")
    assert "threshold" in said
    assert re.search(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", said)


def test_a_plan_says_what_the_quota_has_left(run: Run) -> None:
    me = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    said = run(
        "ledger", "open", "events.parquet", "--budget=3", f"--quota={me}=1.5", "--quota=ann=1"
    )
    assert f"quota of {me}: epsilon 0 of 1.5 spent" in said
    assert "quota of ann: epsilon 0 of 1 spent" in said
    assert re.search(rf"quota +{me} has epsilon 1\.5 left", run(*COUNT, "--plan"))
    said = run(*COUNT, "--epsilon=2", "--plan")
    assert re.search(rf"quota +{me} has epsilon 1\.5 left, this release needs .*refused", said)
    said = run("ledger", "open", "events.parquet", "--quota=ann=9", code=2)
    assert "A quota of epsilon 9 is more than" in said


def test_verify_counts_in_words_and_a_copy_is_held_to_what_was_seen(
    run: Run, tmp_path: Path
) -> None:
    run(*COUNT, "--budget=3")
    said = run("ledger", "verify")
    assert "1 charge in 1 account:" in said
    assert "1 stored result:" in said
    shutil.copy(tmp_path / "l.db", tmp_path / "old.db")
    assert "A copy cannot show that it is the newest." in run("ledger", "verify", "--copy=old.db")
    run(*COUNT, "--fresh")
    said = run("ledger", "verify", "--copy=old.db")
    assert re.search(r"not the newest copy: this machine has seen entry \d+ of the same", said)


def test_a_copy_that_was_put_back_is_closed_to_others_by_a_charge(run: Run, tmp_path: Path) -> None:
    run(*COUNT, "--budget=3")
    for mode, then in ((0o644, 0o600), (0o664, 0o660), (0o640, 0o640)):
        os.chmod(tmp_path / "l.db", mode)
        run("ledger", "verify")
        assert (tmp_path / "l.db").stat().st_mode & 0o777 == mode, "a look changes nothing"
        run(*COUNT, "--fresh", "--epsilon=0.1")
        assert (tmp_path / "l.db").stat().st_mode & 0o777 == then
