"""D3, D5, D6: one question has one answer, whoever asks it again, and names what it is about."""

from __future__ import annotations

import multiprocessing
import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.errors import BudgetError, KeyReusedError, LedgerError, NoAccountError, UsageError
from headcount.ledger.ledger import Ledger

ONE = hc.Budget(rho=1)


def write(path: Path, n_users: int = 2000, **columns: Any) -> Path:
    table = {"user": list(range(n_users)), "group": ["a"] * n_users, **columns}
    pq.write_table(pa.table(table), path)
    return path


def opened(path: Path, ledger: Path, **said: Any) -> hc.Dataset:
    said = {"budget": hc.Budget(rho=4, delta=1e-6), **said}
    return hc.open(path, user="user", ledger=ledger, **said)


def counts(release: Any) -> list[int]:
    return list(release.to_arrow()["count"].to_pylist())


def test_the_same_question_is_shown_again_and_costs_nothing(tmp_path: Path) -> None:
    path, ledger = write(tmp_path / "events.parquet"), tmp_path / "ledger.db"
    first = opened(path, ledger).count_users("group", groups=["a"], spend=ONE).release()
    assert first.again is None
    plan = opened(path, ledger).count_users("group", groups=["a"], spend=ONE)
    assert "shown again, free" in str(plan)
    second = plan.release()
    assert second.to_bytes() == first.to_bytes()
    day = datetime.fromisoformat(Ledger(ledger).entries(str(path))[0].charged_at)
    assert second.again == (
        f"entry {first.entry} of {day.day} {day:%B %Y}, of the table as it was then; "
        "fresh=True draws new rows and charges again"
    )
    assert (first.key, "shown again" in repr(second)) == (second.key, True)
    assert opened(path, ledger).account.spent.rho == 1


def test_only_fresh_draws_anew(tmp_path: Path) -> None:
    data = opened(write(tmp_path / "events.parquet"), tmp_path / "ledger.db")
    plan = data.count_users("group", groups=["a"], spend=ONE)
    entries = [plan.release(fresh=True).entry for _ in range(3)]
    assert len(set(entries)) == 3
    assert plan.release().entry == entries[-1], "the newest answer is the one that is shown"
    assert data.account.spent.rho == 3


def test_it_is_shown_also_when_nothing_is_left(tmp_path: Path) -> None:
    data = opened(write(tmp_path / "events.parquet"), tmp_path / "ledger.db")
    all_of_it = hc.Budget(rho=4)
    first = data.count_users("group", groups=["a"], spend=all_of_it).release()
    again = data.count_users("group", groups=["a"], spend=all_of_it).release()
    assert again.to_bytes() == first.to_bytes()
    with pytest.raises(BudgetError):
        data.count_users("group", groups=["a", "b"], spend=all_of_it)
    with pytest.raises(BudgetError):
        data.count_users("group", groups=["a"], spend=all_of_it).release(fresh=True)


def test_threads_and_processes_that_ask_at_once_pay_once(tmp_path: Path) -> None:
    data = opened(write(tmp_path / "events.parquet"), tmp_path / "ledger.db")

    def ask(_: int) -> bytes:
        return data.count_users("group", groups=["a"], spend=ONE).release().to_bytes()

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(ask, range(16)))) == 1
    assert data.account.spent.rho == 1


