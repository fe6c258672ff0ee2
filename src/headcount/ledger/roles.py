"""Who may do what with a ledger on PostgreSQL: its owner, analysts, auditors.

The owner is the role that made the tables: it opens accounts and sets quotas. An analyst reads, and
writes only through the functions that charge and store. An auditor reads.
"""

from __future__ import annotations

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
MAY_CREATE = "SELECT has_schema_privilege(%(name)s, current_schema(), 'CREATE')"


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
        may_create = connection.exec_driver_sql(MAY_CREATE, {"name": name}).scalar_one()
        if role != OWNER and may_create:
            raise UsageError(
                f"{name!r} may make functions in the schema {schema}, and others would run them in "
                "place of the ledger's. Someone who owns the schema runs: REVOKE CREATE ON SCHEMA "
                f'{schema} FROM PUBLIC, "{name}". A superuser can only be an owner. Nothing was '
                "changed."
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
