"""Budgets for each window of time: charged all or none, in races too, and read back."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pytest
from tests.service.windowed import DAY, LIFE, RESULT, THOUSANDTH, charge, new_book, noise, walk

from headcount.errors import BudgetError, LedgerError, UsageError
from headcount.ledger.account import Opening
from headcount.ledger.copies import verify_copy
from headcount.ledger.ledger import Ledger
from headcount.ledger.windows import Windows
from headcount.privacy.budget import Budget
from headcount.privacy.event import Windowed
from headcount.privacy.neighbours import Neighbours

Address = Callable[[], str]
WHOLE = DAY.limit.rho
N_RACERS = 8


def days(first: int, last: int, rho: Fraction = THOUSANDTH, times: int | None = None) -> Windowed:
    return Windowed(first, last, times or last - first + 1, noise(rho))


def test_a_thousand_random_ranges_are_charged_as_a_dict_says(
    new_address: Address, long: bool
) -> None:
    address, seen = new_address(), Counter[str]()
    n = 300 if "://" in address and not long else 1000
    walk(address, n, lambda word: seen.update([word]))
    assert min(seen["charged"], seen["refused"]) > n / 10, "both happen often"


def racer(number: int, ready: Callable[[], object], address: str) -> int:
    ledger = Ledger(address)
    ready()
    won = 0
    for attempt in range(6):
        with suppress(BudgetError):
            won += charge(ledger, "both", f"{number}/{attempt}", days(5, 15, WHOLE / 2)).is_new
    return won


def test_eight_race_for_windows_with_room_for_two(
    new_address: Address, clients: ModuleType
) -> None:
    address = new_address()
    ledger = new_book(address)
    won = clients.together(N_RACERS, racer, address)
    assert sum(won) == 2
    assert [b.left.rho for b in ledger.window_balances("both", 0, 20)] == [0] * 11
    ledger.verify()


def test_a_key_is_charged_once_and_its_windows_stay_as_they_were(new_address: Address) -> None:
    ledger = new_book(new_address())
    first = charge(ledger, "both", "pages/1970-01-06", days(5, 5, WHOLE))
    ledger.store_result(first.sequence, RESULT)
    before = ledger.window_balances("both", 0, 9)
    again = charge(ledger, "both", "pages/1970-01-06", days(5, 5, WHOLE))
    assert (again.is_new, again.result) == (False, RESULT)
    assert ledger.window_balances("both", 0, 9) == before


def test_the_charges_of_a_window_say_which_have_a_result(new_address: Address) -> None:
    ledger = new_book(new_address())
    for day in range(3):
        paid = charge(ledger, "counts", f"pages/{day}", days(day, day))
        if day != 1:
            ledger.store_result(paid.sequence, RESULT)
    charge(ledger, "counts", "week", days(0, 6, times=49))
    found = ledger.window_charges("counts")
    assert [(c.key, c.first, c.last, c.times, c.has_result) for c in found] == [
        ("pages/0", 0, 0, 1, True),
        ("pages/1", 1, 1, 1, False),
        ("pages/2", 2, 2, 1, True),
        ("week", 0, 6, 49, False),
    ]
    assert {charge.spend.rho for charge in found} == {THOUSANDTH}
    assert [c.key for c in ledger.window_charges("counts", 1, 1)] == ["pages/1", "week"]
    assert [b.name for b in ledger.window_balances("counts", 0, 1)] == ["1970-01-01", "1970-01-02"]


def test_a_refused_range_leaves_nothing_taken(new_address: Address) -> None:
    ledger = new_book(new_address())
    charge(ledger, "both", "k", days(8, 8, WHOLE))
    before = ledger.account("both"), ledger.window_balances("both", -100, 100)
    n = len(ledger.journal())
    with pytest.raises(BudgetError, match="The day 1970-01-09 of account 'both' has epsilon 0 "):
        charge(ledger, "both", "refused", days(0, 30))
    with pytest.raises(BudgetError, match=r"The day 1970-01-01 .* has epsilon .* left"):
        charge(ledger, "both", "too much for any", days(0, 3, WHOLE * 2))
    with pytest.raises(BudgetError, match="Account 'both' has epsilon"):
        charge(ledger, "both", "for life", days(20, 21, WHOLE, times=1000))
    assert (ledger.account("both"), ledger.window_balances("both", -100, 100)) == before
    assert len(ledger.journal()) == n
    assert ledger.verify().n_charges == 1


def test_windows_are_named_where_there_are_some_and_nowhere_else(new_address: Address) -> None:
    ledger = new_book(new_address())
    for account, event in (("both", noise(THOUSANDTH)), ("plain", days(1, 1))):
        with pytest.raises(UsageError, match="Nothing was read and nothing was charged"):
            charge(ledger, account, "k", event)
    for read in (ledger.window_charges, lambda name: ledger.window_balances(name, 0, 1)):
        with pytest.raises(UsageError, match="no windows"):
            read("plain")
    assert ledger.verify().n_charges == 0


@pytest.mark.parametrize(
    "other",
    [
        replace(DAY, unit="week"),
        replace(DAY, zone="Europe/Stockholm"),
        replace(DAY, zone=None),
        replace(DAY, column="day"),
        Windows.of("time", "day", "UTC", Budget(rho="0.03", delta="1e-6")),
    ],
    ids=["unit", "zone", "no zone", "column", "limit"],
)
def test_what_a_window_is_never_changes(new_address: Address, other: Windows) -> None:
    ledger = new_book(new_address())
    assert ledger.open_account("both", windows=DAY).windows == DAY
    assert ledger.open_account("both", LIFE).windows == DAY
    for again in (ledger, Ledger(ledger.address) if "://" not in ledger.address else ledger):
        with pytest.raises(UsageError, match="does not change"):
            again.open_account("both", windows=other)
    with pytest.raises(UsageError, match="no windows"):
        ledger.open_account("plain", windows=DAY)


def test_replaced_users_have_no_windows(new_address: Address) -> None:
    ledger = Ledger(new_address())
    with pytest.raises(UsageError, match="add-remove"):
        ledger.open_account("web", LIFE, Neighbours.REPLACE, windows=DAY)
    assert ledger.accounts() == []


def test_quotas_are_of_the_accounts_sum(new_address: Address) -> None:
    ledger = new_book(new_address())
    ledger.set_quota("counts", ledger.analyst, Budget(rho="0.05"))
    charge(ledger, "counts", "k", days(0, 3, WHOLE / 2))
    before = ledger.window_balances("counts", 0, 9)
    with pytest.raises(BudgetError, match="The quota of"):
        charge(ledger, "counts", "more", days(0, 1, WHOLE / 2))
    assert ledger.window_balances("counts", 0, 9) == before
    assert [float(quota.spent.rho) for quota in ledger.quotas("counts")] == [0.04]


def test_an_account_with_windows_is_opened_by_its_first_charge(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.db")
    plan = Ledger(tmp_path / "other.db")
    account = plan.open_account("web", windows=DAY)
    opening = Opening(account, windows=DAY)
    asked: dict[str, Any] = {"request_hash": "q", "verb": "v", "neighbours": Neighbours.ADD_REMOVE}
    with pytest.raises(BudgetError):
        ledger.charge(opening, key="k", event=days(0, 1, WHOLE * 2), **asked)
    assert ledger.find_account("web") is None, "by nothing that fails"
    assert ledger.charge(opening, key="k", event=days(0, 1), **asked).opened_account
    assert ledger.account("web").windows == DAY
    assert [row["kind"] for row in ledger.journal()] == ["open-account", "per-window", "charge"]
    ledger.verify()


EDITS = [
    ("UPDATE windows SET rho_spent = rho_spent - 1 WHERE number = 7", "its windows do not agree"),
    ("UPDATE windows SET rho_limit = rho_limit + 1 WHERE number = 7", "its windows do not agree"),
    ("UPDATE windows SET number = 90 WHERE number = 7", "its windows do not agree"),
    ("DELETE FROM windows WHERE number = 7", "its windows do not agree"),
    ("INSERT INTO windows VALUES ('both', 'day', 40, 1, 1, 0, 0)", "its windows do not agree"),
    ("UPDATE per_window SET rho_limit = rho_limit * 2 WHERE account = 'both'", "its windows"),
    ("UPDATE per_window SET zone = 'UTC+1' WHERE account = 'both'", "its windows do not agree"),
    ("DELETE FROM per_window WHERE account = 'both'", "its windows do not agree"),
]


def connected(address: str) -> Any:
    if "://" in address:
        return psycopg.connect(address, autocommit=True)
    return sqlite3.connect(address, isolation_level=None)


@pytest.mark.parametrize(("edit", "said"), EDITS, ids=[edit[:40] for edit, _ in EDITS])
def test_one_unit_changed_in_one_window_is_found(
    new_address: Address, edit: str, said: str
) -> None:
    address = new_address()
    ledger = new_book(address)
    charge(ledger, "both", "k", days(3, 12))
    raw = connected(address)
    refusal = "kept as they are|violates|constraint"
    if not edit.startswith("INSERT"):
        with pytest.raises((sqlite3.Error, psycopg.Error), match=refusal):
            raw.execute(edit)
    if "://" in address:
        raw.execute("SET session_replication_role = replica")
    else:
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            raw.execute(f"DROP TRIGGER {name}")
    raw.execute(edit)
    raw.close()
    for look in (lambda: Ledger(address), ledger.verify):
        with pytest.raises(LedgerError, match=said):
            look()


def test_no_window_is_spent_beyond_its_limit_by_any_statement(new_address: Address) -> None:
    address = new_address()
    ledger = new_book(address)
    charge(ledger, "both", "k", days(3, 3))
    raw = connected(address)
    with pytest.raises((sqlite3.Error, psycopg.Error), match="rho_within_window"):
        raw.execute("UPDATE windows SET rho_spent = rho_limit + 1")
    raw.close()


def test_the_journal_alone_shows_what_a_window_spent(new_address: Address, tmp_path: Path) -> None:
    ledger = new_book(new_address())
    charge(ledger, "both", "k", days(3, 12, WHOLE))
    lines = [json.dumps(row) for row in ledger.journal()]
    copy = tmp_path / "journal.jsonl"
    copy.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert verify_copy(copy).n_charges == 1