def test_d3_another_table_of_the_account_is_another_question(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    few = opened(write(tmp_path / "few.parquet", 100), ledger, account="web")
    many = opened(write(tmp_path / "many.parquet", 5000), ledger, account="web")
    release = few.count_users("group", groups=["a"], spend=ONE).release(key="job")
    assert abs(counts(release)[0] - 100) < 20
    assert abs(counts(many.count_users("group", groups=["a"], spend=ONE).release())[0] - 5000) < 20
    with pytest.raises(KeyReusedError, match="different question"):
        many.count_users("group", groups=["a"], spend=ONE).release(key="job", fresh=True)


def test_d3_a_profile_is_of_the_table_it_was_made_of(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    first = opened(write(tmp_path / "first.parquet"), ledger, account="web")
    first.profile("group", spend=hc.Budget(rho="0.1")).release()
    assert "released before" in first.count_users("group", within=0.1, spend=ONE).explain()
    second = opened(write(tmp_path / "second.parquet"), ledger, account="web")
    assert "released before" not in second.count_users("group", within=0.1, spend=ONE).explain()


def test_d3_a_column_that_is_called_like_a_cut_is_another_question(tmp_path: Path) -> None:
    times = pa.array([datetime(2026, 1, 1)] * 2000)
    path = write(tmp_path / "e.parquet", **{"time": times, "time:month": ["x"] * 2000})
    data = opened(path, tmp_path / "ledger.db")
    cut = data.count_users(hc.truncate("time", "month"), bound=1, method="laplace", spend=ONE)
    named = data.count_users("time:month", bound=1, method="laplace", spend=ONE)
    assert cut.work.request.hash != named.work.request.hash
    assert cut.release().to_arrow().column_names[0] == "time"
    assert named.release().to_arrow().column_names[0] == "time:month"


def test_the_order_of_a_public_list_does_not_matter(tmp_path: Path) -> None:
    data = opened(write(tmp_path / "events.parquet"), tmp_path / "ledger.db")
    one, other = (
        data.count_users("group", groups=groups, spend=ONE).work.request.hash
        for groups in (["a", None, "b"], ["b", "a", None])
    )
    assert one == other
    assert one != data.count_users("group", groups=["a", "b", "None"], spend=ONE).work.request.hash


def test_another_view_of_the_rows_is_another_question(tmp_path: Path) -> None:
    import ibis

    connection = ibis.duckdb.connect(tmp_path / "w.duckdb")
    connection.con.execute(
        'create table ev as select i as "user", \'a\' as "group" from range(2000) t(i)'
    )
    table = connection.table("ev")
    found = []
    for expr in (table, table.filter(table.user < 500)):
        data = opened(expr, tmp_path / "ledger.db", account="web")
        found.append(counts(data.count_users("group", groups=["a"], spend=ONE).release())[0])
    assert abs(found[0] - 2000) < 20
    assert abs(found[1] - 500) < 20


def test_d6_keys_are_whole_and_their_beginnings_will_do(tmp_path: Path) -> None:
    data = opened(write(tmp_path / "events.parquet"), tmp_path / "ledger.db")
    plan = data.count_users("group", groups=["a"], spend=ONE)
    release = plan.release()
    assert release.key is not None
    assert len(release.key) == 32
    for start in (release.key, release.key[:6]):
        assert plan.release(again=start).to_bytes() == release.to_bytes()
    other = "0" if release.key[0] != "0" else "1"
    for unknown in (other * 40, "no such key"):
        with pytest.raises(UsageError, match=r"No key begins .*Nothing was charged"):
            plan.release(again=unknown)
    for number in (1, 2):
        plan.release(fresh=True, key=f"nightly-{number}")
    with pytest.raises(UsageError, match="More than one key"):
        plan.release(again="nightly")
    assert plan.release(fresh=True, key="nightly-1").key == "nightly-1"
    assert data.account.spent.rho == 3


def test_d5_a_plan_a_slip_and_a_refusal_open_no_account(tmp_path: Path) -> None:
    path, ledger = write(tmp_path / "events.parquet"), tmp_path / "ledger.db"
    small = hc.Budget(rho=1, delta=1e-6)
    str(opened(path, ledger, budget=small).count_users("group", groups=["a"], spend=ONE))
    with pytest.raises(hc.HeadcountError):
        opened(path, ledger, budget=small).count_users("gruop", groups=["a"], spend=ONE)
    with pytest.raises(BudgetError):
        opened(path, ledger, budget=small).count_users(
            "group", groups=["a"], spend=hc.Budget(rho=2)
        )
    with pytest.raises(NoAccountError, match="check the ledger's place"):
        opened(path, ledger, budget=None)
    assert Ledger(ledger).accounts() == []
    plan = opened(path, ledger).count_users("group", groups=["a"], spend=ONE)
    assert "new: the release opens it" in str(plan)
    plan.release()
    assert [account.limit.rho for account in Ledger(ledger).accounts()] == [4]
    with pytest.raises(LedgerError, match="budget is another"):
        opened(path, ledger, budget=small)


def test_two_first_releases_with_two_budgets_open_one_account(tmp_path: Path) -> None:
    path, ledger = write(tmp_path / "events.parquet"), tmp_path / "ledger.db"
    plans = [
        opened(path, ledger, budget=hc.Budget(rho=rho, delta=1e-6)).count_users(
            "group", groups=["a"], spend=ONE
        )
        for rho in (2, 3)
    ]
    plans[0].release()
    with pytest.raises(LedgerError, match="budget is another"):
        plans[1].release(fresh=True)
    assert [account.limit.rho for account in Ledger(ledger).accounts()] == [2]


def test_d4_a_new_account_in_a_new_ledger_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, ledger = write(tmp_path / "events.parquet"), tmp_path / "ledger.db"
    data = opened(path, ledger)
    data.count_users("group", groups=["a"], spend=ONE).release()
    (warning,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "new ledger" in warning
    assert str(ledger) in warning
    caplog.clear()
    data.count_users("group", groups=["a"], spend=ONE).release(fresh=True)
    assert not [record for record in caplog.records if record.levelname == "WARNING"]


def _in_a_fork(data: hc.Dataset, plan: Any, answers: Any) -> None:
    for job in (lambda: data.count_users("group", groups=["a"], spend=ONE), plan.release):
        try:
            job()
            answers.put("no refusal")
        except UsageError as error:
            answers.put(str(error))


def test_d1_forked_and_pickled_datasets_are_refused(tmp_path: Path) -> None:
    data = opened(write(tmp_path / "events.parquet"), tmp_path / "ledger.db")
    plan = data.count_users("group", groups=["a"], spend=ONE)
    for thing in (data, plan):
        with pytest.raises(UsageError, match="cannot be pickled"):
            pickle.dumps(thing)
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    child = fork.Process(target=_in_a_fork, args=(data, plan, answers))
    child.start()
    assert "after a fork" in answers.get()
    assert "after a fork" in answers.get()
    child.join()
