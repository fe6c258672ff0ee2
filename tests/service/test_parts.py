"""Parts of a charge on each store: raced for, cut short, tampered with, and forged."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import psycopg
import pytest

from headcount.errors import LedgerError
from headcount.ledger.ledger import Ledger
from headcount.privacy.budget import Budget
from headcount.privacy.event import GaussianNoise, SampleThreshold
from headcount.privacy.neighbours import Neighbours

ROUNDS = SampleThreshold(
    Fraction(1, 16), Fraction(12), Fraction(3), Fraction(1, 2), Fraction(1, 10**8)
)


def charge(ledger: Ledger, key: str = "rounds", event: Any = ROUNDS) -> int:
    return ledger.charge(
        ledger.opening("web"),
        key=key,
        fresh=True,
        request_hash=key,
        verb="fleet",
        event=event,
        neighbours=Neighbours.ADD_REMOVE,
    ).sequence


@pytest.fixture
def ledger(new_address: Callable[[], str]) -> Ledger:
    book = Ledger(new_address())
    book.open_account("web", Budget(rho=100, delta=1e-5))
    return book


def test_a_part_is_stored_once_and_only_if_it_was_paid_for(ledger: Ledger) -> None:
    paid = charge(ledger)
    assert ledger.store_part(paid, 1, b"first") == b"first"
    assert ledger.store_part(paid, 1, b"second") == b"first"
    assert ledger.stored_part(paid, 1) == b"first"
    with pytest.raises(LedgerError, match="parts 0 to 2"):
        ledger.store_part(paid, 3, b"rows")
    with pytest.raises(LedgerError, match="no charge under entry 999"):
        ledger.store_part(999, 0, b"rows")
    once = charge(ledger, "once", GaussianNoise(Fraction(1), Fraction(50)))
    with pytest.raises(LedgerError, match="which has no parts"):
        ledger.store_part(once, 0, b"rows")
    with pytest.raises(LedgerError, match="has stored parts"):
        ledger.store_result(paid, b"rows")
    whole = charge(ledger, "whole")
    ledger.store_result(whole, b"rows")
    with pytest.raises(LedgerError, match="has a stored result"):
        ledger.store_part(whole, 0, b"rows")
    assert ledger.store_part(paid, 2, bytes(range(256)) * 4096) == bytes(range(256)) * 4096
    assert ledger.stored_parts(paid) == [1, 2]
    assert set(ledger.verify().parts) == {(paid, 1), (paid, 2)}


def storer(
    number: int, ready: Callable[[], object], address: str, paid: int
) -> list[tuple[bytes, bytes | None]]:
    ledger = Ledger(address)
    seen = []
    for part in range(3):
        ready()
        seen.append((ledger.store_part(paid, part, f"{number}".encode() * 50_000), None))
    return [(first, ledger.stored_part(paid, part)) for part, (first, _) in enumerate(seen)]


def test_many_store_one_part_and_all_see_the_same(
    new_address: Callable[[], str], clients: ModuleType
) -> None:
    address = new_address()
    book = clients.new_ledger(address, Budget(rho=100, delta=1e-5))
    paid = charge(book)
    answers = clients.together(8, storer, address, paid)
    assert all(answer == answers[0] for answer in answers)
    assert all(first == again for first, again in answers[0])
    assert len(book.verify().parts) == 3
    assert [row["kind"] for row in book.journal()].count("part") == 3


POINTS = ["queue", "commit", "settling", "settled", "advanced"]


def killed_at(point: str, address: str, paid: int, part: int) -> None:
    from headcount.ledger.heads import HeadFile

    ledger = Ledger(address)
    store = type(ledger._store)
    queue, commit, settle, advance = store.queue, store.commit, store.settle, HeadFile.advance

    def reached(name: str) -> None:
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def watched_queue(self: Any) -> Any:
        reached("queue")
        return queue(self)

    def watched_commit(self: Any, connection: Any) -> int:
        reached("commit")
        return commit(self, connection)

    def watched_settle(self: Any, head: Any, ticket: int | None = None) -> None:
        reached("settling")
        settle(self, head, ticket)
        reached("settled")

    def watched_advance(self: Any, head: Any) -> None:
        advance(self, head)
        reached("advanced")

    store.queue = watched_queue  # type: ignore[method-assign]
    store.commit = watched_commit  # type: ignore[method-assign]
    store.settle = watched_settle  # type: ignore[method-assign]
    HeadFile.advance = watched_advance  # type: ignore[method-assign]
    ledger.store_part(paid, part, b"first")


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_while_storing_leaves_one_part_or_none(
    new_address: Callable[[], str], clients: ModuleType, point: str
) -> None:
    address = new_address()
    book = clients.new_ledger(address, Budget(rho=100, delta=1e-5))
    if point == "commit" and "://" in address:
        pytest.skip("on PostgreSQL a part is one statement, which commits by itself")
    paid = charge(book)
    spent = book.account("web").spent
    child = clients.forked(killed_at, point, address, paid, 0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the point was never reached"
    again = Ledger(address)
    again.verify()
    # What came back before may have been shown, and is all that ever is.
    expected = b"second" if point in ("queue", "commit") else b"first"
    assert again.store_part(paid, 0, b"second") == expected
    assert again.store_part(paid, 0, b"third") == expected
    assert again.account("web").spent == spent
    assert len(again.verify().parts) == 1


def tampered(address: str, *statements: str) -> None:
    """By someone who owns the database: no trigger is in the way."""
    if "://" in address:
        with psycopg.connect(address, autocommit=True) as connection:
            for statement in ("SET session_replication_role = replica", *statements):
                connection.execute(statement)
        return
    raw = sqlite3.connect(address, isolation_level=None)
    for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        raw.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        raw.execute(statement)
    raw.close()


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("UPDATE parts SET payload = {other} WHERE part = 0", "part 0 of entry 2 was changed"),
        ("DELETE FROM parts WHERE part = 0", "part 0 of entry 2 is missing"),
        ("UPDATE parts SET part = 2 WHERE part = 0", "that part 2 of entry 2 was stored"),
        ("UPDATE parts SET sequence = 3 WHERE part = 0", "that part 0 of entry 3 was stored"),
        ("INSERT INTO parts VALUES (2, 2, {other})", "that part 2 of entry 2 was stored"),
        ("INSERT INTO parts VALUES (2, 3, {other})", "that part 3 of entry 2 was stored"),
        ("DELETE FROM entries WHERE sequence = 5", "ends at entry 4"),
        ("UPDATE entries SET digest = 'x' WHERE sequence = 4", "entry 4 was changed"),
    ],
)
def test_verify_names_what_was_done_to_parts(
    new_address: Callable[[], str], clients: ModuleType, statement: str, says: str
) -> None:
    address = new_address()
    book = clients.new_ledger(address, Budget(rho=100, delta=1e-5))
    paid, _ = charge(book), charge(book, "another")
    for part in (0, 1):
        book.store_part(paid, part, b"rows")
    book.verify()
    book._store.engine.dispose()
    kind = "bytea" if "://" in address else "blob"
    tampered(address, statement.format(other=f"CAST('other' AS {kind})"))
    with pytest.raises(LedgerError, match=says) as refused:
        Ledger(address).verify()
    assert refused.value.exit_code == 4


def test_a_changed_part_is_never_shown(new_address: Callable[[], str], clients: ModuleType) -> None:
    address = new_address()
    book = clients.new_ledger(address, Budget(rho=100, delta=1e-5))
    paid = charge(book)
    book.store_part(paid, 0, b"rows")
    book._store.engine.dispose()
    kind = "bytea" if "://" in address else "blob"
    tampered(address, f"UPDATE parts SET payload = CAST('other' AS {kind})")
    again = Ledger(address)
    with pytest.raises(LedgerError, match="was changed after it was stored"):
        again.stored_part(paid, 0)
    with pytest.raises(LedgerError, match="was changed after it was stored"):
        again.store_part(paid, 0, b"rows")


def test_rows_are_kept_by_the_database_itself(ledger: Ledger) -> None:
    ledger.store_part(charge(ledger), 0, b"rows")
    with ledger._store.engine.connect() as connection:
        for statement in ("UPDATE parts SET part = 1", "DELETE FROM parts"):
            with pytest.raises(Exception, match="kept as they are"):
                connection.exec_driver_sql(statement)
            connection.rollback()
    ledger.verify()


STORE_PART = "SELECT status FROM ledger_store_part({}, {}, {}, 0, '')"


@pytest.mark.postgres
def test_an_analyst_stores_parts_through_the_function_alone(book: Any) -> None:
    event = (
        '{"kind": "sample-threshold", "rate": "1/16", "threshold": "12", "n_samples": "3", '
        '"rho": "1/2", "delta": "1/100000000"}'
    )
    status, paid = book.charge(event, key="rounds")
    assert status == "charged"

    def store(part: object, payload: str = "'rows'", number: object = None, **who: str) -> str:
        asked = STORE_PART.format(number or paid, part, payload)
        return str(book.sql(asked, **who)[0].fetchone()[0])

    for odd in (("NULL",), (0, "NULL"), (0, "repeat('x', 67108865)::bytea")):
        with pytest.raises(psycopg.Error):
            store(*odd)
    assert [store(-1), store(3), store(2147483647)] == ["no part"] * 3
    assert store(0, number=1) == "no charge"
    assert store(0, number=2) == "no part"
    assert store(1) == "stored"
    assert store(1, "'second'", user="victor") == "stored before"
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        store(2, user="audrey")
    for statement in (
        f"INSERT INTO parts VALUES ({paid}, 2, 'x')",
        "DELETE FROM parts",
        "UPDATE parts SET part = 2",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            book.sql(statement)
    assert book.sql("SELECT payload FROM parts", user="audrey")[0].fetchone() == (b"rows",)
    last = book.owner.journal()[-1]
    assert (last["kind"], last["analyst"]) == ("part", "mallory")
    book.is_in_order(charges=2)


@pytest.mark.postgres
def test_rights_of_an_earlier_version_reach_parts(book: Any, server: Any, tmp_path: Path) -> None:
    """As a ledger of schema 0004 has them: analysts store, auditors read, nobody else does."""
    schema = book.schema
    server.sql(
        *(f"DROP TABLE {schema}.{name}" for name in ("parts", "windows", "per_window")),
        f"DROP FUNCTION {schema}.ledger_store_part",
        f"DROP INDEX {schema}.one_entry_per_part",
        f"UPDATE {schema}.ledger_version SET version_num = '0004'",
    )
    owner = Ledger(book.address("keeper"), heads=tmp_path / "anew")
    paid = charge(Ledger(book.address("victor")))
    assert Ledger(book.address("mallory")).store_part(paid, 0, b"rows") == b"rows"
    assert Ledger(book.address("audrey")).stored_part(paid, 0) == b"rows"
    with pytest.raises(LedgerError, match=r"may not|right"):
        Ledger(book.address("audrey")).store_part(paid, 1, b"rows")
    assert len(owner.verify().parts) == 1
