from __future__ import annotations

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest

from headcount.errors import (
    BudgetError,
    KeyReusedError,
    LedgerError,
    NoAccountError,
    UsageError,
)
from headcount.ledger.account import Charge
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
from headcount.privacy.event import Event, GaussianNoise, GaussianThreshold
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

QUARTER = GaussianNoise(Fraction(1), Fraction(2))  # rho 1/4


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    book = Ledger(tmp_path / "ledger.db")
    book.open_account("web", Budget(rho=1, delta=1e-6))
    return book


def charge(ledger: Ledger, key: str, event: Event = QUARTER, request: str = "r") -> Charge:
    return ledger.charge(
        ledger.opening("web"),
        key=key,
        fresh=True,
        request_hash=request,
        verb="count_users",
        event=event,
        neighbours=Neighbours.ADD_REMOVE,
    )


def test_a_budget_is_charged_up_to_its_limit_and_never_beyond(ledger: Ledger) -> None:
    for i in range(4):
        assert charge(ledger, str(i)).is_new
    assert ledger.account("web").left.rho == 0
    with pytest.raises(BudgetError, match=r"has epsilon 0 left.*Nothing was read"):
        charge(ledger, "4")
    assert ledger.account("web").spent == Zcdp(1)
    assert len(ledger.entries("web")) == 4


def test_delta_is_charged_as_rho_is(ledger: Ledger) -> None:
    event = GaussianThreshold(Fraction(1), Fraction(10**6), Fraction(4, 10**7))
    charge(ledger, "a", event)
    with pytest.raises(BudgetError, match="delta 1e-07 left for thresholds"):
        charge(ledger, "b", event)


def test_costs_are_rounded_up_to_whole_units(ledger: Ledger) -> None:
    charge(ledger, "third", GaussianNoise(Fraction(1), Fraction(3)))  # rho 1/6
    spent = ledger.account("web").spent.rho
    assert Fraction(1, 6) < spent <= Fraction(1, 6) + Fraction(1, 10**12)


def test_the_same_key_and_request_is_free_and_shows_the_stored_result(ledger: Ledger) -> None:
    first = charge(ledger, "k")
    assert ledger.store_result(first.sequence, b"rows") == b"rows"
    again = charge(ledger, "k")
    assert (again.is_new, again.result, again.sequence) == (False, b"rows", first.sequence)
    assert ledger.account("web").spent == Zcdp("0.25")


def test_only_the_first_result_of_a_charge_is_ever_shown(ledger: Ledger) -> None:
    entry = charge(ledger, "k").sequence
    ledger.store_result(entry, b"first")
    assert ledger.store_result(entry, b"second") == b"first"


def test_a_key_for_another_request_is_refused(ledger: Ledger) -> None:
    charge(ledger, "k")
    with pytest.raises(KeyReusedError, match="nothing was charged"):
        charge(ledger, "k", request="another")
    assert ledger.account("web").spent == Zcdp("0.25")


def test_a_charge_without_a_result_can_be_released_later(ledger: Ledger) -> None:
    charge(ledger, "k")
    again = charge(ledger, "k")
    assert not again.is_new
    assert again.result is None


def test_budgets_do_not_change_and_survive_reopening(ledger: Ledger) -> None:
    charge(ledger, "k")
    other = Ledger(ledger.address)
    assert other.open_account("web").spent == Zcdp("0.25")
    assert other.open_account("web", Budget(rho=1, delta=1e-6)).spent == Zcdp("0.25")
    with pytest.raises(LedgerError, match="The budget is another"):
        other.open_account("web", Budget(rho=2, delta=1e-6))
    with pytest.raises(LedgerError, match="The budget is another"):
        other.open_account("web", Budget(rho=1, delta=1e-5))
    with pytest.raises(LedgerError, match="cannot be used"):
        other.open_account("web", neighbours=Neighbours.REPLACE)


def test_accounts_must_exist_or_come_with_a_budget(ledger: Ledger) -> None:
    with pytest.raises(NoAccountError, match="no budget to open it with"):
        ledger.open_account("app")
    with pytest.raises(NoAccountError):
        ledger.account("app")
    assert [account.name for account in ledger.accounts()] == ["web"]


def test_what_is_not_a_ledger_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database, and longer than a header of SQLite is")
    with pytest.raises(LedgerError, match="is not a ledger"):
        Ledger(tmp_path / "text.db")
    with pytest.raises(LedgerError, match="folder"):
        Ledger(tmp_path / "nowhere" / "ledger.db")


def test_the_database_itself_refuses_to_overspend(ledger: Ledger) -> None:
    raw = sqlite3.connect(ledger.address)
    with pytest.raises(sqlite3.IntegrityError):
        raw.execute("UPDATE accounts SET rho_spent = rho_limit + 1")
    assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    raw.close()


