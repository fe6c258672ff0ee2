"""A ledger of any earlier version opens, says what it said then, and goes on from there.

``samples`` has a folder for each version, with a ledger in a file, one as a dump of a PostgreSQL
database, and beside each what that version said of it. Nothing here looks behind the ledger's
public names, so that what is behind them may change.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pytest

from headcount.errors import BudgetError, KeyReusedError, LedgerError, UsageError
from headcount.ledger.account import Charge
from headcount.ledger.ledger import Ledger
from headcount.ledger.windows import Windows
from headcount.privacy.budget import Budget
from headcount.privacy.event import GaussianNoise, from_record, to_record
from headcount.privacy.neighbours import Neighbours
from headcount.privacy.spend import Zcdp

SAMPLES = Path(__file__).with_name("samples")
VERSIONS = sorted(path.name for path in SAMPLES.iterdir() if path.is_dir())
KINDS = {"composed", "filtered", "gaussian-noise", "gaussian-threshold"}
KINDS |= {"laplace-noise", "laplace-threshold", "sample-threshold", "selection"}


@dataclass(frozen=True)
class Old:
    """A copy of a ledger as an earlier version left it, and what that version said of it."""

    address: str
    said: dict[str, Any]

    @property
    def accounts(self) -> dict[str, Any]:
        found: dict[str, Any] = self.said["accounts"]
        return found

    def charges(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, account in self.accounts.items():
            for entry in account["entries"]:
                yield name, entry


@pytest.fixture(params=VERSIONS)
def old(
    request: pytest.FixtureRequest,
    new_database: Callable[[], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Old:
    # Every copy is the same ledger, and one machine would hold each to what it saw of the last.
    monkeypatch.setenv("HEADCOUNT_HEADS", str(tmp_path / "heads"))
    folder = SAMPLES / request.param
    address = new_database()
    if "://" in address:
        store = "postgres"
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute((folder / "postgres.sql").read_bytes())
    else:
        store = "sqlite"
        shutil.copy(folder / "sqlite.db", address)
    return Old(address, json.loads((folder / f"{store}.json").read_text(encoding="utf-8")))


def numbers(spend: Zcdp) -> list[str]:
    return [str(spend.rho), str(spend.delta)]


def accounts_of(ledger: Ledger) -> dict[str, Any]:
    """All that a ledger says of its accounts, in the words of the samples."""
    return {
        account.name: {
            "neighbours": account.neighbours.value,
            "limit": numbers(account.limit),
            "spent": numbers(account.spent),
            "stated_delta": str(account.stated_delta),
            "covers": sorted(ledger.covered_by(account.name)),
            "quotas": {
                quota.analyst: {"limit": numbers(quota.limit), "spent": numbers(quota.spent)}
                for quota in ledger.quotas(account.name)
            },
            "entries": entries_of(ledger, account.name),
        }
        for account in ledger.accounts()
    }


def entries_of(ledger: Ledger, account: str) -> list[dict[str, Any]]:
    asked = {row["sequence"]: row["digest"] for row in ledger.journal()}
    found = []
    for entry in ledger.entries(account):
        result = ledger.stored_result(entry.sequence)
        assert entry.account == account
        assert entry.has_result == (result is not None)
        found.append(
            {
                "sequence": entry.sequence,
                "key": entry.key,
                "request_hash": asked[entry.sequence],
                "verb": entry.verb,
                "spend": numbers(entry.spend),
                "charged_at": entry.charged_at,
                "analyst": entry.analyst,
                "about": dict(entry.about),
                "event": to_record(entry.event),
                "neighbours": entry.neighbours.value,
                "result": None if result is None else result.hex(),
            }
        )
    return found


def ask_again(ledger: Ledger, account: str, entry: dict[str, Any], **other: Any) -> Charge:
    asked = {
        "key": entry["key"],
        "request_hash": entry["request_hash"],
        "verb": entry["verb"],
        "event": from_record(entry["event"]),
        "neighbours": Neighbours(entry["neighbours"]),
        "about": entry["about"],
    }
    return ledger.charge(ledger.opening(account), **(asked | other))


def stored(entry: dict[str, Any]) -> bytes | None:
    return None if entry["result"] is None else bytes.fromhex(entry["result"])


def test_a_sample_holds_what_can_be_lost(old: Old) -> None:
    def kinds(record: dict[str, Any]) -> set[str]:
        return {record["kind"]}.union(*map(kinds, record.get("events", ())))

    entries = [entry for _, entry in old.charges()]
    assert set().union(*(kinds(entry["event"]) for entry in entries)) >= KINDS
    assert {entry["result"] is None for entry in entries} == {True, False}
    relations = {(old.accounts[name]["neighbours"], e["neighbours"]) for name, e in old.charges()}
    assert {("replace", "add-remove"), ("replace", "replace")} < relations
    assert any(account["quotas"] for account in old.accounts.values())
    assert any(account["covers"] for account in old.accounts.values())
    assert any(account["spent"][0] == account["limit"][0] for account in old.accounts.values())
    assert any(not name.isascii() for name in old.accounts)


def test_it_opens_is_verified_and_says_what_it_said(old: Old) -> None:
    ledger = Ledger(old.address)
    ledger.verify()
    assert accounts_of(ledger) == old.accounts
    rows = [[row["sequence"], row["kind"], row["hash"]] for row in ledger.journal()]
    assert rows[: len(old.said["journal"])] == old.said["journal"]
    for name, account in old.accounts.items():
        assert ledger.covering(account["covers"]) == dict.fromkeys(account["covers"], name)
    # What was written while it was opened is there for whoever opens it next.
    again = Ledger(old.address)
    again.verify()
    assert accounts_of(again) == old.accounts


def test_an_old_key_gives_the_old_result_and_costs_nothing(old: Old) -> None:
    ledger = Ledger(old.address)
    for name, entry in old.charges():
        charge = ask_again(ledger, name, entry)
        assert (charge.is_new, charge.sequence) == (False, entry["sequence"])
        assert (charge.key, charge.charged_at) == (entry["key"], entry["charged_at"])
        assert charge.result == stored(entry)
    assert accounts_of(ledger) == old.accounts
    ledger.verify()


def test_an_old_question_under_a_new_key_is_found(old: Old) -> None:
    ledger = Ledger(old.address)
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for name, entry in old.charges():
        first.setdefault((name, entry["request_hash"]), entry)
    for name, entry in old.charges():
        charge = ask_again(ledger, name, entry, key="never used before")
        found = first[name, entry["request_hash"]]
        assert (charge.is_new, charge.key) == (False, found["key"])
        assert charge.result == stored(found)
    assert accounts_of(ledger) == old.accounts


def test_an_old_key_for_another_question_is_refused(old: Old) -> None:
    ledger = Ledger(old.address)
    for name, entry in old.charges():
        with pytest.raises(KeyReusedError, match="Nothing was read and nothing was charged"):
            ask_again(ledger, name, entry, request_hash="another question")
    assert accounts_of(ledger) == old.accounts


def test_a_result_that_was_never_stored_can_still_be(old: Old) -> None:
    ledger = Ledger(old.address)
    for name, entry in old.charges():
        first = b"later" if entry["result"] is None else stored(entry)
        assert ledger.store_result(entry["sequence"], b"later") == first
        assert ledger.store_result(entry["sequence"], b"later still") == first
        assert ask_again(ledger, name, entry).result == first
    spent = {name: account["spent"] for name, account in old.accounts.items()}
    assert {account.name: numbers(account.spent) for account in ledger.accounts()} == spent
    ledger.verify()


def test_a_new_charge_may_pay_for_rounds(old: Old) -> None:
    ledger = Ledger(old.address)
    rounds = {"kind": "sample-threshold", "rate": "1/16", "threshold": "12", "n_samples": "2"}
    entry = {
        "key": "rounds",
        "request_hash": "rounds",
        "verb": "fleet",
        "event": rounds | {"rho": "1/4", "delta": "1/1000000000"},
        "neighbours": "add-remove",
        "about": {},
    }
    paid = ask_again(ledger, "web", entry).sequence
    assert ledger.store_part(paid, 1, b"first") == b"first"
    assert Ledger(old.address).store_part(paid, 1, b"second") == b"first"
    with pytest.raises(LedgerError, match="parts 0 to 1"):
        ledger.store_part(paid, 2, b"rows")
    assert len(Ledger(old.address).verify().parts) == 1


def test_a_new_account_may_have_windows_and_an_old_one_has_none(old: Old) -> None:
    ledger = Ledger(old.address)
    assert {account.windows for account in ledger.accounts()} == {None}
    windows = Windows.of("time", "day", "Europe/Stockholm", Budget(rho="0.02", delta="1e-6"))
    with pytest.raises(UsageError, match="no windows"):
        ledger.open_account("web", windows=windows)
    inner = {"kind": "gaussian-noise", "l2_squared": "1", "sigma_squared": "50"}
    event = {"kind": "windowed", "first": "20513", "last": "20519", "times": "7", "event": inner}
    entry = {"key": "week", "request_hash": "week", "verb": "count_users", "about": {}}
    entry |= {"event": event, "neighbours": "add-remove"}
    with pytest.raises((UsageError, BudgetError), match="nothing was charged"):
        ask_again(ledger, "web", entry)
    ledger.open_account("new", windows=windows)
    assert ask_again(ledger, "new", entry).is_new
    again = Ledger(old.address)
    again.verify()
    assert again.account("new").windows == windows
    assert [b.name for b in again.window_balances("new", 0, 99999)][::6] == [
        "2026-03-01",
        "2026-03-07",
    ]
    found = accounts_of(again)
    assert float(Fraction(found.pop("new")["spent"][0])) == pytest.approx(0.07)
    assert found == old.accounts


def test_charging_goes_on(old: Old) -> None:
    ledger = Ledger(old.address)
    took = {}
    for name, entry in old.charges():
        before = ledger.account(name)
        again: dict[str, Any] = {"key": f"new {entry['sequence']}", "fresh": True}
        if before.left.rho == 0:
            with pytest.raises(BudgetError, match="Nothing was read and nothing was charged"):
                ask_again(ledger, name, entry, **again)
            continue
        if old.accounts[name]["quotas"] and name not in took:
            with pytest.raises(BudgetError, match="has quotas, and none for"):
                ask_again(ledger, name, entry, **again)
            ledger.set_quota(name, ledger.analyst, Budget(rho="0.1"))
        charge = ask_again(ledger, name, entry, **again)
        assert (charge.is_new, charge.result) == (True, None)
        assert ledger.store_result(charge.sequence, b"new") == b"new"
        after = ledger.account(name).spent
        took[name] = [after.rho - before.spent.rho, after.delta - before.spent.delta]
        rho, delta = map(Fraction, entry["spend"])
        assert took[name][1] == delta
        if "laplace" in str(entry["event"]):
            assert rho / 2 < took[name][0] < rho, "its cost is known better now"
        else:
            assert took[name][0] == rho, "it costs what it cost then"
    assert took
    ledger.verify()
    Ledger(old.address).verify()


def test_old_budgets_and_sources_bind(old: Old) -> None:
    ledger = Ledger(old.address)
    ledger.open_account("new", Budget(epsilon=1, delta=1e-6), covers=["/new.csv"])
    for name, account in old.accounts.items():
        neighbours = Neighbours(account["neighbours"])
        assert numbers(ledger.open_account(name, None, neighbours).limit) == account["limit"]
        with pytest.raises(LedgerError, match="A budget is a promise and does not change"):
            ledger.open_account(name, Budget(rho=3, delta=1e-6), neighbours)
        for source in account["covers"]:
            with pytest.raises(LedgerError, match="belongs to account"):
                ledger.charge(
                    replace(ledger.opening("new"), covers=(source,)),
                    key="k",
                    request_hash="q",
                    verb="count_users",
                    event=GaussianNoise(Fraction(1), Fraction(10**9)),
                    neighbours=Neighbours.ADD_REMOVE,
                )
    found = accounts_of(ledger)
    assert found.pop("new")["covers"] == ["/new.csv"]
    assert found == old.accounts
    ledger.verify()


def opener(_number: int, ready: Callable[[], object], address: str) -> dict[str, Any]:
    ready()
    ledger = Ledger(address)
    ledger.verify()
    return accounts_of(ledger)


def test_many_may_open_it_at_once(old: Old, clients: ModuleType) -> None:
    assert clients.together(6, opener, old.address) == [old.accounts] * 6
