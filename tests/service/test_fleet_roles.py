"""Who may do what in a fleet's database, and which servers and schemas are refused."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest
from tests.service.fleets import CANARY, counts, cut, reports, truth, upload, written
from tests.service.test_fleet_door import begun

from headcount.errors import FleetError, UsageError
from headcount.fleet.door import Door
from headcount.fleet.migrate import ROLES
from headcount.fleet.migrations.functions_0003 import CONTROL, DRIVER, INGEST, INSIDE
from headcount.fleet.store import FleetStore
from headcount.ledger.ledger import Ledger

pytestmark = pytest.mark.postgres
LOGINS = {
    "reader": "rita",
    "ingest": "ines",
    "driver": "dora",
    "control": "carl",
    "nobody": "nora",
}
READ = ("task", "round", "allowed", "version")
MORE = {"driver": {"ordered"}, "control": {"ordered", "job", "token"}}


@pytest.fixture
def logins(fleet: Any) -> Any:
    return with_logins(fleet)


def with_logins(fleet: Any) -> Any:
    """The fleet with a login for each role, and one without any."""
    store = FleetStore(fleet.address)
    for role, name in LOGINS.items():
        if not fleet.sql("SELECT 1 FROM pg_roles WHERE rolname = %s", name):
            fleet.server.sql(f"CREATE ROLE {name} LOGIN")
        if role in ROLES:
            store.grant(role, name)
    return fleet


def address(fleet: Any, role: str) -> str:
    return str(fleet.address.replace("postgres@", f"{LOGINS[role]}@"))


def may(fleet: Any, role: str, statement: str) -> bool:
    with psycopg.connect(address(fleet, role)) as connection:
        try:
            connection.execute(statement)
        except psycopg.errors.InsufficientPrivilege:
            return False
        except psycopg.Error:
            return True
        finally:
            connection.rollback()
    return True


WRITES = (
    "INSERT INTO fleet.task (id) VALUES ('x')",
    "UPDATE fleet.round SET state = 'open'",
    "UPDATE fleet.round SET token = 0",
    "DELETE FROM fleet.round",
    "INSERT INTO fleet.posted (round, body) VALUES (1, 'x')",
    "DELETE FROM fleet.posted",
    "TRUNCATE fleet.posted",
    "DROP TABLE fleet.posted_1",
    "SELECT 1 FROM fleet.round FOR SHARE",
    "CREATE TABLE fleet.more (x int)",
    "CREATE FUNCTION fleet.more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "UPDATE fleet.version SET version_num = '0'",
    "UPDATE fleet.token SET role = 'owner'",
    "DELETE FROM fleet.ordered",
    "UPDATE fleet.job SET number = 1",
)


@pytest.mark.parametrize("role", LOGINS)
def test_every_right_of_every_role(logins: Any, role: str) -> None:
    begun(logins)
    reads = {table for table in READ if may(logins, role, f"SELECT * FROM fleet.{table}")}
    assert reads == (set() if role == "nobody" else set(READ))
    more = {one for one in ("ordered", "job", "token") if may(logins, role, f"TABLE fleet.{one}")}
    assert more == MORE.get(role, set())
    for posts in ("posted", "posted_1"):
        is_let = role == "driver" and posts == "posted"
        assert may(logins, role, f"SELECT body FROM fleet.{posts}") == is_let, posts
    assert [one for one in WRITES if may(logins, role, one)] == []
    calls = set()
    for one in {*INGEST, *DRIVER, *CONTROL, *INSIDE}:
        name, kinds = one.rstrip(")").split("(")
        given = ", ".join(f"NULL::{kind}" for kind in kinds.split(", ") if kind)
        if may(logins, role, f"SELECT fleet.{name}({given})"):
            calls.add(one)
    assert calls == set(ROLES.get(role, ()))


def test_a_round_goes_through_with_a_login_for_each(logins: Any) -> None:
    driver = Door(
        FleetStore(address(logins, "driver")), Ledger(logins.book), logins.core.place, 60.0
    )
    task = driver.apply(written())
    descriptor = driver.open_round(task.id, 0)
    taker = FleetStore(address(logins, "ingest"))
    found = taker.round(task.id, 0)
    assert found is not None
    assert taker.take(found.id, cut(reports(task, descriptor), 50))
    with pytest.raises(FleetError, match="may not do this"):
        taker.close(found.id)
    with pytest.raises(FleetError, match="may not do this"):
        taker.page(found.id, b"")
    with pytest.raises(FleetError, match="may not do this"):
        upload(driver, task, [bytes(320)])
    driver.close(task.id, 0)
    (release,) = driver.step()
    assert counts(release) == truth(task)
    logins.is_in_order(task, 1)
    with pytest.raises(FleetError, match="may not do this"):
        FleetStore(address(logins, "nobody"))


def test_roles_are_changed_and_refused_in_words(logins: Any) -> None:
    store = FleetStore(logins.address)
    store.grant("reader", "dora")
    assert not may(logins, "driver", "SELECT body FROM fleet.posted")
    assert not may(logins, "driver", "SELECT fleet.close_rounds(NULL)")
    with pytest.raises(UsageError, match="no role 'no one'"):
        store.grant("reader", "no one")
    with pytest.raises(UsageError, match="A role is reader, ingest, driver, control"):
        store.grant("owner", "dora")
    with pytest.raises(UsageError, match="every right already"):
        store.grant("reader", "postgres")
    with pytest.raises(FleetError, match="may not do this") as refused:
        FleetStore(address(logins, "driver")).grant("driver", "nora")
    assert refused.value.__context__ is None


def test_every_column_says_what_it_is(fleet: Any) -> None:
    fleet.door()
    missing = fleet.sql(
        "SELECT attrelid::regclass::text, attname FROM pg_attribute WHERE attnum > 0 AND NOT "
        "attisdropped AND attrelid IN ('fleet.task'::regclass, 'fleet.round'::regclass, "
        "'fleet.posted'::regclass, 'fleet.ordered'::regclass, 'fleet.job'::regclass, "
        "'fleet.token'::regclass) AND col_description(attrelid, attnum) IS NULL"
    )
    assert missing == []


def test_a_server_that_could_lose_reports_is_refused(fleet: Any) -> None:
    fleet.door()
    for setting in ("synchronous_commit = off",):
        fleet.server.sql(f"ALTER DATABASE {fleet.database} SET {setting}")
        with pytest.raises(FleetError, match="reports that were acknowledged can be lost"):
            fleet.door()
        fleet.server.sql(f"ALTER DATABASE {fleet.database} RESET ALL")
    # A default of another isolation is put right, not trusted.
    fleet.server.sql(f"ALTER DATABASE {fleet.database} SET default_transaction_isolation = "
                     "'serializable'")  # fmt: skip
    door, task = begun(fleet)
    (release,) = door.step()
    assert counts(release) == truth(task)
    with pytest.raises(psycopg.Error, match="READ COMMITTED"):
        fleet.sql("SELECT fleet.take(1, '{}')")


def test_an_address_and_a_newer_schema_are_refused_without_a_password(fleet: Any) -> None:
    for odd in ("fleet.db", "sqlite:///x", "postgresql://u:hunter2@h:x/d", "postgresql://"):
        with pytest.raises(UsageError, match="kept in a database of PostgreSQL") as refused:
            FleetStore(odd)
        assert "hunter2" not in str(refused.value)
    away = f"postgresql://postgres:hunter2@127.0.0.1:1/{fleet.database}"
    with pytest.raises(FleetError, match="cannot be reached") as unreached:
        FleetStore(away)
    assert "hunter2" not in str(unreached.value)
    assert unreached.value.__context__ is None
    fleet.door()
    fleet.sql("UPDATE fleet.version SET version_num = '0099'")
    with pytest.raises(FleetError, match="newer version"):
        fleet.door()


def test_a_task_is_named_by_its_hash_in_the_database_too(fleet: Any) -> None:
    door = fleet.door()
    task = door.apply(written())
    with pytest.raises(psycopg.errors.CheckViolation):
        fleet.sql("UPDATE fleet.task SET spelled = spelled || 'x'")
    with pytest.raises(psycopg.errors.CheckViolation):
        fleet.sql("UPDATE fleet.task SET id = %s", bytes(32))
    assert CANARY not in str(fleet.sql("SELECT * FROM fleet.task WHERE id = %s", task.id))
