"""The functions of a ledger on PostgreSQL, called by an analyst with a program of their own."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import psycopg
import pyarrow as pa
import pytest

import headcount as hc
from headcount.errors import LedgerError, UsageError
from headcount.ledger.ledger import Ledger

pytestmark = pytest.mark.postgres

CHEAP = json.dumps({"kind": "selection", "epsilon": "1/9999999"})


def test_a_cheap_charge_buys_no_release(book: Any) -> None:
    """Not under its key, and not for its question."""
    table = pa.table({"user": list(range(500)), "group": ["a"] * 500})
    data = hc.open(table, user="user", account="web", ledger=book.address("mallory"))
    plan = data.count_users(by="group", groups=["a"], bound=1, spend=hc.Budget(rho="0.5"))
    asked = plan.work.request.hash
    assert book.charge(CHEAP, key="cheap", digest=asked)[0] == "charged"
    with pytest.raises(LedgerError, match=r"Entry 3.* paid for something else"):
        plan.release(key="free")
    with pytest.raises(LedgerError, match=r"Entry 3.* paid for something else"):
        plan.release()
    book.is_in_order(charges=2)
    assert plan.release(fresh=True).to_arrow().num_rows == 1
    assert round(float(data.account.spent.rho), 6) == 0.51, "which costs what it costs"


def test_the_analyst_is_who_logged_in(book: Any, people: Any) -> None:
    people.sql("GRANT victor TO mallory")
    try:
        with psycopg.connect(book.address("mallory"), autocommit=True) as connection:
            connection.execute("SET ROLE victor")
            assert book.charge(connection=connection)[0] == "charged"
            number = book.charge(connection=connection, key="more")[1]
            store = "SELECT status FROM ledger_store(%s, 0, 'rows'::bytea, 0, '')"
            assert connection.execute(store, [number]).fetchone() == ("stored",)
    finally:
        people.sql("REVOKE victor FROM mallory")
    book.is_in_order(charges=3)
    assert {row["analyst"] for row in book.owner.journal()[2:]} == {"mallory"}


SHADOWS = (
    "CREATE TEMP TABLE entries (LIKE {schema}.entries)",
    "CREATE TEMP TABLE accounts (LIKE {schema}.accounts)",
    "CREATE TEMP TABLE quotas (LIKE {schema}.quotas)",
    "CREATE TEMP VIEW covers AS SELECT ''::text AS source, ''::text AS account",
)
# Each fits a call better than the one it stands before, if it is looked for at all.
FREE_OF_CHARGE = (
    "CREATE FUNCTION {at}.ledger_units(numeric, numeric, bigint) RETURNS bigint "
    "LANGUAGE sql RETURN 0::bigint",
    "CREATE FUNCTION {at}.div(numeric, numeric) RETURNS numeric LANGUAGE sql RETURN 0::numeric",
    "CREATE FUNCTION {at}.least(numeric, bigint) RETURNS numeric LANGUAGE sql RETURN 0::numeric",
    "CREATE FUNCTION {at}.ledger_cost(jsonb, bigint) RETURNS numeric[] "
    "LANGUAGE sql RETURN ARRAY[0, 1, 0, 1]::numeric[]",
    "CREATE FUNCTION {at}.mine(integer, text) RETURNS text LANGUAGE sql RETURN ''",
    "CREATE OPERATOR {at}.|| (LEFTARG = integer, RIGHTARG = text, FUNCTION = {at}.mine)",
    "CREATE FUNCTION {at}.less(bigint, bigint) RETURNS boolean LANGUAGE sql RETURN false",
    "CREATE OPERATOR {at}.< (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = {at}.less)",
)


@pytest.mark.parametrize("at", ["pg_temp", "own", "ledger's"])
def test_nothing_of_an_analysts_own_is_run(book: Any, people: Any, at: str) -> None:
    """In the schema of the ledger itself too, where a server lets everybody make things."""
    place = {"pg_temp": "pg_temp", "own": "mine", "ledger's": book.schema}[at]
    people.sql("CREATE SCHEMA IF NOT EXISTS mine AUTHORIZATION mallory")
    if at == "ledger's":
        people.sql(f"GRANT CREATE ON SCHEMA {book.schema} TO PUBLIC")
    with psycopg.connect(book.address("mallory"), autocommit=True) as connection:
        for statement in (*SHADOWS, *FREE_OF_CHARGE):
            connection.execute(statement.format(schema=book.schema, at=place))
        connection.execute(f"SET search_path = pg_temp, {place}, {book.schema}, pg_catalog")
        assert book.charge(connection=connection)[0] == "charged"
    spent = book.owner.account("web").spent.rho
    assert float(spent) == 0.02, "as much as the same costs anybody"
    with psycopg.connect(book.address("mallory"), autocommit=True) as connection:
        connection.execute("DROP SCHEMA mine CASCADE")
        if at == "ledger's":
            for statement in reversed(FREE_OF_CHARGE):
                words = statement.format(at=place).replace("CREATE", "DROP").split(" RETURNS")[0]
                words = words.split(" (LEFTARG")[0]
                kind = " (integer, text)" if "||" in words else " (bigint, bigint)"
                connection.execute(words + (kind if "OPERATOR" in words else ""))
    book.is_in_order(charges=2)


def test_who_may_make_functions_there_is_no_analyst(book: Any, people: Any) -> None:
    people.sql("CREATE ROLE maker LOGIN SUPERUSER", "CREATE ROLE helper LOGIN")
    with pytest.raises(UsageError, match="may make functions"):
        book.owner.grant("analyst", "maker")
    people.sql(f"GRANT CREATE ON SCHEMA {book.schema} TO helper, PUBLIC")
    book.owner.grant("analyst", "helper")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        book.sql(f"CREATE TABLE {book.schema}.mine (x int)", user="helper")


PUT, STORE = "SELECT ledger_put({}, {}, {})", "SELECT status FROM ledger_store({}, {}, {}, 0, '')"


@pytest.mark.parametrize(
    "statements",
    [
        [PUT.format(2, 0, "'x'")],
        [PUT.format(3, 0, "'x'")],
        [PUT.format(2, -1, "'x'")],
        [PUT.format(2, 0, "NULL")],
        [PUT.format("NULL", 0, "'x'")],
        [STORE.format(2, -1, "'x'")],
        [STORE.format(2, 1, "'x'")],
        [STORE.format(2, 2147483647, "'x'")],
        [STORE.format(2, "NULL", "'x'")],
        [PUT.format(2, 1, "'y'"), STORE.format(2, 0, "'x'")],
        [PUT.format(2, 0, "repeat('x', 16777217)::bytea")],
        ["SET CONSTRAINTS ALL DEFERRED", PUT.format(2, 0, "'x'"), "SAVEPOINT s"],
    ],
)
def test_a_result_is_whole_or_not_there(book: Any, statements: list[str]) -> None:
    with pytest.raises(psycopg.Error):
        book.sql("BEGIN", *statements, "COMMIT")
    assert book.owner.stored_result(2) is None
    book.is_in_order(charges=1)


def test_a_result_is_stored_once_and_under_ones_own_name(book: Any) -> None:
    """Whoever asks the same question may finish what another began; the journal says who did."""
    assert book.sql(STORE.format(2, 0, "'first'"))[0].fetchone() == ("stored",)
    for words in ((2, 0, "'second'"), (2, 1, "'more'")):
        (status,) = book.sql(STORE.format(*words), user="victor")[0].fetchone()
        assert status == "stored before"
    for piece in (0, 1, -1):
        try:
            book.sql(PUT.format(2, piece, "'second'"))
        except psycopg.Error:
            continue
        assert piece == 0, "where something is already, nothing happens"
    assert book.sql(STORE.format(1, 0, "'x'"))[0].fetchone() == ("no charge",)
    assert book.owner.stored_result(2) == b"first"
    last = book.owner.journal()[-1]
    assert (last["kind"], last["analyst"]) == ("result", "mallory")
    assert last["digest"] == hashlib.sha256(b"first").hexdigest()
    book.is_in_order(charges=1)


@pytest.mark.parametrize("level", ["serializable", "repeatable read"])
def test_a_charge_sees_what_was_charged_before(
    book: Any, people: Any, clients: ModuleType, level: str
) -> None:
    """A view of an earlier moment would let two spend the same; the function refuses it."""
    with psycopg.connect(book.address("mallory"), autocommit=True) as connection:
        connection.execute(f"SET default_transaction_isolation = '{level}'")
        with pytest.raises(psycopg.Error, match="READ COMMITTED"):
            book.charge(connection=connection)
    people.sql(f"ALTER ROLE mallory SET default_transaction_isolation = '{level}'")
    try:
        mine = Ledger(book.address("mallory"))
        assert mine.store_result(clients.charge(mine, "key").sequence, b"x" * 9_000_000)
    finally:
        people.sql("ALTER ROLE mallory RESET ALL")
    book.is_in_order(charges=2)


def test_a_lock_makes_others_wait_and_no_more(book: Any, clients: ModuleType) -> None:
    """Stated, not hidden: whoever can charge can keep others from charging."""
    theirs = Ledger(book.address("victor"))
    won: list[bool] = []
    with psycopg.connect(book.address("mallory"), autocommit=True) as connection:
        connection.execute("BEGIN")
        connection.execute("SELECT ledger_put(2, 0, 'x')")
        assert book.charge(connection=connection)[0] == "charged"
        thread = threading.Thread(target=lambda: won.append(clients.charge(theirs, "key").is_new))
        thread.start()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'"
        until(lambda: book.sql(waits, user="postgres")[0].fetchone() == (1,))
        connection.execute("ROLLBACK")
        thread.join()
    assert won == [True]
    assert [entry.analyst for entry in book.owner.entries("web")] == ["victor", "victor"]
    book.owner.verify()


def until(is_so: Callable[[], bool]) -> None:
    for _ in range(600):
        if is_so():
            return
        time.sleep(0.05)
    pytest.fail("it never came to that")


def test_an_auditor_reads_and_does_not_charge(book: Any, clients: ModuleType) -> None:
    for words in (["show"], ["verify"], ["export"], ["statement", "web"]):
        assert book.run(*words, user="audrey")
    mine = Ledger(book.address("audrey"))
    with pytest.raises(LedgerError, match="may not do this"):
        clients.charge(mine, "key")
    with pytest.raises(LedgerError, match="may not do this"):
        mine.store_result(2, b"rows")
    with pytest.raises(LedgerError, match="Only the owner of"):
        mine.open_account("mine", hc.Budget(rho=1, delta=1e-6))
    with pytest.raises(LedgerError, match="Only the owner"):
        mine.grant("analyst", "audrey")
    book.is_in_order(charges=1)


def test_a_sample_that_claims_too_little_is_named(book: Any) -> None:
    """What it costs is no line of arithmetic, so the database takes the claim; ``verify`` works."""
    sample = {"kind": "sample-threshold", "rate": "1/10", "threshold": "50", "n_samples": "1"}
    claim = json.dumps({**sample, "rho": "1/1000000000", "delta": "1/100000000"})
    assert book.charge(claim, key="k1") == ("charged", 3)
    with pytest.raises(LedgerError, match="entry 3 was charged less than what its event costs"):
        book.owner.verify()
    # One that is known of hides neither a second one nor an edit.
    assert book.charge(claim, key="k2") == ("charged", 4)
    with pytest.raises(LedgerError, match="entries 3, 4 were each charged less"):
        book.owner.verify()
    edits = ("ALTER TABLE accounts DISABLE TRIGGER USER", "UPDATE accounts SET rho_spent = 0")
    book.sql(*edits, user="keeper")
    with pytest.raises(LedgerError, match="its accounts do not agree with its entries"):
        book.owner.verify()
