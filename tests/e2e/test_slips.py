"""D5, D6, D7: a new user's slips, from an empty folder: all can be put right."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from headcount.ledger.ledger import Ledger

COUNT = ("count-users", "events.parquet", "--user", "user_id")


@pytest.mark.slow
def test_slips_cost_nothing_and_the_readme_s_commands_work_after_them(
    tmp_path: Path, headcount_command: str
) -> None:
    place = tmp_path / "empty"
    place.mkdir()
    environment = {**os.environ, "HEADCOUNT_LEDGER": str(tmp_path / "ledger.db")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [headcount_command, *arguments],
            cwd=place,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    assert run("demo").returncode == 0
    by_page = (*COUNT, "--by", "page", "--epsilon", "1")
    slips = [
        run(*by_page, "--budget", "1", "--plan"),
        run(*COUNT, "--by", "pgae", "--epsilon", "1", "--budget", "1"),
        run(*by_page, "--budget", "1", "--out", "pages.json"),
        run(*by_page, "--budget", "1", "--out", "no/such/folder.csv"),
        run(*by_page, "--budget", "1", "--out", "events.parquet"),
        run(*by_page, "--budget", "1", "--plot", "pages.gif"),
        run(*by_page),
        run(*COUNT, "--by", "page", "--budget", "1"),
    ]
    assert [slip.returncode for slip in slips] == [0, 2, 2, 2, 2, 2, 4, 2]
    for slip in slips:
        assert "Traceback" not in slip.stderr
    assert Ledger(tmp_path / "ledger.db").accounts() == []
    first, second = (run(*by_page, "--budget", "3", "--out", "pages.parquet") for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert "shown again, free" in second.stdout
    swapped = run(
        "count-users", "events.parquet", "--user=page", "--by=user_id", "--epsilon=1", "--out=x.csv"
    )
    assert swapped.returncode == 2
    assert "--user user_id" in swapped.stderr
    assert "'user_id' names the people" in swapped.stderr
    assert "each user: all rows with one value of 'user_id'" in first.stdout
    shown = run("ledger", "show")
    assert "of 3 spent" in shown.stdout
    assert "13.1 % spent" in shown.stdout
    assert "inode:" not in shown.stdout, "numbers of files are for the ledger"
    (account,) = Ledger(tmp_path / "ledger.db").accounts()
    (entry,) = Ledger(tmp_path / "ledger.db").entries(account.name)
    assert entry.key in shown.stdout, "keys are printed whole"
    by_number, by_key = (run("ledger", "result", each) for each in (str(entry.sequence), entry.key))
    assert by_number.returncode == 0, by_number.stderr
    assert by_number.stdout == by_key.stdout
