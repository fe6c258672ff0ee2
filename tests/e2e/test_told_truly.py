"""What is said of charges is true at the moment it is said, and of no draw more than its rows."""

from __future__ import annotations

import logging
import re
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headcount as hc
from headcount.releases import run

TABLE = pa.table({"user": list(range(600)), "page": ["a", "b", "c"] * 200})


def opened(folder: Path, **more: Any) -> Any:
    said: dict[str, Any] = {
        "account": "web",
        "budget": hc.Budget(rho=50),
        "ledger": folder / "ledger.db",
    }
    return hc.open(TABLE, user="user", **(said | more))


def told_to_the_second(plan: Any, caplog: pytest.LogCaptureFixture) -> tuple[Any, Any, list[str]]:
    """Two releases of one plan, both drawn under one charge; what the second to store is told."""
    waits, goes = threading.Event(), threading.Event()
    second: list[Any] = []

    def wait(stage: str) -> None:
        if stage == run.READING:
            waits.set()
            goes.wait(60)

    with caplog.at_level(logging.INFO):
        slow = threading.Thread(target=lambda: second.append(plan.release(progress=wait)))
        slow.start()
        waits.wait(60)
        first = plan.release()
        caplog.clear()
        goes.set()
        slow.join()
    return first, second[0], [record.message for record in caplog.records]


def test_whoever_stores_second_does_not_learn_what_they_drew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether a hidden draw was the published one is a look at the truth, and is not paid for."""
    said = []
    # So little noise that both draw the same, and so much that they do not.
    for rho in ("40", "0.0001"):
        folder = tmp_path / rho
        folder.mkdir()
        plan = opened(folder).count_users("page", groups=["a", "b", "c"], spend=hc.Budget(rho=rho))
        first, second, logged = told_to_the_second(plan, caplog)
        assert second.to_arrow().equals(first.to_arrow())
        said.append((second.again, second.key == first.key, second.withheld, logged))
    assert said[0] == said[1]


def test_a_plan_speaks_of_the_account_as_it_is(tmp_path: Path) -> None:
    data = opened(tmp_path, budget=hc.Budget(rho=1))
    spend = hc.Budget(rho="0.3")
    plan, other = (data.count_users("page", bound=bound, spend=spend) for bound in (1, 2))
    third = data.count_users("page", bound=3, spend=spend)
    assert "new: the release opens it" in str(plan)
    assert "about two more like this" in str(plan)
    other.release()
    assert "new: the release opens it" not in str(plan) + plan.explain()
    assert "about one more like this" in str(plan)
    third.release()
    before = plan.explain()
    data.count_users("page", bound=4, spend=spend).release()
    assert "left after" in before
    for text in (str(plan), plan.explain()):
        assert "less than this costs: it would be refused" in text
        assert "left after" not in text
    with pytest.raises(hc.BudgetError):
        plan.release()
    assert "the account cannot pay for fresh=True" in str(other)


def test_what_is_not_known_now_is_not_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADCOUNT_HEADS", str(tmp_path / "heads"))
    data = opened(tmp_path)
    answered = data.count_users("page", spend=hc.Budget(rho=1))
    answered.release()
    planned = data.count_users("page", bound=2, spend=hc.Budget(rho=1))
    for head in (tmp_path / "heads").glob("*.head"):
        head.write_bytes(b"no head any more".ljust(1024))
    for plan in (answered, planned):
        for text in (str(plan), plan.explain()):
            assert re.search(r"so far +not known, since the ledger cannot be asked now: ", text)
            for word in ("answered", "nothing was charged", "left after", "more like this"):
                assert word not in text.split("cannot be asked now")[0]


def test_what_only_tells_of_a_charge_does_not_end_its_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = opened(tmp_path)
    plan = data.count_users("page", groups=["a", "b", "c"], spend=hc.Budget(rho=1))

    def fails(_self: object) -> Any:
        raise hc.LedgerError("It cannot be read. Nothing was charged.")

    monkeypatch.setattr(type(data.ledger), "accounts", fails)
    assert len(plan.release()) == 3


def test_everything_is_a_range(tmp_path: Path) -> None:
    release = opened(tmp_path).count_ranges(None, [(None, None)], spend=hc.Budget(rho=10)).release()
    (row,) = release
    assert row["low"] <= 600 <= row["high"]


@pytest.mark.parametrize("instead", ["a file", "a loop"])
def test_a_ledger_out_of_reach_is_told_in_words(tmp_path: Path, instead: str) -> None:
    folder = tmp_path / "kept"
    if instead == "a file":
        folder.write_bytes(b"")
    else:
        folder.symlink_to(folder)
    with pytest.raises(hc.LedgerError):
        opened(folder)


def test_a_password_is_not_even_linked_to_an_error() -> None:
    with pytest.raises(hc.UsageError) as caught:
        hc.open("postgres://me:hunter2", user="user", account="web")
    error: BaseException | None = caught.value
    while error is not None:
        assert "hunter2" not in str(error)
        error = error.__cause__ or error.__context__
