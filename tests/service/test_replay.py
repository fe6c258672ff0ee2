"""Answers get lost; clients ask again. One charge per key, and one result per charge."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from types import ModuleType
from typing import Any

import pytest

from headcount.privacy.event import GaussianNoise
from headcount.privacy.neighbours import Neighbours

pytestmark = pytest.mark.slow

N_CLIENTS = 16


def client(
    number: int, ready: Callable[[], object], clients: ModuleType, address: str, keys: list[str]
) -> tuple[dict[str, list[bytes]], int, int]:
    """Ask for every key, in an order of its own; four in ten answers do not arrive."""
    dice = random.Random(number)
    ledger = clients.Ledger(address)
    ready()
    got: dict[str, list[bytes]] = {}
    new = asked = 0
    for key in dice.sample(keys, len(keys)):
        while True:
            asked += 1
            charge = clients.charge(ledger, key)
            new += charge.is_new
            if dice.random() < 0.4:
                continue
            rows = charge.result or ledger.store_result(charge.sequence, os.urandom(32))
            if dice.random() < 0.4:
                continue
            got.setdefault(key, []).append(rows)
            break
    return got, new, asked


def test_one_charge_per_key_and_the_same_bytes_for_everyone(
    new_address: Callable[[], str],
    clients: ModuleType,
    long: bool,
    record_property: Callable[[str, object], None],
) -> None:
    address = new_address()
    ledger = clients.new_ledger(address, clients.PLENTY)
    # Each client asks for each key, so a key is asked for by 16 clients at about the same time.
    n_requests = 10_000 if long else 400
    keys = [f"key-{number}" for number in range(n_requests // N_CLIENTS)]
    answers = clients.together(N_CLIENTS, client, clients, address, keys)
    asked = sum(answer[2] for answer in answers)
    record_property("asked", asked)
    assert asked > n_requests
    assert sum(answer[1] for answer in answers) == len(keys), "new exactly once"
    entries = ledger.entries("web")
    assert sorted(entry.key for entry in entries) == sorted(keys)
    assert ledger.account("web").spent.rho * 100 == len(keys)
    for key in keys:
        rows: set[Any] = {seen for answer in answers for seen in answer[0][key]}
        assert len(rows) == 1, "every client saw the same bytes"
    ledger.verify()


def test_a_known_charge_with_new_sources_leaves_the_ledger_as_it_says(
    new_address: Callable[[], str], clients: ModuleType
) -> None:
    """A job is cut short, its file is written anew, and the job is repeated."""
    address = new_address()
    ledger = clients.new_ledger(address, clients.PLENTY)
    asked = {
        "key": "job",
        "request_hash": "r",
        "verb": "v",
        "event": GaussianNoise(Fraction(1), Fraction(50)),
        "neighbours": Neighbours.ADD_REMOVE,
    }
    first = ledger.charge(
        replace(ledger.opening("web"), covers=("/data/e", "inode:1:1:a:")), **asked
    )
    later = replace(ledger.opening("web"), covers=("/data/e", "inode:1:2:b:"))
    # As its plan had it, made before the account was there, and without a budget.
    for opening in (replace(later, budget=clients.PLENTY), later):
        again = ledger.charge(opening, **asked)
        assert (again.sequence, again.is_new) == (first.sequence, False)
        ledger.verify()
    assert "inode:1:2:b:" in ledger.covered_by("web"), "what is read now is covered"
    clients.charge(ledger, "another")
    clients.Ledger(address).verify()


@pytest.mark.postgres
def test_backends_killed_at_random_never_make_two_charges(
    server: Any, clients: ModuleType, long: bool
) -> None:
    """The connection dies under the client, which tries again by itself."""
    ledger = clients.new_ledger(server.new_schema(), clients.PLENTY)
    stop = threading.Event()
    n = 0

    def killer() -> None:
        killed_at = -1
        while not stop.wait(0.3):
            # Once a charge: on a busy machine one takes longer than the time between two kills, and
            # would lose more connections than there are tries.
            if n == killed_at:
                continue
            killed_at = n
            server.sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() "
                "AND application_name = 'headcount ledger' ORDER BY random() LIMIT 1"
            )

    thread = threading.Thread(target=killer)
    thread.start()
    try:
        until = time.monotonic() + (60 if long else 5)
        while time.monotonic() < until:
            clients.charge(ledger, f"key-{n}")
            n += 1
    finally:
        stop.set()
        thread.join()
    assert len(ledger.entries("web")) == n
    assert ledger.account("web").spent.rho * 100 == n
    ledger.verify()
