"""Rights on a table that a step makes: who could read entries may read it."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

READERS = (
    "SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' "
    "ELSE quote_ident(pg_get_userbyid(a.grantee)) END "
    "FROM pg_class c, aclexplode(c.relacl) a "
    "WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema()) "
    "AND c.relname = 'entries' AND a.privilege_type = 'SELECT' AND a.grantee <> c.relowner"
)


def let_readers_read(connection: sa.Connection, tables: Sequence[str]) -> None:
    """Give whoever may read entries the right to read these tables."""
    for reader in sorted(connection.exec_driver_sql(READERS).scalars().all()):
        for table in tables:
            connection.exec_driver_sql(f"GRANT SELECT ON {table} TO {reader}")
