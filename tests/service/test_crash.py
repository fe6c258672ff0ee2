"""The database server crashes under eight writers: what was acknowledged is still there."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from headcount.errors import LedgerError

pytestmark = [pytest.mark.slow, pytest.mark.postgres]


def write_for_ever(address: str, clients: ModuleType, acknowledged: Path, name: str) -> None:
    """Charge until killed; note each key once its charge came back."""
    out = os.open(acknowledged, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    ledger: Any = None
    for number in itertools.count():
        key = f"{name}-{number}"
        while True:
            # The same key each time: a charge whose answer was lost must not be made twice.
            try:
                ledger = ledger or clients.Ledger(address)
                clients.charge(ledger, key)
                break
            except LedgerError:
                time.sleep(0.05)
        os.write(out, f"{key}\n".encode())


def test_no_acknowledged_charge_is_lost_when_the_server_crashes(
    server_of_its_own: Any,
    clients: ModuleType,
    tmp_path: Path,
    long: bool,
    record_property: Callable[[str, object], None],
) -> None:
    dice = random.Random(11)
    server = server_of_its_own
    acknowledged = tmp_path / "acknowledged"
    address = server.new_schema()
    clients.new_ledger(address, clients.PLENTY)
    crashes = 50 if long else 5
    acknowledged.touch()
    for crash in range(crashes):
        before = acknowledged.stat().st_size
        children = [
            clients.forked(write_for_ever, address, clients, acknowledged, f"{crash}-{i}")
            for i in range(8)
        ]
        try:
            clients.wait_until(lambda size=before: acknowledged.stat().st_size > size + 250)
            time.sleep(dice.random())
            server.crash()
            server.start()
            if crash % 2:  # half the time, let the same writers find the server again
                size = acknowledged.stat().st_size
                clients.wait_until(lambda size=size: acknowledged.stat().st_size > size)
        finally:
            clients.kill_all(children)
    ledger = clients.Ledger(address)
    ledger.verify()
    entries = ledger.entries("web")
    keys = [entry.key for entry in entries]
    told = acknowledged.read_text().split()
    record_property("charges", {"acknowledged": len(told), "kept": len(keys)})
    assert len(told) > 20 * crashes
    assert not set(told) - set(keys)
    assert len(set(keys)) == len(keys)
    assert sum(entry.spend.rho for entry in entries) == ledger.account("web").spent.rho


def setting_of(server: Any, setting: str) -> str:
    with server.connected() as connection:
        return str(connection.execute(f"SHOW {setting}").fetchone()[0])


@pytest.mark.parametrize(
    ("setting", "value", "says"),
    [
        ("synchronous_commit", "off", "ALTER SYSTEM SET synchronous_commit = on"),
        ("full_page_writes", "off", "ALTER SYSTEM SET full_page_writes = on"),
    ],
)
def test_a_server_that_forgets_is_refused(
    server: Any, clients: ModuleType, setting: str, value: str, says: str
) -> None:
    address = server.new_schema()
    clients.new_ledger(address)
    server.sql(f"ALTER SYSTEM SET {setting} = {value}", "SELECT pg_reload_conf()")
    try:
        clients.wait_until(lambda: setting_of(server, setting) == value)
        with pytest.raises(LedgerError) as refused:
            clients.Ledger(address)
    finally:
        server.sql(f"ALTER SYSTEM RESET {setting}", "SELECT pg_reload_conf()")
        clients.wait_until(lambda: setting_of(server, setting) == "on")
    refusal = str(refused.value)
    assert says in refusal
    assert "Nothing was charged" in refusal


def test_a_role_that_forgets_is_refused(server: Any, clients: ModuleType) -> None:
    address = server.new_database()
    database = address.rsplit("/", 1)[1]
    clients.new_ledger(address)
    server.sql(f"ALTER DATABASE {database} SET synchronous_commit = off")
    with pytest.raises(LedgerError, match="synchronous_commit is off"):
        clients.Ledger(address)
