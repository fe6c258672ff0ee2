"""Who may do what with a ledger on PostgreSQL: its owner, analysts, auditors.

The owner is the role that made the tables: it opens accounts and sets quotas. An analyst reads, and
writes only through the functions that charge and store. An auditor reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from headcount.errors import LedgerError, UsageError
from headcount.ledger.schema import VERSION_TABLE, metadata
from headcount.ledger.stores.migrations import functions_0003, functions_0005
from headcount.ledger.stores.refusals import is_forbidden
from headcount.ledger.stores.store import Store

OWNER, ANALYST, AUDITOR = "owner", "analyst", "auditor"
ROLES = (OWNER, ANALYST, AUDITOR)
OWNED_BY = (
    "SELECT pg_get_userbyid(relowner), pg_has_role(relowner, 'MEMBER'), "
    "quote_ident(pg_get_userbyid(relowner)), quote_ident(current_schema()) "
    "FROM pg_class WHERE oid = 'entries'::regclass"
)
STRONG = (
    "SELECT has_schema_privilege(%(name)s, current_schema(), 'CREATE'), "
    "has_database_privilege(%(name)s, current_database(), 'CREATE'), "
    "quote_ident(current_database()), pg_has_role(%(name)s, %(owner)s, 'MEMBER')"
)
MAY_READ = "SELECT has_table_privilege(%(name)s, 'entries', 'SELECT')"
IS_MEMBER = (
    "SELECT EXISTS (SELECT FROM pg_auth_members m JOIN pg_class c ON c.relowner = m.roleid "
    "JOIN pg_roles r ON r.oid = m.member "
    "WHERE c.oid = 'entries'::regclass AND r.rolname = %(name)s)"
)
TABLES = ", ".join([*metadata.tables, VERSION_TABLE])
FUNCTIONS = ", ".join([*functions_0003.OFFERED, *functions_0005.OFFERED])


@dataclass(frozen=True, slots=True)
class _Case:
    """A login whose rights the owner changes, in one transaction; names as SQL spells them."""

    connection: sa.Connection
    name: str
    owner: str
    quoted_owner: str
    schema: str

    def run(self, statements: Sequence[str]) -> None:
        for statement in statements:
            self.connection.exec_driver_sql(statement)

    def change_members(self, statement: str) -> None:
        """Say who is a member of the owner, which not every owner may."""
        try:
            self.connection.exec_driver_sql(statement)
        except DBAPIError as error:
            if not is_forbidden(error):
                raise
        else:
            return
        raise LedgerError(
            "The role that logged in may not say who is a member of another. A superuser runs: "
            f"{statement}; Nothing was changed."
        )

    def has(self, right: str, name: str) -> bool:
        return bool(self.connection.exec_driver_sql(right, {"name": name}).scalar_one())


def grant(store: Store, role: str, name: str) -> str:
    """Make a login of the server the owner, an analyst or an auditor of the ledger."""
    if role not in ROLES:
        raise UsageError(f"A role is {', '.join(ROLES)}, not {role!r}. Nothing was changed.")
    with _case(store, name, "let others in") as case:
        if role == OWNER:
            case.change_members(f"GRANT {case.quoted_owner} TO {case.name}")
            return (
                f"{name} is a member of {case.owner} now, with all its rights on this server, and "
                f"so an owner of the ledger {store.address}."
            )
        take = f"REVOKE ALL ON FUNCTION {FUNCTIONS} FROM {case.name}"
        give = f"GRANT EXECUTE ON FUNCTION {FUNCTIONS} TO {case.name}"
        case.run(
            [
                f"GRANT USAGE ON SCHEMA {case.schema} TO {case.name}",
                f"REVOKE CREATE ON SCHEMA {case.schema} FROM PUBLIC, {case.name}",
                f"REVOKE ALL ON TABLE {TABLES} FROM {case.name}",
                f"GRANT SELECT ON TABLE {TABLES} TO {case.name}",
                take if role == AUDITOR else give,
            ]
        )
        asked = {"name": name, "owner": case.owner}
        found = case.connection.exec_driver_sql(STRONG, asked).one()
        _refuse_strong(found, name, case.owner, case.schema)
    return f"{name} is {role} of the ledger {store.address} now."


def revoke(store: Store, name: str) -> None:
    """Take all rights on the ledger from a login of the server. What it spent stays spent."""
    with _case(store, name, "take rights away") as case:
        case.run(
            [
                f"REVOKE ALL ON FUNCTION {FUNCTIONS} FROM {case.name}",
                f"REVOKE ALL ON TABLE {TABLES} FROM {case.name}",
                f"REVOKE ALL ON SCHEMA {case.schema} FROM {case.name}",
            ]
        )
        if case.has(IS_MEMBER, name):
            case.change_members(f"REVOKE {case.quoted_owner} FROM {case.name}")
        if case.has(MAY_READ, name):
            raise LedgerError(
                f"{name!r} has rights on the ledger that come from elsewhere: from PUBLIC, from a "
                "role that it is a member of, or from being a superuser. Whoever gave them takes "
                "them away. Nothing was changed."
            )


@contextmanager
def _case(store: Store, name: str, what: str) -> Iterator[_Case]:
    if not store.has_functions:
        raise UsageError(
            "Roles are for a ledger on PostgreSQL. A ledger file belongs to the user who made it; "
            "let a group in with chmod and chgrp. Nothing was changed."
        )
    with store.changing() as connection:
        known = connection.exec_driver_sql(
            "SELECT quote_ident(rolname) FROM pg_roles WHERE rolname = %(name)s", {"name": name}
        ).scalar()
        if known is None:
            raise UsageError(
                f"The server has no role {name!r}. Someone who may make roles runs: CREATE ROLE "
                f'"{name}" LOGIN. Nothing was changed.'
            )
        owner, is_ours, quoted_owner, schema = connection.exec_driver_sql(OWNED_BY).one()
        if not is_ours:
            raise LedgerError(
                f"Only the owner of the ledger, the role {owner!r}, can {what}. Nothing was "
                "changed."
            )
        if name == owner:
            raise UsageError(f"{name!r} owns the ledger already. Nothing was changed.")
        yield _Case(connection, str(known), str(owner), str(quoted_owner), str(schema))


def _refuse_strong(found: Any, name: str, owner: str, schema: str) -> None:
    """Refuse whoever could write past the functions, or have others run some of their own."""
    in_schema, in_database, database, is_member = found
    if in_schema:
        raise UsageError(
            f"{name!r} may make functions in the schema {schema}, and others would run them in "
            "place of the ledger's. Someone who owns the schema runs: REVOKE CREATE ON SCHEMA "
            f'{schema} FROM PUBLIC, "{name}". A superuser can only be an owner. Nothing was '
            "changed."
        )
    if in_database:
        raise UsageError(
            f"{name!r} may make schemas in the database {database}: one of another's name would be "
            "looked into before the ledger's. Someone who owns the database runs: REVOKE CREATE ON "
            f'DATABASE {database} FROM PUBLIC, "{name}". Nothing was changed.'
        )
    if is_member:
        raise UsageError(
            f"{name!r} is a member of {owner!r}, which owns the ledger, and can act as it. Someone "
            f'who may runs: REVOKE "{owner}" FROM "{name}". Nothing was changed.'
        )
