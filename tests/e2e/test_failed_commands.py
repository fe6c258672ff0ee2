"""A command that fails changes nothing, and what it says arrives on any terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.odd.commands import Ended, run

import headcount as hc
from headcount.errors import UsageError
from headcount.ledger.ledger import Ledger


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADCOUNT_LEDGER", str(tmp_path / "l.db"))
    monkeypatch.setenv("HEADCOUNT_HEADS", str(tmp_path / "heads"))
    return tmp_path


def refused(ended: Ended) -> None:
    assert ended.code == 2, ended.err
    assert "Nothing was changed" in ended.err


def test_an_account_with_a_quota_that_is_refused_is_not_opened(folder: Path) -> None:
    command = ["ledger", "open", "web", "--budget=1", "--quota=bob=0.5", "--quota=ann=5"]
    refused(run(command, folder))
    assert Ledger(folder / "l.db").accounts() == []


def test_of_several_quotas_all_are_set_or_none(folder: Path) -> None:
    assert run(["ledger", "open", "web", "--budget=1", "--quota=eve=0.1"], folder).code == 0
    refused(run(["ledger", "open", "web", "--quota=bob=0.5", "--quota=ann=5"], folder))
    book = Ledger(folder / "l.db")
    assert [quota.analyst for quota in book.quotas("web")] == ["eve"]
    command = ["ledger", "open", "web", "--quota=bob=0.5", "--quota=ann=0.5", "--quota=bob=0.2"]
    assert run(command, folder).code == 0
    quotas = {quota.analyst: quota.limit.rho for quota in book.quotas("web")}
    assert list(quotas) == ["ann", "bob", "eve"]
    assert quotas["bob"] < quotas["ann"], "the last word counts"
    book.verify()


def test_python_opens_an_account_with_its_quotas_or_not_at_all(folder: Path) -> None:
    book = Ledger(folder / "l.db")
    for share in (hc.Budget(epsilon=5), None):
        with pytest.raises(UsageError):
            book.open_account("web", hc.Budget(epsilon=1), quotas=[("ann", share)])  # type: ignore[list-item]
    assert book.accounts() == []


BERRIES = "blåbär"
ASCII = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
COUNT = "count-users events.parquet --user user --by page --epsilon 1 --budget 9 --account web"


@pytest.fixture
def berries(folder: Path) -> Path:
    table = {"user": range(900), "page": [BERRIES] * 900, BERRIES: [None] * 900}
    pq.write_table(pa.table(table), folder / "events.parquet")
    return folder


def shell(folder: Path, command: str, after: str = "", **more: str) -> Any:
    """A command in a process of its own, with what a shell does to its output."""
    program = f'"{sys.executable}" -c "from headcount.cli.main import main; main()"'
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {program} {command} {after}"],
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "", **more},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_a_terminal_without_the_letters_is_shown_escapes(berries: Path) -> None:
    first = shell(berries, COUNT, **ASCII)
    assert (first.returncode, "Traceback" in first.stderr) == (0, False), first.stderr
    assert "bl\\xe5b\\xe4r" in first.stdout
    # A locale of its own, without a word on the encoding.
    again = shell(berries, COUNT, **{**ASCII, "PYTHONIOENCODING": ""})
    assert (again.returncode, again.stdout) == (0, again.stdout.encode("ascii").decode())
    where = f"{COUNT} --where \"page = '{BERRIES}'\""
    assert BERRIES in shell(berries, where, PYTHONIOENCODING="utf-8").stdout
    for command in ("ledger show", "ledger statement web"):
        ended = shell(berries, command, **ASCII)
        assert (ended.returncode, ended.stderr) == (0, ""), ended.stderr
    wrong = shell(berries, COUNT.replace("page", "pgae"), **ASCII)
    assert (wrong.returncode, "Traceback" in wrong.stderr) == (2, False)
    assert "bl\\xe5b\\xe4r" in wrong.stderr


@pytest.mark.parametrize("command", [COUNT, "ledger verify"])
@pytest.mark.parametrize("after", ["| true", ">&-", "2>&-", ">/dev/full"])
def test_output_that_nobody_takes_is_no_traceback(berries: Path, command: str, after: str) -> None:
    Ledger(berries / "l.db")._make()
    ended = shell(berries, command, after)
    codes = {"| true": {0, 1}, ">/dev/full": {1}}  # a pipe closes sooner or later
    assert ended.returncode in codes.get(after, {0}), ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr
    assert ("disk is full" in ended.stderr) == (after == ">/dev/full")
    if command == COUNT:
        assert all(entry.has_result for entry in Ledger(berries / "l.db").entries("web"))
