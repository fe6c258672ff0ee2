"""A ledger that was put back, cut, edited or swapped is refused when it is opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pytest

from headcount.errors import LedgerError


class Tampering:
    """A database under the hands of someone who owns it: triggers off, any SQL, any copy."""

    def __init__(self, server: Any, address: str) -> None:
        self.server = server
        self.address = address
        self.is_file = "://" not in address
        self.database = address.rsplit("/", 1)[1]

    def sql(self, *statements: str) -> None:
        if not self.is_file:
            with psycopg.connect(self.address, autocommit=True) as connection:
                for statement in ("SET session_replication_role = replica", *statements):
                    connection.execute(statement)
            return
        raw = sqlite3.connect(self.address, isolation_level=None)
        found = raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in found.fetchall():
            raw.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            raw.execute(statement)
        raw.close()

    def backup(self, to: str) -> None:
        if self.is_file:
            source, target = sqlite3.connect(self.address), sqlite3.connect(to)
            source.backup(target)
            source.close()
            target.close()
        else:
            self.server.sql(f"CREATE DATABASE {to} TEMPLATE {self.database}")

    def restore(self, backup: str) -> None:
        if self.is_file:
            for ending in ("", "-wal", "-shm"):
                Path(self.address + ending).unlink(missing_ok=True)
            Path(backup).rename(self.address)
        else:
            self.server.sql(
                f"DROP DATABASE {self.database} WITH (FORCE)",
                f"ALTER DATABASE {backup} RENAME TO {self.database}",
            )


@pytest.fixture
def tampering(
    new_address: Callable[[], str], request: pytest.FixtureRequest, clients: ModuleType
) -> Tampering:
    """A ledger with five charges and one result, closed."""
    return used(new_address(), request, clients)


@pytest.fixture
def copyable(
    new_database: Callable[[], str], request: pytest.FixtureRequest, clients: ModuleType
) -> Tampering:
    """The same, in a database of its own."""
    return used(new_database(), request, clients)


def used(address: str, request: pytest.FixtureRequest, clients: ModuleType) -> Tampering:
    server = request.getfixturevalue("server") if "://" in address else None
    ledger = clients.new_ledger(address)
    for number in range(5):
        charge = clients.charge(ledger, f"key-{number}")
    ledger.store_result(charge.sequence, b"what was shown")
    ledger.verify()
    close(ledger)
    return Tampering(server, address)


def close(ledger: Any) -> None:
    ledger._store.engine.dispose()


def refused(clients: ModuleType, address: str, match: str) -> None:
    """Noticed when it is opened, or when it is verified."""
    with pytest.raises(LedgerError, match=match) as caught:
        clients.Ledger(address).verify()
    assert "treat all of its budgets as spent" in str(caught.value)
    assert caught.value.exit_code == 4


def test_a_restored_backup_is_refused(
    copyable: Tampering, clients: ModuleType, tmp_path: Path
) -> None:
    name = str(tmp_path / "backup.db") if copyable.is_file else f"{copyable.database}_backup"
    copyable.backup(name)
    ledger = clients.Ledger(copyable.address)
    clients.charge(ledger, "after the backup")
    close(ledger)
    copyable.restore(name)
    refused(clients, copyable.address, "ends at entry 7 and had come to entry 8")


def test_a_restored_backup_that_went_on_elsewhere_is_refused(
    copyable: Tampering, clients: ModuleType, tmp_path: Path
) -> None:
    name = str(tmp_path / "backup.db") if copyable.is_file else f"{copyable.database}_backup"
    copyable.backup(name)
    ledger = clients.Ledger(copyable.address)
    clients.charge(ledger, "after the backup")
    close(ledger)
    copyable.restore(name)
    elsewhere = clients.Ledger(copyable.address, heads=tmp_path / "another machine")
    for number in range(3):
        clients.charge(elsewhere, f"elsewhere-{number}")
    close(elsewhere)
    refused(clients, copyable.address, "entry 8 is not the one that this machine saw")


def test_a_truncated_table_is_refused(tampering: Tampering, clients: ModuleType) -> None:
    tampering.sql(
        "DELETE FROM entries WHERE sequence > 4",
        "DELETE FROM pieces",
        "UPDATE accounts SET rho_spent = rho_spent / 5 * 3",
    )
    refused(clients, tampering.address, "ends at entry 4 and had come to entry 7")


def test_an_emptied_table_is_refused(tampering: Tampering, clients: ModuleType) -> None:
    tampering.sql(*(f"DELETE FROM {name}" for name in ("entries", "pieces", "accounts")))
    refused(clients, tampering.address, "ends at entry 0")


@pytest.mark.parametrize(
    ("statement", "match"),
    [
        ("UPDATE entries SET rho = 1 WHERE sequence = 3", "entry 3 was changed"),
        ("UPDATE entries SET analyst = 'bob' WHERE sequence = 3", "entry 3 was changed"),
        ("UPDATE entries SET rho = rho * 9 WHERE sequence = 1", "entry 1 was changed"),
        ("DELETE FROM entries WHERE sequence = 3", "entry 3 is missing"),
        ("UPDATE accounts SET rho_spent = 0", "accounts do not agree"),
        ("UPDATE accounts SET rho_limit = rho_limit * 2", "accounts do not agree"),
        ("UPDATE entries SET key = 'another' WHERE sequence = 3", "entry 3 was changed"),
        ("DELETE FROM pieces", "results do not agree"),
        ("INSERT INTO covers VALUES ('/data', 'web')", "covers do not agree"),
        ("INSERT INTO quotas VALUES ('web', 'ann', 9, 9, 0, 0)", "quotas do not agree"),
        ("UPDATE ledger SET id = 'another'", "entry 1 was changed"),
        ("DELETE FROM ledger", "its own name was removed"),
    ],
)
def test_an_edited_row_is_refused(
    tampering: Tampering, clients: ModuleType, statement: str, match: str
) -> None:
    tampering.sql(statement)
    refused(clients, tampering.address, match)


def test_a_swapped_ledger_is_refused(
    copyable: Tampering, clients: ModuleType, new_database: Callable[[], str]
) -> None:
    other = Tampering(copyable.server, new_database())
    ledger = clients.new_ledger(other.address)
    for number in range(9):
        clients.charge(ledger, f"key-{number}")
    close(ledger)
    if copyable.is_file:
        copyable.restore(other.address)
    else:
        copyable.restore(other.database)
    refused(clients, copyable.address, "not the ledger that this machine used")


def test_an_edited_result_is_never_shown(tampering: Tampering, clients: ModuleType) -> None:
    kind = "blob" if tampering.is_file else "bytea"
    tampering.sql(f"UPDATE pieces SET payload = CAST('something else' AS {kind})")
    ledger = clients.Ledger(tampering.address)
    with pytest.raises(LedgerError, match="was changed after it was stored"):
        clients.charge(ledger, "key-4")
    with pytest.raises(LedgerError, match="stored result of entry 6 was changed"):
        ledger.verify()


def test_rows_are_kept_by_the_database_itself(tampering: Tampering, clients: ModuleType) -> None:
    ledger = clients.Ledger(tampering.address)
    with ledger._store.engine.connect() as connection:
        for statement in (
            "UPDATE entries SET rho = 1",
            "DELETE FROM entries",
            "UPDATE pieces SET payload = NULL",
            "DELETE FROM pieces",
            "UPDATE accounts SET rho_spent = 0",
            "UPDATE accounts SET rho_limit = rho_limit + 1",
            "UPDATE accounts SET rho_spent = rho_limit + 1",
            "DELETE FROM accounts",
            "UPDATE ledger SET id = 'x'",
        ):
            with pytest.raises(Exception, match=r"kept as they are|constraint"):
                connection.exec_driver_sql(statement)
            connection.rollback()
        if not tampering.is_file:
            with pytest.raises(Exception, match="kept as they are"):
                connection.exec_driver_sql("TRUNCATE entries")
            connection.rollback()
    ledger.verify()


def test_deleting_the_head_is_a_first_opening(
    copyable: Tampering, clients: ModuleType, tmp_path: Path
) -> None:
    """Stated, not hidden: the head file is the machine owner's to protect."""
    name = str(tmp_path / "backup.db") if copyable.is_file else f"{copyable.database}_backup"
    copyable.backup(name)
    ledger = clients.Ledger(copyable.address)
    clients.charge(ledger, "after the backup")
    close(ledger)
    copyable.restore(name)
    for path in ledger._heads.paths:
        path.unlink()
    assert clients.Ledger(copyable.address).account("web").spent.rho * 100 == 5
