"""Who may do what on a server, and what somebody is told who may not."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

import headcount as hc
from headcount.cli.commands import app
from headcount.errors import BudgetError, LedgerError, UsageError
from headcount.ledger.ledger import Ledger

pytestmark = pytest.mark.postgres


def refused(address: str, *words: str) -> str:
    ran = CliRunner().invoke(app, ["ledger", *words, "--ledger", address])
    assert isinstance(ran.exception, LedgerError | UsageError), ran.output
    assert ran.exception.__context__ is None, "no link to what the driver said"
    return str(ran.exception)


def test_a_role_loses_all_its_rights(book: Any, clients: ModuleType) -> None:
    mallory = Ledger(book.address("mallory"))
    assert clients.charge(mallory, "hers").is_new
    said = book.run("revoke", "mallory")
    assert "mallory has no rights on the ledger" in said
    for words in (("show",), ("verify",), ("export",)):
        assert "headcount ledger grant analyst mallory" in refused(book.address("mallory"), *words)
    with pytest.raises(LedgerError, match="that the role that logged in may not use"):
        clients.charge(mallory, "another")
    with pytest.raises(psycopg.Error):
        book.sql(f"SELECT * FROM {book.schema}.entries")
    book.is_in_order(2)
    book.run("grant", "analyst", "mallory")
    assert clients.charge(mallory, "another").is_new
    assert "owns the ledger already" in refused(book.address("keeper"), "revoke", "keeper")
    assert "Only the owner" in refused(book.address("victor"), "revoke", "mallory")


def test_an_owner_by_grant_is_told_apart_and_taken_back(book: Any) -> None:
    said = book.run("grant", "owner", "victor", user="postgres")
    assert "victor is a member of keeper now, with all its rights on this server" in said
    book.run("revoke", "victor", user="postgres")
    assert "grant analyst victor" in refused(book.address("victor"), "show")
    # An owner that may grant no roles; before version 16 every role could grant itself.
    book.server.sql(
        "DROP ROLE IF EXISTS deputy", "CREATE ROLE deputy LOGIN", "GRANT keeper TO deputy"
    )
    said = refused(book.address("deputy"), "grant", "owner", "victor")
    assert "A superuser runs: GRANT keeper TO victor;" in said


def test_only_the_owner_sets_quotas_and_makes_a_ledger(book: Any) -> None:
    said = refused(book.address("mallory"), "open", "web", "--quota", "mallory=1")
    assert "Only the owner of" in said
    assert "can set quotas, and the role 'mallory' is not. Nothing was changed." in said
    empty = book.server.new_database().replace("postgres@", "mallory@")
    assert "There is no ledger at" in refused(empty, "show")
    said = refused(empty, "open", "web", "--budget", "3")
    assert "can make a ledger there, and the role 'mallory' is not" in said


def test_a_quota_of_nothing(book: Any, clients: ModuleType) -> None:
    said = book.run("open", "web", "--quota", "mallory=0", "--quota", "victor=0")
    assert "quota of mallory: may spend nothing\n" in said
    assert "quota of victor: may spend nothing more" in said
    for name in ("mallory", "victor"):
        with pytest.raises(BudgetError, match="The quota of"):
            clients.charge(Ledger(book.address(name)), "new")
    assert "quota of mallory: epsilon 0 of 1 spent" in book.run("open", "web", "--quota=mallory=1")
    book.is_in_order(1)


def test_a_source_and_a_ledger_say_why_they_cannot_be_reached(book: Any) -> None:
    server = book.server
    server.sql(
        "CREATE SCHEMA IF NOT EXISTS hidden", "CREATE TABLE IF NOT EXISTS hidden.events (u int)"
    )
    server.sql("CREATE TABLE seen_events (u int, g int)")
    places = {
        "the server cannot be reached": "postgres://victor@127.0.0.1:1/postgres",
        "did not accept the login": f"postgres://nobody_known@127.0.0.1:{server.port}/postgres",
        "has no such database": f"postgres://victor@127.0.0.1:{server.port}/nowhere",
    }
    for words, place in places.items():
        for call in (
            lambda place=place: hc.open(f"{place}?table=t", user="u", budget=hc.Budget(rho=1)),
            lambda place=place: Ledger(place),
        ):
            with pytest.raises((UsageError, LedgerError), match=words) as caught:
                call()
            assert "nobody_known" not in str(caught.value)
            assert caught.value.__context__ is None
    tables = {
        "There is no table to read": "public.missing",
        r"GRANT SELECT ON public\.seen_events TO victor;": "public.seen_events",
        r"GRANT USAGE ON SCHEMA hidden TO victor;": "hidden.events",
    }
    for words, table in tables.items():
        address = f"postgres://victor@127.0.0.1:{server.port}/postgres?table={table}"
        with pytest.raises(UsageError, match=words):
            hc.open(address, user="u", budget=hc.Budget(rho=1))
