"""Thirty-two processes race for a budget of one hundred: exactly one hundred charges are made."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext, suppress
from types import ModuleType

import pytest

from headcount.errors import LedgerError

pytestmark = pytest.mark.slow

N_PROCESSES = 32
N_TRIES = 8


def test_a_race_never_overspends(
    new_address: Callable[[], str],
    clients: ModuleType,
    long: bool,
    record_property: Callable[[str, object], None],
) -> None:
    rounds = [f"round {number}" for number in range(100 if long else 10)]
    address = new_address()
    ledger = clients.Ledger(address)
    for account in rounds:
        ledger.open_account(account, clients.HUNDRED)
    won = clients.together(N_PROCESSES, clients.racer, clients.carefully, address, rounds, N_TRIES)
    record_property("charges per round", [sum(each) for each in zip(*won, strict=True)])
    assert [sum(each) for each in zip(*won, strict=True)] == [100] * len(rounds)
    for account in rounds:
        entries = ledger.entries(account)
        assert len(entries) == 100
        assert ledger.account(account).left.rho == 0
        assert sum(entry.spend.rho for entry in entries) == ledger.account(account).spent.rho
    ledger.verify()


def test_the_naive_ledger_overspends_in_the_same_race(
    new_address: Callable[[], str], clients: ModuleType
) -> None:
    address = new_address()
    naive = clients.Naive(address)
    naive.make(100)
    naive.engine.dispose()
    won = clients.together(N_PROCESSES, clients.racer, clients.naively, address, ["web"], N_TRIES)
    assert sum(sum(each) for each in won) == naive.rows()
    assert naive.rows() > 100
    naive.engine.dispose()


def test_the_lock_alone_is_not_what_keeps_the_promise(
    new_address: Callable[[], str], clients: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the queue, the conditions in the statements still refuse to overspend."""
    monkeypatch.setattr(clients.postgres, "TAKE_TURN", "SELECT 1")
    monkeypatch.setattr(clients.sqlite.SQLiteStore, "queue", lambda _self: nullcontext())

    def pushy(number: int, ready: Callable[[], object], address: str) -> int:
        ledger = clients.Ledger(address)
        ready()
        won = 0
        for attempt in range(20):
            # Two that follow the same entry collide, and the later one fails as a whole.
            with suppress(LedgerError, clients.BudgetError):
                won += clients.charge(ledger, f"{number}-{attempt}").is_new
        return won

    address = new_address()
    ledger = clients.new_ledger(address)
    won = sum(clients.together(16, pushy, address))
    assert 0 < won <= 100
    assert len(ledger.entries("web")) == won
    ledger.verify()
