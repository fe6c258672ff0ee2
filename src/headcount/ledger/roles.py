"""Who may do what with a ledger on PostgreSQL: its owner, analysts, auditors.

The owner is the role that made the tables: it opens accounts and sets quotas. An analyst reads, and
writes only through the functions that charge and store. An auditor reads.
"""

from __future__ import annotations

from typing import Any

from headcount.errors import LedgerError, UsageError
from headcount.ledger.migrations.functions_0003 import OFFERED
from headcount.ledger.schema import VERSION_TABLE, metadata
from headcount.ledger.store import Store

OWNER, ANALYST, AUDITOR = "owner", "analyst", "auditor"
ROLES = (OWNER, ANALYST, AUDITOR)
OWNED_BY = (
    "SELECT pg_get_userbyid(relowner), pg_has_role(relowner, 'MEMBER'), "
    "quote_ident(pg_get_userbyid(relowner)), quote_ident(current_schema()) "
    "FROM pg_class WHERE oid = 'entries'::regclass"
)
MAY_CREATE = (
    "SELECT has_schema_privilege(%(name)s, current_schema(), 'CREATE'), "
    "has_database_privilege(%(name)s, current_database(), 'CREATE'), "
    "quote_ident(current_database()), pg_has_role(%(name)s, %(owner)s, 'MEMBER')"
)


def grant(store: Store, role: str, name: str) -> None:
    """Make a login of the server the owner, an analyst or an auditor of the ledger."""
    if role not in ROLES:
        raise UsageError(f"A role is {', '.join(ROLES)}, not {role!r}. Nothing was changed.")
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
                f"Only the owner of the ledger, the role {owner!r}, can let others in. "
                "Nothing was changed."
            )
        if name == owner:
            raise UsageError(f"{name!r} owns the ledger already. Nothing was changed.")
        for statement in _statements(role, str(known), str(quoted_owner), str(schema)):
            connection.exec_driver_sql(statement)
        if role != OWNER:
            asked = {"name": name, "owner": owner}
            _refuse_strong(connection.exec_driver_sql(MAY_CREATE, asked).one(), name, owner, schema)


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


def _statements(role: str, name: str, owner: str, schema: str) -> list[str]:
    if role == OWNER:
        return [f"GRANT {owner} TO {name}"]
    tables = ", ".join([*metadata.tables, VERSION_TABLE])
    functions = ", ".join(OFFERED)
    take = f"REVOKE ALL ON FUNCTION {functions} FROM {name}"
    give = f"GRANT EXECUTE ON FUNCTION {functions} TO {name}"
    return [
        f"GRANT USAGE ON SCHEMA {schema} TO {name}",
        f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC, {name}",
        f"REVOKE ALL ON TABLE {tables} FROM {name}",
        f"GRANT SELECT ON TABLE {tables} TO {name}",
        take if role == AUDITOR else give,
    ]
