"""A command that fails changes nothing, and what it says arrives on any terminal."""

from __future__ import annotations

from pathlib import Path

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
