"""What a PostgreSQL table is to the ledger: what the server says of itself and of the table.

The server's own number, the database's and the table's are the same whatever host, user or search
path led there. The names stand beside the numbers, for tables that are dropped and made again.
"""

from __future__ import annotations

from typing import Any

from headcount.errors import UsageError
from headcount.tables.identity import Identity, Read
from headcount.tables.postgres_schema import quoted
from headcount.tables.public import QUERIES, private_leaves

MAY_ASK = """
select coalesce(has_function_privilege(to_regprocedure('pg_control_system()'), 'execute'), false)
"""
SERVER = """
select (select system_identifier from pg_control_system()), d.oid, d.datname
from pg_database d where d.datname = current_database()
"""
# A view leads to what it reads; a partition to all of its family, upwards and downwards.
FAMILY = """
with recursive reads(oid) as (
    select to_regclass(%s)::oid
  union
    select r.found from reads join lateral (
        select d.refobjid as found
        from pg_rewrite w join pg_depend d
          on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
         and d.refclassid = 'pg_class'::regclass
        where w.ev_class = reads.oid
      union all
        select i.inhparent from pg_inherits i where i.inhrelid = reads.oid
      union all
        select i.inhrelid from pg_inherits i where i.inhparent = reads.oid
    ) r on true
)
select c.oid, n.nspname, c.relname, c.relkind = 'f' or exists (
    select from pg_rewrite w join pg_depend d
      on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid
     and d.refclassid = 'pg_proc'::regclass
    where w.ev_class = c.oid and d.refobjid >= 16384
), c.oid = to_regclass(%s)
from reads join pg_class c using (oid) join pg_namespace n on n.oid = c.relnamespace
where c.relkind in ('r', 'p', 'f', 'v', 'm')
"""


NOTHING = "Nothing was read and nothing was charged."


def identity_of(connection: Any, expr: Any) -> Identity:
    """The tables of an expression, with all that they read and belong to."""
    try:
        return _identity(connection, expr)
    except UsageError:
        raise
    except Exception:  # what a server says may hold more than the reader should see
        raise UsageError(
            f"The PostgreSQL server does not say which table this is. {NOTHING}"
        ) from None


def _identity(connection: Any, expr: Any) -> Identity:
    names: list[str] = []
    rows: list[Read] = []
    untraced = "a query in SQL" if private_leaves(expr, *QUERIES) else ""
    with connection.con.cursor() as cursor:
        # Asked first: a statement that fails would end the caller's transaction.
        cursor.execute(MAY_ASK)
        if not cursor.fetchone()[0]:
            # No name will do instead: one server has many, and many servers share one.
            raise UsageError(
                "The PostgreSQL server does not tell this role which server it is, so its tables "
                "cannot be told from those of another server. Ask its administrator for: GRANT "
                "EXECUTE ON FUNCTION pg_control_system() TO analyst; where analyst is the role "
                f"that you connect as. {NOTHING}"
            )
        cursor.execute(SERVER)
        server, database, called = cursor.fetchone()
        for leaf in private_leaves(expr, "DatabaseTable"):
            schema = leaf.namespace.database
            place = f"{quoted(schema)}.{quoted(leaf.name)}" if schema else quoted(leaf.name)
            cursor.execute(FAMILY, [place, place])
            for oid, within, name, leads_elsewhere, is_read in cursor.fetchall():
                names.append(f"postgres:{server}/{database}/{oid}")
                names.append(f"postgres:{server}/{called}/{within}.{name}")
                rows += [Read(f"postgres:{server}/{database}/{oid}")] if is_read else []
                if leads_elsewhere:
                    untraced = untraced or f"{name!r}, a foreign table or a view with functions"
    return Identity(names=tuple(dict.fromkeys(names)), rows=tuple(rows), untraced=untraced)
