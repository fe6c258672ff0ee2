"""Why a PostgreSQL server was not reached, or does not let a table be read, in words of ours.

What the server says is looked at and never repeated: it may hold a password, or a cell.
"""

from __future__ import annotations

from typing import Any

from headcount.errors import UsageError

NO_RIGHT = "42501"
LOGIN = (
    "the server did not accept the login; check the user name in the address, and the password in "
    "~/.pgpass or PGPASSWORD"
)
DATABASE = "the server has no such database; check its name in the address"
CONNECT = "the role that logged in may not connect to this database"
FULL = "the server has no connection to spare; try again later"
AWAY = "the server cannot be reached; check host and port, and that it is running"
# libpq gives no SQLSTATE for a connection that was not made: the words are all there is.
SAID = (
    (("permission denied for database",), CONNECT),
    (("password", "authentication", "pg_hba.conf", 'role "', "not permitted to log in"), LOGIN),
    (('database "',), DATABASE),
    (("too many", "remaining connection slots"), FULL),
)


def why_no_connection(error: BaseException) -> str:
    """Why no connection was made; the server's words in another language leave it open."""
    text = str(error)
    for words, meaning in SAID:
        if any(word in text for word in words):
            return meaning
    if "FATAL" in text and "starting up" not in text and "shutting down" not in text:
        return "the server cannot be reached, or did not accept the login"
    return AWAY


def refuse_unreadable(connection: Any, table: str, schema: str | None, shown: str) -> None:
    """Tell a table that is not there from one that this role may not read."""
    from psycopg import Error

    named = "quote_ident(%(schema)s) || '.' || quote_ident(%(table)s)"
    if schema is None:
        named = "quote_ident(%(table)s)"
    asked = (
        f"SELECT {named}, quote_ident(current_user), to_regclass({named}), "
        f"coalesce(has_any_column_privilege(to_regclass({named}), 'SELECT'), false)"
    )
    values = {"table": table, "schema": schema}
    try:
        name, role, found, may_read = connection.execute(asked, values).fetchone()
    except Error as error:
        if error.sqlstate != NO_RIGHT or schema is None:
            raise
        asked = "SELECT quote_ident(%(schema)s), quote_ident(current_user)"
        name, role = connection.execute(asked, values).fetchone()
        raise _no_right(shown, f"GRANT USAGE ON SCHEMA {name} TO {role};") from None
    if found is not None and not may_read:
        raise _no_right(shown, f"GRANT SELECT ON {name} TO {role};")


def _no_right(shown: str, grant: str) -> UsageError:
    return UsageError(
        f"The role that logged in may not read the table at {shown}. Someone who owns it runs: "
        f"{grant} Nothing was read and nothing was charged."
    )
