"""Bring a fleet's schema up to date when it is opened; and who may do what in it."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from headcount.errors import FleetError, UsageError
from headcount.fleet.migrations.functions_0003 import CONTROL, DRIVER, INGEST
from headcount.ledger.stores.migrate import upgrade

CURRENT = "0003"
OLDER = ("0001", "0002")
STEPS = Path(__file__).parent / "migrations"
# Any fixed number does: one process at a time makes tables.
ALONE = "SELECT pg_advisory_xact_lock(4845414443455545)"
VERSION = "SELECT version_num FROM fleet.version"
HAS_VERSION = "SELECT to_regclass('fleet.version') IS NOT NULL"
ROLES = {
    "reader": (),
    "ingest": INGEST,
    "driver": DRIVER,
    "control": CONTROL,
}
"""Each reads tasks and rounds and may call these."""
READS = {
    "driver": "fleet.posted, fleet.ordered",
    "control": "fleet.ordered, fleet.job, fleet.token",
}
"""What else some of them read: a driver sealed posts, and control what tokens are known by."""
KNOWN = "SELECT quote_ident(rolname) FROM pg_roles WHERE rolname = %s"
# Whoever owns the tables, or is a superuser, has all rights whatever is granted.
IS_STRONG = (
    "SELECT pg_has_role(%s, relowner, 'MEMBER') FROM pg_class WHERE oid = 'fleet.task'::regclass"
)


def bring_up_to_date(engine: sa.Engine, address: str) -> None:
    """Make the tables of a new fleet, or take those of an older one to this version."""
    with engine.connect() as connection:
        if _version(connection, address) == CURRENT:
            return
    with _alone(engine) as connection, connection.begin():
        connection.exec_driver_sql(ALONE)
        if _version(connection, address) != CURRENT:
            connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS fleet")
            upgrade(connection, STEPS)


def grant(engine: sa.Engine, role: str, name: str) -> None:
    """Let a login of the server do what its role is for, and nothing else."""
    if role not in ROLES:
        raise UsageError(f"A role is {', '.join(ROLES)}, not {role!r}. Nothing was changed.")
    tables = "fleet.task, fleet.round, fleet.allowed, fleet.version"
    with _alone(engine) as connection, connection.begin():
        quoted = connection.exec_driver_sql(KNOWN, (name,)).scalar()
        if quoted is None:
            raise UsageError(
                f"The server has no role {name!r}. Someone who may make roles runs: CREATE ROLE "
                f'"{name}" LOGIN. Nothing was changed.'
            )
        if connection.exec_driver_sql(IS_STRONG, (name,)).scalar_one():
            raise UsageError(
                f"{name!r} owns the fleet's tables or is a superuser: it has every right already. "
                "Give each program a login of its own. Nothing was changed."
            )
        for statement in (
            f"REVOKE ALL ON ALL TABLES IN SCHEMA fleet FROM {quoted}",
            f"REVOKE ALL ON ALL FUNCTIONS IN SCHEMA fleet FROM {quoted}",
            f"GRANT USAGE ON SCHEMA fleet TO {quoted}",
            f"GRANT SELECT ON {tables} TO {quoted}",
            *(f"GRANT EXECUTE ON FUNCTION fleet.{one} TO {quoted}" for one in ROLES[role]),
            *([f"GRANT SELECT ON {READS[role]} TO {quoted}"] if role in READS else []),
        ):
            connection.exec_driver_sql(statement)


def _alone(engine: sa.Engine) -> sa.Connection:
    return engine.connect().execution_options(isolation_level="READ COMMITTED")


def _version(connection: sa.Connection, address: str) -> str | None:
    if not connection.exec_driver_sql(HAS_VERSION).scalar_one():
        return None
    version = connection.exec_driver_sql(VERSION).scalar()
    if version not in (None, CURRENT, *OLDER):
        raise FleetError(
            f"The fleet {address!r} was written by a newer version of headcount (schema {version}; "
            f"this one knows {CURRENT}). Nothing was changed. Upgrade: pip install --upgrade "
            "headcount"
        )
    return None if version is None else str(version)