def test_spent_is_the_sum_of_the_entries(ledger: Ledger) -> None:
    for i in range(3):
        charge(ledger, str(i))
    entries = ledger.entries("web")
    assert sum(entry.spend.rho for entry in entries) == ledger.account("web").spent.rho
    assert not entries[0].has_result


def test_what_is_left_is_told_as_the_epsilon_of_one_release(tmp_path: Path) -> None:
    book = Ledger(tmp_path / "ledger.db")
    account = book.open_account("web", Budget(epsilon=1, delta=1e-6))
    assert 0.9999 < float(account.epsilon_left) <= 1
    assert str(account) == "account 'web': epsilon 0 of 1 spent at delta 1e-06 (add-remove)"


def test_nobody_spends_more_than_their_quota_or_without_one(ledger: Ledger) -> None:
    ledger.set_quota("web", "bob", Budget(rho="0.5"))
    with pytest.raises(BudgetError, match="has quotas, and none for") as caught:
        charge(ledger, "a")
    assert "nothing was charged" in str(caught.value)
    ledger.set_quota("web", ledger.analyst, Budget(rho="0.5"))
    charge(ledger, "a")
    charge(ledger, "b")
    with pytest.raises(BudgetError, match=r"The quota of .* has epsilon 0 left"):
        charge(ledger, "c")
    assert ledger.account("web").spent == Zcdp("0.5")
    ledger.set_quota("web", ledger.analyst, Budget(rho="0.75"))
    charge(ledger, "c")
    ledger.verify()


def test_a_quota_counts_what_was_spent_before_it(ledger: Ledger) -> None:
    charge(ledger, "a")
    charge(ledger, "b")
    with pytest.raises(UsageError, match="has spent epsilon"):
        ledger.set_quota("web", ledger.analyst, Budget(rho="0.25"))
    with pytest.raises(UsageError, match="more than account"):
        ledger.set_quota("web", ledger.analyst, Budget(rho=2))
    assert ledger.quotas("web") == []
    quota = ledger.set_quota("web", ledger.analyst, Budget(rho="0.5"))
    assert quota.spent == Zcdp("0.5")
    with pytest.raises(BudgetError):
        charge(ledger, "c")
    ledger.verify()


def test_a_source_belongs_to_one_account(ledger: Ledger) -> None:
    ledger.open_account("web", covers=["/data/events.parquet"])
    assert ledger.covering(["/data/events.parquet"]) == {"/data/events.parquet": "web"}
    with pytest.raises(LedgerError, match="belongs to account 'web'"):
        ledger.open_account("more", Budget(rho=1), covers=["/new", "/data/events.parquet"])
    assert [account.name for account in ledger.accounts()] == ["web"], "nothing was opened"
    assert ledger.covering(["/new"]) == {}
    assert ledger.covered_by("web") == ["/data/events.parquet"]


@pytest.mark.parametrize("key", ["", "a\x00b", "\ud800", "x" * 2001])
def test_keys_that_a_database_would_change_are_refused(ledger: Ledger, key: str) -> None:
    with pytest.raises(UsageError, match="Nothing was charged"):
        charge(ledger, key)


def test_an_absurd_cost_is_refused_like_any_other(ledger: Ledger) -> None:
    with pytest.raises(BudgetError):
        charge(ledger, "k", GaussianNoise(Fraction(10**30), Fraction(1, 10**30)))
    with pytest.raises(UsageError, match="too large"):
        ledger.open_account("huge", Budget(rho=10**7))


def test_a_forked_child_uses_connections_of_its_own(ledger: Ledger) -> None:
    charge(ledger, "parent")
    child = os.fork()
    if child == 0:
        charge(ledger, "child")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    charge(ledger, "parent again")
    assert [entry.key for entry in ledger.entries("web")] == ["parent", "child", "parent again"]
    ledger.verify()


def test_threads_may_share_a_ledger(ledger: Ledger) -> None:
    def take(number: int) -> bool:
        try:
            return charge(ledger, str(number)).is_new
        except BudgetError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(40))) == 4
    ledger.verify()


def test_entries_say_who_and_what(ledger: Ledger) -> None:
    ledger.charge(
        ledger.opening("web"),
        key="k",
        request_hash="r",
        verb="count_users",
        event=QUARTER,
        neighbours=Neighbours.ADD_REMOVE,
        about={"by": "page", "user": "id"},
    )
    (entry,) = ledger.entries("web")
    assert (entry.title, entry.analyst, entry.event) == (
        "count_users by page",
        ledger.analyst,
        QUARTER,
    )
