"""Whoever looks at a PostgreSQL server makes nothing there, and waits for nobody."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from headcount.cli.commands import app
from headcount.errors import LedgerError
from headcount.ledger.ledger import Ledger

pytestmark = pytest.mark.postgres
TABLES = (
    "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
)


def run(address: str, *words: str) -> Any:
    return CliRunner().invoke(app, ["ledger", *words, "--ledger", address])


def tables(address: str) -> list[Any]:
    with psycopg.connect(address, autocommit=True) as connection:
        return [row[0] for row in connection.execute(TABLES)]


@pytest.mark.parametrize("words", [("show",), ("verify",), ("export",), ("grant", "analyst", "x")])
def test_a_look_at_an_empty_database_makes_no_ledger(server: Any, words: tuple[str, ...]) -> None:
    address = server.new_database()
    ran = run(address, *words)
    assert isinstance(ran.exception, LedgerError), ran.output
    assert "There is no ledger at" in str(ran.exception)
    assert "headcount ledger open" in str(ran.exception)
    assert tables(address) == []
    assert run(address, "open", "web", "--budget", "3").exit_code == 0
    assert run(address, "verify").exit_code == 0


def test_a_database_of_others_is_left_alone(server: Any) -> None:
    address = server.new_database()
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("CREATE TABLE orders (id bigint)")
    for words in (("show",), ("verify",), ("open", "web", "--budget", "3")):
        assert "is not a ledger" in str(run(address, *words).exception)
    assert tables(address) == ["orders"]


def test_a_database_that_was_emptied_is_not_written_to(server: Any, clients: ModuleType) -> None:
    address = server.new_database()
    clients.charge(clients.new_ledger(address), "k")
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    for words in (("show",), ("verify",), ("open", "web", "--budget", "3")):
        said = str(run(address, *words).exception)
        assert "One was there, and is gone" in said
        assert "under a new name (another file or database)" in said
    assert tables(address) == []


def test_a_look_waits_for_no_standby_and_a_charge_says_that_it_does(
    server_of_its_own: Any,
    clients: ModuleType,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = server_of_its_own
    monkeypatch.setattr(clients.postgres, "PATIENCE", 0.5)
    ledger = clients.new_ledger(server.address())
    made = clients.charge(ledger, "before")
    ledger.store_result(made.sequence, b"rows")
    server.sql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()")
    # No statement may wait: each of these would do so for ever.
    for words in (("show",), ("export",), ("statement", "web")):
        ran = run(server.address(), *words)
        assert ran.exit_code == 0, (ran.output, ran.exception)
    assert ledger.stored_result(made.sequence) == b"rows", "this machine knows that it was flushed"
    elsewhere = Ledger(server.address(), heads=tmp_path / "another machine")
    assert elsewhere.known("web", "r", key="before", to_show=False) is not None
    assert not elsewhere.verify().is_noted
    assert not [path for path in elsewhere._heads.paths if path.exists()]
    ran = run(server.address(), "verify")
    assert "head was not moved" in ran.output, ran.output

    caplog.set_level(logging.WARNING, "headcount")
    thread = threading.Thread(target=lambda: _charged(clients, ledger), daemon=True)
    thread.start()
    clients.wait_until(lambda: "a synchronous standby may be away" in caplog.text, 60)
    server.sql("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
    thread.join(60)
    assert not thread.is_alive()
    assert caplog.text.count("waiting for the server to flush") == 1
    assert [entry.key for entry in ledger.entries("web")] == ["before", "after"]


def _charged(clients: ModuleType, ledger: Ledger) -> None:
    clients.charge(ledger, "after")
